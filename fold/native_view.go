package fold

import "sessionfold/wire"

// viewNative shows what only foreign dialects have. Outcome and reason are of
// the last end and stay after a reopening (spec settled.md, "Additive fields").
func (s *Session) viewNative(v *wire.SessionInfo) {
	v.NativeID, v.Runs, v.Redelivered = s.NativeID, s.Runs, s.Redelivered
	v.Model = s.text(wire.SayModel)
	v.Goal, v.Preview, v.OutputPreview = s.text(wire.SayGoal), s.text(wire.SayPreview), s.text(wire.SayOutput)
	if s.dialect() == wire.DialectEverruns {
		_, v.NativeStatus = s.nativeState()
		if source, ok := s.Origin(); ok {
			v.Source = source.String()
		}
		if turn, _ := s.said(wire.SayTurn); turn != nil {
			v.Outcome, v.Reason = wire.TurnEnd(turn.Num).Outcome(), turn.Text
		}
	} else if end, _ := s.said(wire.SayOutcome); end != nil {
		v.Outcome, v.Reason = wire.Status(end.Num).String(), end.Text
	}
	if w, at := s.said(wire.SayWait); w != nil && w.Num != 0 {
		v.Waiting = &wire.Waiting{Reason: w.Text, Since: at.Time}
		if w.Aux > 0 {
			v.WakeAt = ptr(w.Aux)
		}
	}
	if f, _ := s.said(wire.SayFork); f != nil {
		v.ForkedFrom = &wire.ForkedFrom{ID: f.Text, Sequence: f.Aux}
	}
}

// NativeGaps lists the sequence numbers that the session lacks, per source in
// the order of Sources.
func (s *Session) NativeGaps() []wire.NativeGap {
	var out []wire.NativeGap
	for i := range s.Sources {
		if n := s.Sources[i].Partial.Native; n != nil {
			out = append(out, n.Missing...)
		}
	}
	return out
}

// Copied says that a row of a source is a copy of an event of the session's
// origin: it lies behind the record that told the lineage, and its sequence
// number up to the fork point.
func (k *Keyed) Copied(offset, sequence uint64) bool {
	if k.Partial.Native == nil {
		return false
	}
	f := k.Partial.Native.said(wire.SayFork)
	return f != nil && offset > f.At.Offset && sequence <= f.Aux
}

// Outcome gives how a child came out as this source's records say, "" when it
// has not ended.
func (n *Native) Outcome(item string) string {
	if i, known := n.Kids.find(func(k *Kid) bool { return k.Item == item }); known && n.Kids.at(i).Final {
		return n.Kids.at(i).State
	}
	return ""
}

// AuditSource gives the source whose audit snapshot shows: of several the one
// with the session's first record, like a state document. Nil: no kernel
// decision was seen.
func (s *Session) AuditSource() *Keyed {
	var best *Keyed
	for i := range s.Sources {
		k := &s.Sources[i]
		if k.Partial.Native == nil || k.Partial.Native.Audit == nil {
			continue
		}
		if best == nil || k.address(k.Partial.First).Compare(best.address(best.Partial.First)) < 0 {
			best = k
		}
	}
	return best
}
