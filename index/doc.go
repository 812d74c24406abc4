// Package index keeps the session index in Pebble: it loads partials, applies
// steps, restores from a changelog, prunes, and reads over one snapshot.
//
// Kafka is the truth and the store a copy of it, so writes are not synced: a
// process that dies loses a suffix of its batches, never a part of one, and a
// restore brings them back. A disk that fails puts the store into a failed
// state, which every call returns; nothing here ends the process.
package index
