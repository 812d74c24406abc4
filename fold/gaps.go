package fold

import "sessionfold/wire"

// Gaps lists what the session's timeline lacks in this source (spec
// session-index.md, section 9): the source's own gaps, any of which may have
// held records of the session; the rows that were pruned; the records past the
// cap, up to the session's last record; the rows that are being rebuilt.
func (k *Keyed) Gaps(st SourceState) []wire.SourceGap {
	var out []wire.SourceGap
	add := func(from, to uint64, reason GapReason) {
		if from <= to {
			out = append(out, wire.NewSourceGap(k.Source, from, to, reason.String()))
		}
	}
	for _, g := range st.Gaps {
		add(g.From, g.To, g.Reason)
	}
	p := k.Partial
	kept := p.Last.Offset // last offset that may have a row
	if p.Truncated {
		kept = p.TruncatedFrom - 1 // a cap is at least 1, so a row lies before it
	}
	if r := st.RetainedFrom; r != nil && *r > 0 && p.Rows > 0 {
		add(p.First.Offset, min(*r-1, kept), GapPruned)
	}
	if p.Truncated {
		add(p.TruncatedFrom, p.Last.Offset, GapTruncated)
	}
	if st.Rebuilding && p.Rows > 0 {
		add(max(st.RebuildFrom, p.First.Offset), kept, GapRebuilding)
	}
	if st.RefoldTo > k.Next {
		add(k.Next, st.RefoldTo-1, GapRebuilding)
	}
	return out
}
