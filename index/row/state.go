package row

import (
	"encoding/binary"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/wire"
)

// The marks of a partial's state group.
const (
	stateKnown = 1 << iota
	stateStale
	stateMarks = 1<<iota - 1
)

func stateNumbers(s *fold.StateInfo) [10]*uint64 {
	return [...]*uint64{
		&s.Revision, &s.Applied, &s.Rejected, &s.StaleCount, &s.Duplicates, &s.Size,
		&s.Base, &s.BaseSize, &s.Slots, &s.LogBytes,
	}
}

func appendState(b []byte, base fold.Stamp, s *fold.StateInfo) []byte {
	b = appendStamp(b, base, s.First)
	var m byte
	if s.Known {
		m |= stateKnown
	}
	if s.Stale {
		m |= stateStale
	}
	b = append(b, m)
	for _, n := range stateNumbers(s) {
		b = binary.AppendUvarint(b, *n)
	}
	return b
}

func (r *reader) state(base fold.Stamp) *fold.StateInfo {
	s := &fold.StateInfo{First: r.stamp(base)}
	m := r.mask(stateMarks)
	s.Known, s.Stale = m&stateKnown != 0, m&stateStale != 0
	for _, n := range stateNumbers(s) {
		*n = r.uint()
	}
	return s
}

// appendSlotHead begins a piece of a base or a log slot: both name the base
// that they belong to, so that leftovers of an earlier one are told apart.
func appendSlotHead(b []byte, base uint64) []byte {
	return binary.AppendUvarint(append(b, Version), base)
}

// DecodeSlot reads a piece of a base or a log slot: the base's number and the
// content, a view of b.
func DecodeSlot(b []byte) (base uint64, content []byte, err error) {
	r := newReader("state slot", b)
	base = r.uint()
	content = r.take(uint64(len(b) - r.pos))
	return base, content, r.end()
}

// The parts of an outcome that are there. Numbers are stored: only append.
const (
	entryOpID    = 1 << iota
	entryChanged // the digest before, which else is the one after
	entryWhy
	entryWhyAt
	entryKnown = 1<<iota - 1
)

// AppendEntry appends an outcome.
func AppendEntry(b []byte, e *state.Entry) []byte {
	var m byte
	if e.OpID != "" {
		m |= entryOpID
	}
	if e.Old != e.New {
		m |= entryChanged
	}
	if e.Why != wire.FaultNone {
		m |= entryWhy
	}
	if e.At >= 0 {
		m |= entryWhyAt
	}
	b = append(b, Version, m, byte(e.Outcome))
	for _, n := range [...]uint64{e.Number, e.Revision, e.Time, e.Offset} {
		b = binary.AppendUvarint(b, n)
	}
	if m&entryOpID != 0 {
		b = appendText(b, e.OpID)
	}
	b = append(b, e.New[:]...)
	if m&entryChanged != 0 {
		b = append(b, e.Old[:]...)
	}
	if m&entryWhy != 0 {
		b = append(b, byte(e.Why))
	}
	if m&entryWhyAt != 0 {
		b = binary.AppendUvarint(b, uint64(e.At))
	}
	return b
}

// DecodeEntry reads an outcome.
func DecodeEntry(b []byte) (state.Entry, error) {
	r := newReader("state outcome", b)
	m := r.mask(entryKnown)
	e := state.Entry{Outcome: state.Outcome(r.byte()), At: -1}
	if !e.Outcome.Known() {
		r.fail("an outcome of a later program")
	}
	for _, n := range [...]*uint64{&e.Number, &e.Revision, &e.Time, &e.Offset} {
		*n = r.uint()
	}
	if m&entryOpID != 0 {
		e.OpID = r.filled()
	}
	copy(e.New[:], r.take(32))
	e.Old = e.New
	if m&entryChanged != 0 {
		copy(e.Old[:], r.take(32))
		if e.Old == e.New {
			r.fail("a digest before that is the one after")
		}
	}
	if m&entryWhy != 0 {
		if e.Why = wire.StateFault(r.byte()); e.Why == wire.FaultNone {
			r.fail("a reason that is none")
		}
	}
	if m&entryWhyAt != 0 {
		at := r.uint()
		if at >= wire.MaxPatchOps {
			r.fail("no operation has this number")
		}
		e.At = int(at)
	}
	if err := r.end(); err != nil {
		return state.Entry{}, err
	}
	return e, nil
}

// states appends what the step did to documents: pieces of new bases, log slots
// and outcomes.
func (e *encoder) states(step *fold.Step) {
	for i := range step.Sessions {
		s := &step.Sessions[i]
		if s.State == nil || !s.State.Rebased {
			continue
		}
		for n, piece := range state.Pieces(s.State.Base) {
			e.slot(AppendBase(nil, SlotKey{e.key(s), uint32(n)}), s.New.State.Base, piece)
		}
	}
	for i := range step.Sessions {
		s := &step.Sessions[i]
		if s.State == nil {
			continue
		}
		for n, piece := range s.State.Log {
			e.slot(AppendLog(nil, SlotKey{e.key(s), uint32(s.State.First) + uint32(n)}), s.New.State.Base, string(piece))
		}
	}
	for i := range step.Sessions {
		s := &step.Sessions[i]
		if s.State == nil {
			continue
		}
		for n := range s.State.History {
			h := &s.State.History[n]
			key := len(e.slab)
			e.slab = AppendHistory(e.slab, e.key(s), h.Number)
			value := len(e.slab)
			e.slab = AppendEntry(e.slab, h)
			e.op(key, value, true)
		}
	}
}

// slot writes a piece or slot. It has memory of its own: it may be large, and
// the slab would be copied to take it.
func (e *encoder) slot(key []byte, base uint64, content string) {
	value := appendSlotHead(make([]byte, 0, len(content)+11), base)
	e.ops = append(e.ops, Op{Key: key, Value: append(value, content...), Durable: true})
}
