// Package worker owns the sources assigned to this process: poll, decode, load,
// fold, commit, apply. All I/O goes through a struct of functions.
package worker
