// Package serve answers the session reads over HTTP from snapshots of the
// index: list, get, events, sources, changes and capabilities, in JSON and in
// CBOR, and the admin endpoints (spec reads.md).
//
// A reply is whole or it is an error: what this process cannot know makes it
// `unavailable`, and a parameter or word that is not known is `invalid`, never
// ignored. Clock, index, broker heads and change rows come in as functions of
// Options.
package serve
