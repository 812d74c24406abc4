// Package folder runs the real `folder run` as a child process, for the
// end-to-end suite, the kill harness and the benchmark.
package folder
