package row

import (
	"sessionfold/fold"
)

// AppendEntries appends the list entries of a partial: one at its start record,
// one at its first record unless that is the start record. Entries never change
// once the partial has them, so they are only ever added.
func AppendEntries(dst []ListKey, k PartialKey, p *fold.Partial) []ListKey {
	e := ListKey{Stream: k.Stream, Session: k.Session, Source: k.Source}
	if p.Start != nil {
		e.Kind, e.Time = EntryStart, p.Start.At.Time
		dst = append(dst, e)
	}
	if p.Start == nil || p.Start.At != p.First {
		e.Kind, e.Time = EntryFirst, p.First.Time
		dst = append(dst, e)
	}
	return dst
}

// NewEntries appends the entries that a partial has and its former state had
// not.
func NewEntries(dst []ListKey, k PartialKey, before, now *fold.Partial) []ListKey {
	if before == nil {
		return AppendEntries(dst, k, now)
	}
	if before.Start == nil && now.Start != nil {
		dst = append(dst, ListKey{Stream: k.Stream, Session: k.Session, Source: k.Source, Kind: EntryStart, Time: now.Start.At.Time})
	}
	return dst
}
