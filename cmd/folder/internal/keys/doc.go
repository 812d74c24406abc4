// Package keys reads the keys files of streams, and reads them again when they
// change.
package keys
