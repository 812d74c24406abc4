// Package state is the state document of one session in one source: a JSON
// value that RFC 6902 patches and snapshots change, its revisions, the outcomes
// of its records and its digests (spec session-index.md, section 7).
//
// Everything is immutable once handed out: a change gives a new value that
// shares what did not change. Documents are kept as canonical text (RFC 8785);
// an array or object is taken apart only when a patch reaches into it.
package state
