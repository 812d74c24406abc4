package fold

import (
	"fmt"
	"slices"

	"sessionfold/fold/state"
	"sessionfold/wire"
)

// Apply folds a batch of one source's records, in offset order, onto the
// source's frontier and the partials of the sessions that the batch names.
// partials lacks the sessions that were never seen; neither it nor its partials
// are changed, and the Step shares none of the batch's memory but in the rows.
//
// A frontier that Expire moved gives a step even without records, so that the
// gap becomes durable; so does one that Lose marked, with a step that covers no
// offset. With neither records nor gap there is no step: nil.
//
// Apply reads nothing but its arguments, so the same records give the same
// partials, rows and gaps whatever the batch boundaries (spec session-index.md,
// section 2, law 1). Records below the frontier, or out of order, are a broken
// invariant of the caller: Apply panics with the numbers.
//
// Apply is Scratch.Apply for batches without state records of sessions that have
// state already.
func Apply(cfg *Config, src *wire.Source, front Frontier, partials map[wire.ID]*Partial, recs []wire.Record) *Step {
	return new(Scratch).Apply(cfg, src, front, partials, nil, recs)
}

// Scratch is the memory that Apply works in. The next Apply uses it again, so
// the sessions and rows of a step are good until then. The zero value is ready;
// not safe for use by two goroutines at once.
type Scratch struct {
	index map[wire.ID]int32
	seen  []touched
	place []place
	rows  []Row
	free  [][]Row
	steps []SessionStep
}

// Apply is the function Apply with the state documents of the sessions that have
// state and of which the batch holds state records. Documents are immutable, so
// they are not changed either.
func (m *Scratch) Apply(cfg *Config, src *wire.Source, front Frontier, partials map[wire.ID]*Partial, states map[wire.ID]*state.State, recs []wire.Record) *Step {
	if len(recs) == 0 && front.Skipped == 0 && !front.Lost {
		return nil
	}
	if m.index == nil {
		m.index = make(map[wire.ID]int32, len(recs)/10+1) // ten records of a session are common
	}
	clear(m.index)
	clear(m.seen) // it holds partials
	b := batch{
		Scratch: m, src: src, cfg: cfg, old: partials, states: states, to: front,
	}
	b.seen, b.place = b.seen[:0], sized(b.place, len(recs))
	for i := range recs {
		b.fold(i, &recs[i])
	}
	b.to.Skipped, b.to.Lost = 0, false
	s := &Step{
		Source: src, From: front.Next - front.Skipped, To: b.to.Next - 1,
		Before: front, Frontier: b.to,
	}
	s.Sessions = b.sessions(recs)
	s.Changes = changeRows(cfg, s)
	s.Frontier.Seq += uint64(len(s.Changes))
	if err := s.valid(false); err != nil {
		panic(err)
	}
	return s
}

// sized gives a slice of n entries, which hold what they held before.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// batch is the state of one Apply.
type batch struct {
	*Scratch
	src *wire.Source
	cfg *Config
	old map[wire.ID]*Partial
	to  Frontier

	states map[wire.ID]*state.State

	// Of the Scratch: index finds a session in seen, which is in order of first
	// record; place is per record.
	last   int32 // in seen, of the last record: runs of one session are the common case
	places int   // rows
}

// touched is a session that the batch changes.
type touched struct {
	id   wire.ID
	old  *Partial
	new  *Partial
	rows int // that the batch keeps
	last uint64
	owns owned
	work *state.Work
}

// owned says which groups of the new partial are copies already.
type owned uint8

const (
	ownsHeld owned = 1 << iota
	ownsLinks
	ownsNative
	ownsSeen     // the last chunk and the slots of Native.Seen
	ownsAttempts // likewise of Native.Attempts
)

// place is where a record's row belongs: the index of its touched, or noRow.
type place struct {
	time uint64 // raised
	at   int32
}

const noRow = -1

