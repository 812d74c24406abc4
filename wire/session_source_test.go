package wire

import (
	"slices"
	"testing"
)

// The unit tests of seed 003.

func TestActivityTruthTable(t *testing.T) {
	turns := map[string]TurnEnd{"": TurnNone, "completed": TurnCompleted, "failed": TurnFailed, "cancelled": TurnCancelled, "weird": TurnNone}
	for _, c := range []struct{ status, turn, want string }{
		{"active", "", "running"}, {"active", "failed", "running"}, {"waiting_for_tool_results", "completed", "running"}, {"paused", "failed", "paused"},
		{"idle", "completed", "completed"}, {"idle", "failed", "failed"}, {"idle", "cancelled", "failed"}, {"started", "completed", "completed"},
		{"started", "", "idle"}, {"idle", "", "idle"}, {"idle", "weird", "idle"},
	} {
		if got := ActivityOf(ParseNativeState(c.status), turns[c.turn]); got.String() != c.want {
			t.Errorf("status %s, last turn %q: %s, want %s", c.status, c.turn, got, c.want)
		}
	}
}

func TestSourceWordsRoundTrip(t *testing.T) {
	want := []string{"unknown", "chat", "api", "slack", "ag_ui", "fcp", "schedule", "webhook", "a2a", "eval", "subagent"}
	if got := SessionSourceWords(); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	for i, w := range want {
		if s, ok := ParseSessionSource(w); !ok || int(s) != i || s.String() != w {
			t.Errorf("%s reads as %s, %t", w, s, ok)
		}
	}
	if s, ok := ParseSessionSource("not_a_source"); ok || s != SourceUnknown {
		t.Errorf("not_a_source reads as %s, %t", s, ok)
	}
}

func TestOnlyChatAndAPIAreClientDeclarable(t *testing.T) {
	var got []string
	for s := range sessionSourceEnd {
		if s.ClientDeclarable() {
			got = append(got, s.String())
		}
	}
	if !slices.Equal(got, []string{"chat", "api"}) {
		t.Errorf("%q", got)
	}
}

func TestActivityWordsRoundTrip(t *testing.T) {
	for _, w := range []string{"running", "paused", "failed", "completed", "idle"} {
		if a, ok := ParseActivity(w); !ok || a.String() != w {
			t.Errorf("%s reads as %s, %t", w, a, ok)
		}
	}
	if _, ok := ParseActivity("nope"); ok || len(ActivityWords()) != 5 {
		t.Error("nope is no activity, and there are five")
	}
}
