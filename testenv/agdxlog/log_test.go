package agdxlog_test

import (
	"bytes"
	"testing"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// everything uses each method once.
func everything() *agdxlog.Log {
	l := agdxlog.New("shop")
	l.Inbox("shop.reviewer.inbox")
	s := l.Session("checkout", "planner")
	s.Submit(agdxlog.Start{Label: "Checkout", Tags: []string{"a"}, Budget: &agdxlog.Budget{Tokens: 5}, SDK: &agdxlog.SDK{Language: "go", Version: "1"}})
	s.Start(agdxlog.Start{Label: "Checkout"})
	s.User("why?")
	s.Note("looking")
	s.Model("m", agdxlog.Tokens{In: 10, Out: 5, CacheRead: 2, Reasoning: 1, CostMicros: 7})
	s.Tool("grep", `{"path":"a"}`, `{}`)
	s.ToolFails("grep", `{"path":"b"}`, "no")
	s.Stream(wire.OpChat, 3)
	s.Handoff("reviewer", "review")
	s.Error("no")
	s.StateDelta(0, "op", "/a", "b")
	s.Retrieved("q", "m-1", "m-2")
	s.Policy("r", false)
	s.Step("one")
	s.Pause("planner")
	at := wire.NewSource("shop", "shop.agent.control", 1, 0, wire.RoleControl, wire.DialectAGDX).At(3)
	s.State(wire.TaskPaused, "planner", &at)
	s.Resume()
	s.State(wire.TaskWorking, "planner", nil)
	s.Cancel()
	s.UnauthorizedPause()
	s.ForceCancel()
	s.Child(agdxlog.NameID("child"), "coder").Start(agdxlog.Start{})
	s.End(wire.TaskFailed, "because")
	s.Huge(wire.RoleLane, 5<<20)
	l.Heartbeat("p1", s.ID)
	return l
}

func TestEnvelopesAreValid(t *testing.T) {
	for i, r := range everything().Records {
		e, err := wire.DecodeEnvelope(r.Value)
		if err != nil {
			t.Fatalf("record %d on %s: %v", i, r.Topic, err)
		}
		if err := e.Validate(); err != nil {
			t.Errorf("record %d on %s, %s %s: %v", i, r.Topic, e.Kind, e.Operation, err)
		}
		if r.Role != wire.RoleHeartbeats && e.Conversation != r.Session {
			t.Errorf("record %d on %s: conversation %s, session %s", i, r.Topic, e.Conversation, r.Session)
		}
		if !bytes.Equal(e.Marshal(), r.Value) {
			t.Errorf("record %d on %s does not encode to the same bytes", i, r.Topic)
		}
	}
}
