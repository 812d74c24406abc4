package fold

// Lose records that the brokers no longer hold the folded offsets from end on:
// an unclean leader election has cut the log there. What was folded of them
// stays counted, for it did happen; the gap says that it can be read no more.
//
// The frontier does not go back. Records that take the lost offsets over are not
// folded: an offset of a source is folded once, so that steps tile the offsets,
// no row is written over another's key, and a position means one record. The
// fold goes on at Next when the log has grown that far.
//
// The gap [end, Next-1] becomes durable with the next step; one without records
// is made for it (see Lost). Gaps that reach into it become part of it. A loss
// that is recorded already, or none, gives the frontier as it is.
func (f Frontier) Lose(end uint64) Frontier {
	if end >= f.Next || f.lost(end) {
		return f
	}
	g := Gap{From: end, To: f.Next - 1, Reason: GapSourceLost}
	gaps := make([]Gap, 0, len(f.Gaps)+1)
	for _, old := range f.Gaps {
		switch {
		case old.Reason == GapSourceLost && old.To+1 >= g.From:
			g.From = min(g.From, old.From)
		case old.From >= g.From:
		default:
			old.To = min(old.To, g.From-1)
			gaps = append(gaps, old)
		}
	}
	f.Gaps, f.Lost = append(gaps, g), true
	return f
}

// lost says whether the offsets from end to the frontier are known to be lost.
func (f *Frontier) lost(end uint64) bool {
	if n := len(f.Gaps); n > 0 {
		g := &f.Gaps[n-1]
		return g.Reason == GapSourceLost && g.From <= end && g.To+1 == f.Next
	}
	return false
}
