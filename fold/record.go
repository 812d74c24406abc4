package fold

import "sessionfold/wire"

// add folds one record into the partial, which the caller owns: it is a copy no
// step holds yet. raised says that the record's own time lay below at.Time;
// counts, that what it says is not to be passed over. The result says whether
// the record keeps a timeline row.
func (p *Partial) add(cfg *Config, rec *wire.Record, at Stamp, raised, counts bool) (row bool) {
	if p.Records == 0 {
		p.First = at
	} else {
		p.silence(cfg, at.Time-p.Last.Time)
	}
	p.Last = at
	p.Records++ // never more than the source has offsets
	if raised {
		p.Flags |= FlagTimesApproximate
	}
	// An undecodable or invalid record counts as an event and keeps a row; it
	// adds to nothing else, whatever it claims (spec settled.md, "Envelope").
	if counts && rec.Display != wire.DisplayUndecodable && rec.Display != wire.DisplayInvalid {
		p.apply(rec, at)
	}
	return rec.Facts&wire.FactNoRow == 0 && p.keep(cfg.timelineCap(), at.Offset)
}

// keep takes a place on the timeline. Once a record found none, none later does:
// a cap that was raised in between must not put rows behind the gap.
func (p *Partial) keep(timelineCap, offset uint64) bool {
	if p.Truncated {
		return false
	}
	if p.Rows >= timelineCap {
		p.Truncated, p.TruncatedFrom = true, offset
		return false
	}
	p.Rows++
	return true
}

// apply folds what a valid record says.
func (p *Partial) apply(rec *wire.Record, at Stamp) {
	if rec.Facts&countFacts != 0 && p.Counters.count(rec.Facts, rec.Usage) {
		p.Flags |= FlagOverflow
	}
	if rec.Facts&wire.FactAuthor != 0 {
		p.addAgent(rec.Agent)
	}
	if rec.Facts&wire.FactLane != 0 {
		p.Flags |= FlagLane
	}
	if rec.HasParent {
		p.parent(rec.Parent, at)
	}
	if rec.HasRoot && !p.Root.Set {
		p.Root = Named{ID: rec.Root, At: at, Set: true}
	}
	if rec.Lifecycle != nil {
		p.lifecycle(rec.Lifecycle, at)
	}
}

// lifecycle folds a lifecycle statement of a sticky dialect: the first start and
// the first terminal win, the last non-terminal status counts. Status goes on
// after a terminal because Merge prefers a terminal whatever its place, and so
// the partial does not depend on which source the terminal lies in.
//
// Reopening dialects differ here, chosen by the source's dialect, which has no
// other influence on the fold.
func (p *Partial) lifecycle(l *wire.Lifecycle, at Stamp) {
	if l.Start != nil && p.Start == nil {
		start, cut := newStart(l.Start, at)
		start.Agent = p.addAgent(l.Start.Agent)
		p.Start = start
		if cut {
			p.Flags |= FlagLabelTruncated
		}
	}
	switch {
	case l.Status == wire.StatusNone:
	case !l.Status.Terminal():
		p.Status, p.StatusAt = l.Status, at
	case p.End == nil:
		p.End = newEnd(l, at)
	}
}
