package fold

import (
	"fmt"

	"sessionfold/fold/state"
	"sessionfold/wire"
)

// StateInfo is what a partial keeps of the session's state document (spec
// session-index.md, section 7). The document itself lies beside the partial and
// is only loaded when a batch has state records of the session.
type StateInfo struct {
	First Stamp // first state record
	state.Info
}

// NeedsState says that folding the record takes the session's document.
func NeedsState(rec *wire.Record) bool {
	return rec.HasSession && rec.Rare != nil && rec.Rare.State != nil
}

// state folds a state record. That the document of a session with state is not
// at hand, or another one is, is a broken invariant of the caller.
func (b *batch) state(t *touched, rec *wire.StateRecord, at Stamp) {
	if t.work == nil {
		s, info := b.states[t.id], t.new.State
		switch {
		case info == nil:
			s = state.New()
			info = &StateInfo{First: at}
		case s == nil:
			panic(fmt.Errorf("fold: %s offset %d: session %s has state, but its document was not loaded", b.src, at.Offset, t.id))
		case s.Info != info.Info:
			panic(fmt.Errorf("fold: %s offset %d: session %s: the document is at %+v, the partial at %+v", b.src, at.Offset, t.id, s.Info, info.Info))
		}
		t.new.State = info
		t.work = s.Begin()
	}
	t.work.Apply(rec, at.Time, at.Offset)
}

// endState puts what the batch did to the document into the partial.
func (t *touched) endState() *state.Step {
	step := t.work.End()
	t.new.State = &StateInfo{First: t.new.State.First, Info: step.State.Info}
	return step
}

// mergeState: lanes are folded apart, so of several documents the one shows
// whose first state record has the smallest address (spec settled.md, "State").
func (s *Session) mergeState(k *Keyed) {
	if k.Partial.State == nil {
		return
	}
	if s.State == nil || k.address(k.Partial.State.First).Compare(s.State.address(s.State.Partial.State.First)) < 0 {
		s.State = k
	}
}

// validState holds the step of a document against the partials.
func validState(ss *SessionStep, old *Partial) error {
	p := ss.New
	if ss.State == nil {
		if p.State != old.State {
			return fmt.Errorf("the state changed without a step")
		}
		return nil
	}
	step, before := ss.State, uint64(0)
	if old.State != nil {
		if p.State.First != old.State.First {
			return fmt.Errorf("the first state record went from %v to %v", old.State.First, p.State.First)
		}
		before = old.State.Outcomes()
	}
	n := p.State.Outcomes() - before
	switch {
	case p.State.Info != step.State.Info, n == 0, uint64(len(step.History)) != min(n, state.HistoryLen):
		return fmt.Errorf("%d outcomes and %d entries", n, len(step.History))
	case step.First+uint64(len(step.Log)) != p.State.Slots, step.Rebased && step.First != 0:
		return fmt.Errorf("log slots %d and %d more are not %d", step.First, len(step.Log), p.State.Slots)
	case step.Rebased && uint64(len(step.Base)) != p.State.BaseSize:
		return fmt.Errorf("a base of %d bytes, not %d", len(step.Base), p.State.BaseSize)
	}
	return nil
}
