package index

import (
	"errors"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Event is one timeline row with the source that holds its record.
type Event struct {
	row.Event
	Source *wire.Source
}

// Address is the row's place in the session's timeline.
func (e *Event) Address() wire.Address { return e.Source.Address(e.Time, e.Offset) }

// Bounds says per source up to which offset, exclusive, a timeline is read; a
// source that is absent is not read. It pins a frontier over several pages.
type Bounds map[wire.SourceKey]uint64

// Reading says which rows of a timeline are read, and in which order.
type Reading struct {
	From *wire.Address     // rows behind it, or before it; nil: all
	Back bool              // by descending address
	Only func(*Event) bool // rows that are read; nil: all
	But  func(*Event) bool // of these, rows that are left out and counted; nil: none
}

// shows says whether a row is read, and whether it was left out of those.
func (rd *Reading) shows(e *Event) (shown, hidden bool) {
	if rd.Only != nil && !rd.Only(e) {
		return false, false
	}
	hidden = rd.But != nil && rd.But(e)
	return !hidden, hidden
}

// Timeline goes through a session's rows over all its sources, by address. It
// holds one pack per source in memory.
type Timeline struct {
	back  bool
	lanes []*lane // one per source that still has rows
	event Event
	err   error
}

// Timeline begins behind an address, nil for the beginning. With bounds it
// stops there; nil reads up to the reader's state. sources are those of
// Session. Close it before its reader.
func (r *Reader) Timeline(id wire.ID, sources []fold.Keyed, after *wire.Address, bounds Bounds) (*Timeline, error) {
	return r.timeline(id, sources, &Reading{From: after}, bounds)
}

func (r *Reader) timeline(id wire.ID, sources []fold.Keyed, rd *Reading, bounds Bounds) (*Timeline, error) {
	t := &Timeline{back: rd.Back}
	for i := range sources {
		src := sources[i].Source
		bound := sources[i].Next
		if bounds != nil {
			bound = min(bound, bounds[src.Key()])
		}
		l, err := r.lane(id, &sources[i], rd, bound)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.lanes = append(t.lanes, l)
	}
	for i := 0; i < len(t.lanes); {
		i += t.pull(i)
	}
	return t, t.orClose()
}

func (t *Timeline) orClose() error {
	if t.err == nil {
		return nil
	}
	return errors.Join(t.err, t.Close())
}

// pull reads the next row of a lane and gives 1, or drops the lane at its end
// and gives 0.
func (t *Timeline) pull(i int) int {
	l := t.lanes[i]
	if l.next() {
		return 1
	}
	t.err = errors.Join(t.err, l.err, l.close())
	t.lanes = append(t.lanes[:i], t.lanes[i+1:]...)
	return 0
}

// Next goes to the next row; false at the end or on an error, see Err.
func (t *Timeline) Next() bool {
	if t.err != nil || len(t.lanes) == 0 {
		return false
	}
	first := 0
	for i := range t.lanes[1:] {
		if less := t.lanes[i+1].event.Address().Compare(t.lanes[first].event.Address()) < 0; less != t.back {
			first = i + 1
		}
	}
	t.event = t.lanes[first].event
	t.pull(first)
	return t.err == nil
}

// Event is the row the timeline stands on.
func (t *Timeline) Event() *Event { return &t.event }

// Err says why Next ended early.
func (t *Timeline) Err() error { return t.err }

// Close ends the reading.
func (t *Timeline) Close() error {
	var err error
	for _, l := range t.lanes {
		err = errors.Join(err, l.close())
	}
	t.lanes = nil
	return err
}

// Page is a part of a session's timeline.
type Page struct {
	Items    []Event
	More     bool   // rows follow the last item
	Hidden   uint64 // rows that were left out before the last item
	Frontier Bounds // what a later page passes to pin this one's frontier
}

// Events reads one page: at most limit rows behind an address, nil for the
// beginning.
func (r *Reader) Events(id wire.ID, sources []fold.Keyed, after *wire.Address, bounds Bounds, limit int) (Page, error) {
	return r.EventsOf(id, sources, &Reading{From: after}, bounds, limit)
}

// BoundsOf are the frontiers of sources.
func BoundsOf(sources []fold.Keyed) Bounds {
	b := make(Bounds, len(sources))
	for i := range sources {
		b[sources[i].Source.Key()] = sources[i].Next
	}
	return b
}

// EventsOf is Events of a reading.
func (r *Reader) EventsOf(id wire.ID, sources []fold.Keyed, rd *Reading, bounds Bounds, limit int) (Page, error) {
	p := Page{Frontier: bounds}
	if bounds == nil {
		p.Frontier = BoundsOf(sources)
	}
	t, err := r.timeline(id, sources, rd, p.Frontier)
	if err != nil {
		return Page{}, err
	}
	hidden := uint64(0) // behind the last item
	for t.Next() {
		shown, left := rd.shows(t.Event())
		if left {
			hidden++
		}
		if !shown {
			continue
		}
		if len(p.Items) == limit {
			p.More = true
			break
		}
		p.Items = append(p.Items, *t.Event())
		p.Hidden, hidden = p.Hidden+hidden, 0
	}
	if !p.More {
		p.Hidden += hidden
	}
	return p, errors.Join(t.Err(), t.Close())
}
