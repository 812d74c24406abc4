// Package client reads sessions from a worker over HTTP. The transport can be
// the handler of this very process, so that a replay is read through the same
// code as a running worker.
package client
