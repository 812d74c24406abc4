// Package chaos is a campaign against real processes: workers and brokers are
// killed, frozen, stopped and started again, disks and topics are lost, retention
// takes what was not folded yet and producers write what nobody can read, in an
// order that follows from a seed. Now and then everything is let run, and what a
// worker has stored is held, field by field, against a fold of everything that was
// ever written. `make chaos` runs it; it is all test code.
package chaos
