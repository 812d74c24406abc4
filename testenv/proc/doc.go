// Package proc builds and runs the programs of this module as processes of
// their own, for the kill harness, the end-to-end suite and the benchmark. No
// process outlives its parent.
package proc
