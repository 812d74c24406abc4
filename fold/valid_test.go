package fold

import (
	"strings"
	"testing"

	"sessionfold/wire"
)

// goodStep is a step of two sessions on top of an earlier one, with a gap.
func goodStep(t *testing.T) *Step {
	t.Helper()
	w := &world{cfg: &Config{}, dump: dumper{names: map[wire.ID]string{}}}
	f := newFolded("s.agent.sessions", 0)
	fold := func(lines string) *Step {
		recs, err := w.records(lines)
		if err != nil {
			t.Fatal(err)
		}
		return f.fold(w.cfg, recs)
	}
	fold("3 10 a session.started lane active label=x\n4 11 a session.completed lane completed\n5 12 -")
	f.front = f.front.Expire(8, GapExpiredBeforeFold)
	return fold("8 20 b by=ann\n9 21 a\n10 22 - undecodable\n11 23 b invalid\n12 24 b heartbeat")
}

// TestValidSeesEveryFault breaks each invariant of a good step in turn.
func TestValidSeesEveryFault(t *testing.T) {
	if err := goodStep(t).valid(true); err != nil {
		t.Fatalf("the good step: %v", err)
	}
	a, b := func(s *Step) *SessionStep { return &s.Sessions[0] }, func(s *Step) *SessionStep { return &s.Sessions[1] }
	for name, breakIt := range map[string]func(s *Step){
		"from":                     func(s *Step) { s.From++ },
		"from without the gap":     func(s *Step) { s.Before.Skipped = 0 },
		"to":                       func(s *Step) { s.To-- },
		"next below":               func(s *Step) { s.To, s.Frontier.Next = 6, 7 },
		"time fell":                func(s *Step) { s.Frontier.Time = 1 },
		"skipped left":             func(s *Step) { s.Frontier.Skipped = 1 },
		"records fell":             func(s *Step) { s.Frontier.Records = 0 },
		"record in no number":      func(s *Step) { s.Frontier.Records++ },
		"unattributed missing":     func(s *Step) { s.Frontier.Unattributed-- },
		"more bad than records":    func(s *Step) { s.Frontier.Invalid = 99 },
		"gap turned round":         func(s *Step) { s.Frontier.Gaps = []Gap{{From: 7, To: 6}} },
		"gap past the frontier":    func(s *Step) { s.Frontier.Gaps = []Gap{{From: 6, To: 13}} },
		"gaps out of order":        func(s *Step) { s.Frontier.Gaps = []Gap{{From: 6, To: 7}, {From: 7, To: 8}} },
		"sessions out of order":    func(s *Step) { s.Sessions[0], s.Sessions[1] = s.Sessions[1], s.Sessions[0] },
		"session twice":            func(s *Step) { s.Sessions[1] = s.Sessions[0] },
		"no partial":               func(s *Step) { a(s).New = nil },
		"partial shared with step": func(s *Step) { a(s).New = a(s).Old },
		"records stood still":      func(s *Step) { a(s).New.Records = a(s).Old.Records },
		"records beyond offsets":   func(s *Step) { b(s).New.Records = 9 },
		"last of the session":      func(s *Step) { a(s).Last++ },
		"last before the step":     func(s *Step) { b(s).Last, b(s).New.Last.Offset = 7, 7 },
		"first moved":              func(s *Step) { a(s).New.First.Time++ },
		"last time fell":           func(s *Step) { a(s).New.Last.Time = 1 },
		"start replaced":           func(s *Step) { a(s).New.Start = &Start{} },
		"end replaced":             func(s *Step) { a(s).New.End = &End{} },
		"start lost":               func(s *Step) { a(s).New.Start = nil },
		"row not counted":          func(s *Step) { a(s).New.Rows-- },
		"row lost":                 func(s *Step) { b(s).Rows = b(s).Rows[1:] },
		"too many agents":          func(s *Step) { b(s).New.Agents = make([]string, MaxAgents+1) },
		"rows out of order":        func(s *Step) { b(s).Rows[0], b(s).Rows[1] = b(s).Rows[1], b(s).Rows[0] },
		"row time fell":            func(s *Step) { b(s).Rows[1].Time = 19 },
		"row time ahead":           func(s *Step) { b(s).Rows[1].Time = 25 },
		"no change row":            func(s *Step) { s.Changes, s.Frontier.Seq = nil, s.Before.Seq },
		"seq of the frontier":      func(s *Step) { s.Frontier.Seq++ },
		"seq of the row":           func(s *Step) { s.Changes[0].Seq++ },
		"range of the row":         func(s *Step) { s.Changes[0].From++ },
		"session in no row": func(s *Step) {
			s.Changes[0].Sessions = s.Changes[0].Sessions[:1]
			s.Changes[0].Positions = s.Changes[0].Positions[:1]
		},
		"another session":   func(s *Step) { s.Changes[0].Sessions[0][0]++ },
		"another position":  func(s *Step) { s.Changes[0].Positions[1].Offset++ },
		"positions missing": func(s *Step) { s.Changes[0].Positions = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := goodStep(t)
			breakIt(s)
			err := s.valid(true)
			if err == nil {
				t.Fatal("not seen")
			}
			if !strings.Contains(err.Error(), "s.agent.sessions[0] offsets") {
				t.Errorf("without a position: %v", err)
			}
		})
	}
}

// TestExpireKeepsEarlierGaps: a frontier that a step holds does not change when
// a later one goes on from it.
func TestExpireKeepsEarlierGaps(t *testing.T) {
	f := Frontier{}.Expire(5, GapExpiredBeforeFold)
	f.Next = 7
	g := f.Expire(10, GapExpiredBeforeFold)
	h := f.Expire(12, GapSourceLost)
	f.Next = 5
	k := f.Expire(20, GapExpiredBeforeFold) // joins the last gap
	for _, c := range []struct {
		got  Frontier
		want []Gap
	}{
		{f, []Gap{{0, 4, GapExpiredBeforeFold}}},
		{g, []Gap{{0, 4, GapExpiredBeforeFold}, {7, 9, GapExpiredBeforeFold}}},
		{h, []Gap{{0, 4, GapExpiredBeforeFold}, {7, 11, GapSourceLost}}},
		{k, []Gap{{0, 19, GapExpiredBeforeFold}}},
	} {
		if len(c.got.Gaps) != len(c.want) {
			t.Fatalf("%v, want %v", c.got.Gaps, c.want)
		}
		for i := range c.want {
			if c.got.Gaps[i] != c.want[i] {
				t.Errorf("%v, want %v", c.got.Gaps, c.want)
			}
		}
	}
}
