package row

import (
	"slices"

	"sessionfold/fold"
)

// AppendEntries appends the list entries of a partial: one at its start record,
// one at its first record unless that is the start record, one at the link that
// brought it about before any record. Entries never change once the partial has
// them, so they are only ever added.
func AppendEntries(dst []ListKey, k PartialKey, p *fold.Partial) []ListKey {
	e := ListKey{Stream: k.Stream, Session: k.Session, Source: k.Source}
	if p.Start != nil {
		e.Kind, e.Time = EntryStart, p.Start.At.Time
		dst = append(dst, e)
	}
	if p.Records > 0 && (p.Start == nil || p.Start.At != p.First) {
		e.Kind, e.Time = EntryFirst, p.First.Time
		dst = append(dst, e)
	}
	if p.Aside != nil && p.Aside.Mention != nil {
		e.Kind, e.Time = EntryMention, p.Aside.Mention.Time
		dst = append(dst, e)
	}
	return dst
}

// NewEntries appends the entries that a partial has and its former state had
// not.
func NewEntries(dst []ListKey, k PartialKey, before, now *fold.Partial) []ListKey {
	switch {
	case before == nil:
		return AppendEntries(dst, k, now)
	case before.Records == 0:
		var few [3]ListKey
		had := AppendEntries(few[:0], k, before)
		for _, e := range AppendEntries(nil, k, now) {
			if !slices.Contains(had, e) {
				dst = append(dst, e)
			}
		}
	case before.Start == nil && now.Start != nil:
		dst = append(dst, ListKey{Stream: k.Stream, Session: k.Session, Source: k.Source, Kind: EntryStart, Time: now.Start.At.Time})
	}
	return dst
}
