package fold

import (
	"slices"

	"sessionfold/wire"
)

// mergeNative fills in what the rules of a foreign dialect say of a session,
// whose lifecycle goes on after an end (spec session-index.md, section 3). All
// records of such a session belong in one source; of several the statement with
// the greatest address holds, or the smallest where the first one stays, and
// totals of runs are per source.
func (s *Session) mergeNative(parent, root *named) {
	s.Parent, s.Root = parent.id, root.id
	first := -1
	var over bool
	for i := range s.Sources {
		k := &s.Sources[i]
		n := k.Partial.Native
		if n == nil {
			continue
		}
		sums, estimated := n.Levels.counts(&over)
		s.Counters.addSums(&sums, &over)
		if estimated {
			s.Flags |= FlagTokensEstimated
		}
		sat(&s.Runs, n.Runs, &over)
		sat(&s.Redelivered, n.Redelivered, &over)
		if first < 0 || k.address(k.Partial.First).Compare(s.Sources[first].address(s.Sources[first].Partial.First)) < 0 {
			first, s.NativeID = i, n.ID
		}
	}
	if over {
		s.Flags |= FlagOverflow
	}
	if s.dialect() == wire.DialectEverruns {
		s.mergeEverruns()
	} else {
		s.mergeDeepStrike()
	}
}

// said gives the statement of a key that holds over the sources.
func (s *Session) said(key wire.SayKey) (best *Said, at wire.Address) {
	for i := range s.Sources {
		k := &s.Sources[i]
		if k.Partial.Native == nil {
			continue
		}
		one := k.Partial.Native.said(key)
		if one == nil {
			continue
		}
		a := k.address(one.At)
		if best == nil || (a.Compare(at) > 0) != key.FirstStays() {
			best, at = one, a
		}
	}
	return best, at
}

func (s *Session) mergeDeepStrike() {
	s.Status = wire.StatusActive
	course, at := s.said(wire.SayCourse)
	if course == nil {
		s.active = activity(s.Status)
		return
	}
	s.Status = wire.Status(course.Num)
	s.active = activity(s.Status)
	if s.Status.Terminal() {
		s.endNative(course, at)
		if out, _ := s.said(wire.SayOutcome); out != nil {
			s.End.Reason = out.Text
		}
	}
}

func (s *Session) endNative(said *Said, at wire.Address) {
	s.End, s.EndAt = &End{At: said.At, Status: s.Status, Reason: said.Text}, at
}

// mergeEverruns: what runs now decides, else the end of the last turn (spec
// everruns.md, section 2).
func (s *Session) mergeEverruns() {
	var last wire.TurnEnd
	turn, at := s.said(wire.SayTurn)
	if turn != nil {
		last = wire.TurnEnd(turn.Num)
	}
	state, _ := s.nativeState()
	s.active = wire.ActivityOf(state, last)
	switch state {
	case wire.StateActive, wire.StateWaiting:
		s.Status = wire.StatusActive
	case wire.StatePaused:
		s.Status = wire.StatusPaused
	default:
		if s.Status = last.Status(); s.Status.Terminal() {
			s.endNative(turn, at)
		}
	}
}

// nativeState gives the execution status with its word. A budget that is used up
// pauses a session; with it the session goes back to what it was.
func (s *Session) nativeState() (wire.NativeState, string) {
	state, at := s.said(wire.SayState)
	if b, when := s.said(wire.SayBudget); b != nil && b.Num != 0 && (state == nil || laterSaid(b, when, state, at)) {
		return wire.StatePaused, wire.StatePaused.String()
	}
	if state == nil {
		return wire.StateStarted, wire.StateStarted.String()
	}
	if state.Text != "" {
		return wire.NativeState(state.Num), state.Text
	}
	return wire.NativeState(state.Num), wire.NativeState(state.Num).String()
}

// laterSaid compares statements of two keys: by their sequence numbers when both
// have one, else by address.
func laterSaid(a *Said, at wire.Address, b *Said, bt wire.Address) bool {
	if a.Sequenced && b.Sequenced && a.Seq != b.Seq {
		return a.Seq > b.Seq
	}
	return at.Compare(bt) > 0
}

// text gives the text of a statement, "" when it was never made.
func (s *Session) text(key wire.SayKey) string {
	if one, _ := s.said(key); one != nil {
		return one.Text
	}
	return ""
}

// Label is what names the session in lists: the start's label, or the title; an
// implicit session of AGDX is named by its id, one of a foreign dialect by its
// native id. A session whose start has no label has none.
func (s *Session) Label() (string, bool) {
	switch {
	case s.foreign():
		title := s.text(wire.SayLabel)
		if title == "" && s.dialect() == wire.DialectDeepStrike {
			title = s.text(wire.SayGoal)
		}
		if title == "" {
			title = s.NativeID
		}
		return title, title != ""
	case s.Start == nil:
		return s.ID.String(), true
	}
	return s.Start.Label, s.Start.HasLabel
}

// Owner is the agent that the session is of, "" when none is known.
func (s *Session) Owner() string {
	if s.foreign() {
		return s.text(wire.SayAgent)
	}
	if s.Start == nil {
		return ""
	}
	return s.Start.Agent
}

// Tags are the session's, ascending, each once.
func (s *Session) Tags() []string {
	var tags []string
	if s.foreign() {
		if one, _ := s.said(wire.SayTags); one != nil {
			tags = one.List
		}
	} else if s.Start != nil {
		tags = s.Start.Tags
	}
	if len(tags) == 0 {
		return nil
	}
	tags = slices.Clone(tags)
	slices.Sort(tags)
	return slices.Compact(tags)
}

// Origin is how the session came about; false where the dialect does not say.
// The word of the session's owner counts, else what an event hints at, else what
// a client may declare (spec everruns.md, section 2).
func (s *Session) Origin() (wire.SessionSource, bool) {
	if s.dialect() != wire.DialectEverruns {
		return wire.SourceUnknown, false
	}
	for _, k := range [...]wire.SayKey{wire.SaySource, wire.SayHint, wire.SayClaim} {
		if one, _ := s.said(k); one != nil && one.Num != uint8(wire.SourceUnknown) {
			return wire.SessionSource(one.Num), true
		}
	}
	return wire.SourceUnknown, true
}

func (s *Session) foreign() bool { return s.dialect() != wire.DialectAGDX }
