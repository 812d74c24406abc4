// Package app puts source, sink, index and worker together into one running
// worker. It holds no rules of its own: commands and end-to-end tests make the
// same App, so what the tests run is what the program runs.
package app
