// Package daemon is one running worker with its listeners: what `folder run`
// and `folder demo` start. It turns the configuration into the parts' options
// and orders their beginning and end.
package daemon
