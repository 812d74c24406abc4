package verify

import (
	"context"
	"fmt"
	"reflect"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// comparison goes through the sessions of two stores.
type comparison struct {
	Result
	keep         int // differences kept
	sources      map[wire.SourceKey]*known
	index, fresh *index.Reader
}

func (c *comparison) run(ctx context.Context, stream string) error {
	seen := map[wire.ID]bool{}
	err := c.index.Sessions(ctx, stream, func(id wire.ID, ks []fold.Keyed) error {
		fresh, err := c.fresh.Session(stream, id)
		if err == nil {
			err = c.fresh.Links(id, fresh)
		}
		if err != nil {
			return err
		}
		if len(fresh) > 0 {
			seen[id] = true
		}
		return c.session(id, ks, fresh)
	})
	if err != nil {
		return err
	}
	err = c.fresh.Sessions(ctx, stream, func(id wire.ID, ks []fold.Keyed) error {
		if seen[id] {
			return nil
		}
		return c.session(id, nil, ks)
	})
	if c.Skipped > 0 && c.Whole+c.Partly+c.Older+c.Differ == 0 {
		c.Faults = append(c.Faults, "no session was compared")
	}
	return err
}

// reach says how much of a session was compared.
type reach int

const (
	whole reach = iota
	partly
	older
	skipped
)

func (c *comparison) session(id wire.ID, is, fresh []fold.Keyed) error {
	var what []string
	least, most := skipped, whole
	pair := map[wire.SourceKey][2]*fold.Keyed{}
	var order []wire.SourceKey
	for side, ks := range [2][]fold.Keyed{is, fresh} {
		for i := range ks {
			key := ks[i].Source.Key()
			p, met := pair[key]
			if !met {
				order = append(order, key)
			}
			p[side] = &ks[i]
			pair[key] = p
		}
	}
	for _, key := range order {
		p := pair[key]
		r, found, err := c.one(id, p[0], p[1])
		if err != nil {
			return err
		}
		src := p[0]
		if src == nil {
			src = p[1]
		}
		for _, f := range found {
			what = append(what, src.Source.String()+": "+f)
		}
		least, most = min(least, r), max(most, r)
	}
	switch {
	case len(what) > 0:
		if c.Differ++; len(c.First) < c.keep {
			c.First = append(c.First, Difference{id, what})
		}
	case least == skipped:
		c.Skipped++
	case least == older:
		c.Older++
	case most == whole:
		c.Whole++
	default:
		c.Partly++
	}
	return nil
}

// one compares what one source knows of a session.
func (c *comparison) one(id wire.ID, is, fresh *fold.Keyed) (reach, []string, error) {
	if is == nil {
		return whole, []string{"only in the log"}, nil
	}
	k := c.sources[is.Source.Key()]
	if k == nil || !k.compare {
		return skipped, nil, nil
	}
	first, last := span(is.Partial)
	r := whole
	if k.touches(first, last) {
		r = partly
	}
	if fresh == nil {
		if r == whole {
			return r, []string{"only in the index"}, nil
		}
		return older, nil, nil
	}
	timed := first >= k.seen.Untimed
	found, err := c.timelines(id, k, is, fresh)
	if err != nil {
		return r, nil, err
	}
	if r == partly {
		return r, append(tail(k, is.Partial, fresh.Partial), found...), nil
	}
	// Lists of foreign dialects lie in rows of their own.
	if err := c.fresh.Lists(id, []fold.Keyed{*fresh}); err != nil {
		return r, nil, err
	}
	if err := c.index.Lists(id, []fold.Keyed{*is}); err != nil {
		return r, append(found, err.Error()), nil // a row is missing, or is none
	}
	found = append(partials(is.Partial, fresh.Partial, timed), found...)
	if is.Partial.State != nil && fresh.Partial.State != nil {
		s, err := c.states(id, is, fresh, timed)
		if err != nil {
			return r, nil, err
		}
		found = append(found, s...)
	}
	return r, found, nil
}

// span gives the offsets between which lies everything that a partial tells of.
func span(p *fold.Partial) (first, last uint64) {
	first, last = p.First.Offset, p.Last.Offset
	at := func(s fold.Stamp) {
		if p.Records == 0 && first == 0 && last == 0 {
			first, last = s.Offset, s.Offset
			return
		}
		first, last = min(first, s.Offset), max(last, s.Offset)
	}
	if p.Aside != nil && p.Aside.Mention != nil {
		at(*p.Aside.Mention)
	}
	if p.Links != nil {
		for i := range p.Links.List {
			at(p.Links.List[i].First)
			at(p.Links.List[i].Last)
		}
	}
	return first, last
}

// tail compares a session whose beginning the log does not hold: it may know
// less afresh, never more, and must end at the same record.
func tail(k *known, is, fresh *fold.Partial) (out []string) {
	if is.Records < fresh.Records {
		out = append(out, fmt.Sprintf("records: %d ≠ %d, though the log holds only a part of them", is.Records, fresh.Records))
	}
	if fresh.Records > 0 && is.Last.Offset != fresh.Last.Offset && !k.touches(is.Last.Offset, is.Last.Offset) {
		out = append(out, fmt.Sprintf("last offset: %d ≠ %d", is.Last.Offset, fresh.Last.Offset))
	}
	return out
}

// states compares documents and the history of their changes.
func (c *comparison) states(id wire.ID, is, fresh *fold.Keyed, timed bool) ([]string, error) {
	a, err := c.index.State(id, is)
	if err != nil {
		return nil, err
	}
	b, err := c.fresh.State(id, fresh)
	if err != nil {
		return nil, err
	}
	var out []string
	if a.Doc.Text() != b.Doc.Text() { // it may be content: not shown
		out = append(out, fmt.Sprintf("state document: %d bytes ≠ %d bytes", len(a.Doc.Text()), len(b.Doc.Text())))
	}
	ha, err := c.index.History(id, is, state.HistoryLen)
	if err != nil {
		return nil, err
	}
	hb, err := c.fresh.History(id, fresh, state.HistoryLen)
	if err != nil {
		return nil, err
	}
	if !timed {
		untimed(reflect.ValueOf(ha))
		untimed(reflect.ValueOf(hb))
	}
	return fields("state history", reflect.ValueOf(ha), reflect.ValueOf(hb), out), nil
}

// timelines compares the rows that both sides are to have.
func (c *comparison) timelines(id wire.ID, k *known, is, fresh *fold.Keyed) (out []string, err error) {
	a, err := c.rows(c.index, id, k, is, is.Partial, true)
	if err != nil {
		return nil, err
	}
	b, err := c.rows(c.fresh, id, k, fresh, is.Partial, false)
	if err != nil {
		return nil, err
	}
	if len(a) != len(b) {
		out = append(out, fmt.Sprintf("timeline: %d ≠ %d rows", len(a), len(b)))
	}
	for i := range min(len(a), len(b)) {
		c.Rows++
		if a[i].Offset < k.seen.Untimed {
			a[i].Time, b[i].Time = 0, 0
		}
		if !k.judged(a[i].Offset) {
			a[i].Actor, b[i].Actor = "", ""
		}
		out = fields(fmt.Sprintf("row of offset %d", a[i].Offset), reflect.ValueOf(a[i]), reflect.ValueOf(b[i]), out)
	}
	return out, nil
}

// rows reads a timeline without the rows that the index has reason not to show.
func (c *comparison) rows(r *index.Reader, id wire.ID, k *known, of *fold.Keyed, p *fold.Partial, count bool) ([]row.Event, error) {
	if of.Partial.Rows == 0 {
		return nil, nil
	}
	t, err := r.Timeline(id, []fold.Keyed{*of}, nil, nil)
	if err != nil {
		return nil, err
	}
	var out []row.Event
	for t.Next() {
		e := t.Event().Event
		if p.Truncated && e.Offset >= p.TruncatedFrom || k.touches(e.Offset, e.Offset) {
			continue
		}
		if hidden, rebuilt := k.hidden(e.Offset); hidden {
			if rebuilt && !count {
				c.Missing++
			}
			continue
		}
		e.Summary = append([]wire.SummaryItem(nil), e.Summary...)
		out = append(out, e)
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	return out, t.Close()
}
