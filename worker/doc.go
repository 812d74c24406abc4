// Package worker owns the sources assigned to this process: poll, decode, load,
// fold, commit, apply. All I/O goes through a struct of functions (Env).
//
// Four kinds of goroutines, and who may do what:
//
//   - The loop (Run) polls, seals and reacts. Only it seeks and only it
//     starts restores, and only while no commit is in flight: a late write of an
//     earlier life of a source would overwrite newer rows.
//   - One fold at a time runs beside it, its sources in parallel. Until its end
//     the parts belong to it: the loop notes what it has to tell them.
//   - One commit at a time runs beside both. Between its last look at the
//     ownership and the end of the transaction it holds Worker.transfer, which
//     the group's callbacks take: a source leaves before or after, never within.
//   - Restores, one per source at most, in the background.
//
// Whatever is not "committed" has one reaction: the state of the step's sources
// is dropped and restored by the same code that runs after an assignment. The
// outcome of a commit is never guessed.
package worker
