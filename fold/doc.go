// Package fold says what a session is: a Partial per source and session, Apply
// from records to a Step, Merge from partials to a Session, View from a Session
// to the read type.
//
// The package is pure. The same records give the same partials, rows, gaps and
// change rows, whatever the batch boundaries; and however the records of a
// stream are spread over sources, the merged views are the same (spec
// session-index.md, section 2, the two laws).
package fold