// fold takes one record. Every record raises the time, whatever it is.
func (b *batch) fold(i int, rec *wire.Record) {
	if rec.Offset < b.to.Next {
		panic(fmt.Errorf("fold: %s: record %d of the batch has offset %d, below the next offset %d", b.src, i, rec.Offset, b.to.Next))
	}
	b.to.Next = rec.Offset + 1
	raised := rec.Time < b.to.Time
	if !raised {
		b.to.Time = rec.Time
	}
	b.place[i] = place{time: b.to.Time, at: noRow}
	if rec.Facts&wire.FactHeartbeat != 0 {
		return
	}
	b.to.Records++
	switch rec.Display {
	case wire.DisplayUndecodable:
		b.to.Undecodable++
	case wire.DisplayInvalid:
		b.to.Invalid++
	}
	if !rec.HasSession {
		b.to.Unattributed++
		b.to.UnattributedLast = rec.Offset
		return
	}
	at := b.touch(rec.Session)
	t := &b.seen[at]
	t.last = rec.Offset
	stamp := Stamp{Time: b.to.Time, Offset: rec.Offset}
	if rec.Rare != nil && rec.Rare.State != nil {
		b.state(t, rec.Rare.State, stamp)
	}
	counts := rec.Rare == nil || rec.Rare.Native == nil || b.native(t, rec, stamp)
	if t.new.add(b.cfg, rec, stamp, raised, counts) {
		b.place[i].at = at
		t.rows++
		b.places++
	}
	if rec.Lifecycle != nil && rec.Lifecycle.Acknowledge != nil {
		b.ack(t.new, rec)
	}
	if rec.Rare != nil && counts {
		b.rare(t, rec, stamp)
	}
}

// rare folds what few records carry. t is not good any more after links, which
// may touch further sessions.
func (b *batch) rare(t *touched, rec *wire.Record, at Stamp) {
	if rec.Display == wire.DisplayUndecodable || rec.Display == wire.DisplayInvalid {
		return
	}
	if rec.Rare.Verdict != wire.Unsigned {
		b.to.signature(rec.Rare, rec.Offset)
	}
	if rec.Rare.Control != nil {
		t.new.control(rec.Rare.Control, at)
	}
	if rec.Rare.Parking != nil {
		t.park(rec.Rare.Parking, at)
	}
	if rec.Rare.LinkRefused {
		b.to.LinksRefused++
	}
	if len(rec.Rare.Links) > 0 {
		b.links(rec, at)
	}
}

// touch finds the session's place, with a partial of its own to change.
func (b *batch) touch(id wire.ID) int32 {
	if len(b.seen) > 0 && b.seen[b.last].id == id {
		return b.last
	}
	at, ok := b.index[id]
	if !ok {
		at = int32(len(b.seen))
		b.index[id] = at
		t := touched{id: id, old: b.old[id], new: new(Partial)}
		if t.old != nil {
			*t.new = *t.old
		}
		b.seen = append(b.seen, t)
	}
	b.last = at
	return at
}

// sessions gives the session steps in order of id, with their rows in one slab:
// the counts are known, so each session's rows have their place beforehand.
func (b *batch) sessions(recs []wire.Record) []SessionStep {
	b.rows, b.free, b.steps = sized(b.rows, b.places), sized(b.free, len(b.seen)), sized(b.steps, len(b.seen))
	slab, free, out := b.rows, b.free, b.steps
	for i, n := 0, 0; i < len(b.seen); i++ {
		free[i] = slab[n : n : n+b.seen[i].rows]
		n += b.seen[i].rows
	}
	for i := range b.place { // the records themselves are not read: most have left the cache
		if p := &b.place[i]; p.at != noRow {
			free[p.at] = append(free[p.at], Row{Time: p.time, Rec: &recs[i]})
		}
	}
	for i := range out {
		t := &b.seen[i]
		out[i] = SessionStep{ID: t.id, Old: t.old, New: t.new, Last: t.last, Rows: free[i]}
		if t.work != nil {
			out[i].State = t.endState()
		}
	}
	slices.SortFunc(out, func(x, y SessionStep) int { return x.ID.Compare(y.ID) })
	return out
}
