// Package nativegen makes realistic logs of the foreign dialects from a seed,
// one record at a time: sessions of DeepStrike and Everruns, many at work at one
// time, with children, failures, reopenings, waiting, and tokens and cost told on
// the levels that repeat; in between redeliveries, holes, older spellings and the
// odd bad record. Keys are those that the dialects' producers write: the id of
// the session as its record spells it (spec deepstrike.md and everruns.md,
// section 1).
//
// It reads no clock and draws only from its seed: the same options give the same
// bytes. It does not import testing, because `folder demo` uses it.
package nativegen
