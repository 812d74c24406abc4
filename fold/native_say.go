package fold

import "sessionfold/wire"

// say folds a statement: the last of its key holds, and where the dialect's
// sequence numbers decide, the one with the highest.
func (b *batch) say(t *touched, w *wire.Native, s *wire.Say, at Stamp) {
	if s.Key.Content() && !b.cfg.Previews {
		return
	}
	n := t.new.Native
	old := n.said(s.Key)
	sequenced := w.HasSeq && b.src.Dialect == wire.DialectEverruns && bySequence(s.Key)
	if old != nil && (s.Key.FirstStays() || sequenced && w.Seq < old.Seq) {
		return
	}
	if !holds(s, old, sequenced) {
		return
	}
	next := Said{Key: s.Key, Num: s.Num, Sequenced: sequenced, Aux: s.Aux, At: at}
	if old != nil {
		next.Seq = old.Seq
	}
	if sequenced {
		next.Seq = w.Seq
	}
	var cut bool
	if s.Key == wire.SayFork { // an id stays whole
		next.Text, _ = wire.Clean(s.Text, 0)
	} else if s.Num != 0 || s.Key != wire.SayWait {
		next.Text, cut = wire.Clean(s.Text, maxText)
	}
	if s.Key == wire.SayTags {
		next.List = cleanTags(s.List)
	}
	if s.Key == wire.SayLabel || s.Key == wire.SayGoal && b.src.Dialect == wire.DialectDeepStrike { // what labels the session
		t.new.Flags &^= FlagLabelTruncated
		if cut {
			t.new.Flags |= FlagLabelTruncated
		}
	}
	n.put(next)
}

// holds says whether a statement changes anything after the one that held.
func holds(s *wire.Say, old *Said, sequenced bool) bool {
	switch s.Key {
	case wire.SayCourse: // what is suspended or resumed after an end stays ended
		return !s.Soft || old == nil || !wire.Status(old.Num).Terminal()
	case wire.SayBudget:
		return s.Num != 0 || old != nil || sequenced
	case wire.SayWait:
		switch {
		case s.Num != 0:
			return true
		case old == nil || old.Num == 0:
			return sequenced // what comes late must not begin to wait
		}
		return !s.Soft || old.Text == string(s.Text)
	}
	return true
}

// bySequence says that the highest sequence number decides a statement of
// Everruns (spec settled.md, "Everruns").
func bySequence(k wire.SayKey) bool {
	switch k {
	case wire.SayState, wire.SayTurn, wire.SayLabel, wire.SayModel, wire.SayBudget, wire.SayWait:
		return true
	}
	return false
}

// Kid is a session or process that the session started, with the last state that
// its records tell.
type Kid struct {
	Item    string
	State   string
	Attempt uint64
	Final   bool // the state is an end
}

// child folds the state of a child. Its link is folded with the record's links.
func (t *touched) child(w *wire.NativeChild) {
	n := t.new.Native
	k := Kid{Attempt: w.Attempt, Final: w.Final}
	k.Item, _ = wire.Clean(w.Item, maxText)
	k.State, _ = wire.Clean(w.State, maxText)
	if k.State == "" && !w.HasAttempt {
		return
	}
	i, known := n.Kids.find(func(o *Kid) bool { return o.Item == k.Item })
	if !known {
		if n.Kids.N >= MaxSet {
			t.new.Flags |= FlagOverflow
			return
		}
		n.Kids.add(k, false)
		return
	}
	old := n.Kids.at(i)
	if w.Sticky && (old.Final || w.HasAttempt && w.Attempt < old.Attempt) {
		return
	}
	if !w.HasAttempt {
		k.Attempt = old.Attempt
	}
	if k != *old {
		n.Kids.set(i, k)
	}
}
