package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// layoutStory writes a log with every kind of record on every role that is
// folded, and gives its sessions by name. Where a record names the position of
// another one, that is the position in this layout.
func layoutStory(t *testing.T, l *spreadLog) map[string]wire.ID {
	ids := map[string]wire.ID{}
	session := func(name, agent string) *agdxlog.Session {
		ids[name] = agdxlog.NameID("layouts", name)
		return l.SessionID(ids[name], agent)
	}
	plan := session("plan", "planner")
	plan.Submit(agdxlog.Start{Label: strings.Repeat("é", 200), Tags: []string{"b", "a"}, Budget: &agdxlog.Budget{Tokens: 30}})
	ids["review"] = agdxlog.NameID("layouts", "review")
	review := plan.Child(ids["review"], "reviewer")
	helper := plan.By("helper")
	plan.Start(agdxlog.Start{Label: "a later start changes nothing"})
	plan.User("why?")
	plan.Model("m", agdxlog.Tokens{In: 20, Out: 5, CacheRead: 2, Reasoning: 1, CostMicros: 7})
	plan.Tool("grep", `{"path":"a","n":1}`, `{"found":3}`)
	helper.Note("looking")
	plan.Handoff("reviewer", "review")
	review.Start(agdxlog.Start{Label: "review"})
	review.Model("m", agdxlog.Tokens{In: 9, Out: 1, CostMicros: -1})
	helper.ToolFails("grep", `{"path":"b"}`, "no such file")
	plan.Stream(wire.OpChat, 3)
	plan.Stream(wire.OpToolArgs, 1)
	plan.StateDelta(0, "one", "/a", "b")
	plan.StateDelta(0, "two", "/a", "stale")
	plan.StateDelta(1, "one", "/a", "duplicate")
	plan.Patch(1, "three", `[{"op":"remove","path":"/nothing"}]`)
	plan.Snapshot(1, `{"whole":true}`)
	plan.Retrieved("q", "m-1", "m-2")
	plan.Remember("m-3", "fact", "blue")
	plan.Feedback("m-1", 0.5)
	plan.Forget("m-2")
	plan.Policy("r", false)
	plan.Step("one")
	plan.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: "notes", Item: "todo", Relation: "wrote"})
	plan.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: "notes", Item: "todo", Relation: "wrote"})
	ids["only linked"] = agdxlog.NameID("layouts", "only linked")
	helper.Link(wire.RoleLane, agdxlog.Resource{Surface: "graph_node", Resource: "people", Item: "ann", Relation: "touched",
		Session: &agdxlog.SessionRef{Stream: l.Stream, Session: ids["only linked"]}})
	plan.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: "notes", Item: "foreign", Relation: "wrote",
		Session: &agdxlog.SessionRef{Stream: "another", Session: ids["only linked"]}})
	plan.Model("m", agdxlog.Tokens{In: 20, Out: 6, CostMicros: 9})
	review.End(wire.TaskFailed, "unclear")
	review.Note("after the end")
	plan.UnauthorizedPause()
	plan.DeadLetter(3)
	plan.End(wire.TaskCompleted, "done")
	layoutControl(l, session)

	bad := session("bad", "planner")
	bad.Note("first")
	bad.Undecodable(wire.RoleLane)
	bad.Cut(wire.RoleLane)
	bad.Invalid(wire.RoleLane)
	bad.Tombstone(wire.RoleLane)
	bad.Invalid(wire.RoleMemory)
	bad.Invalid(wire.RoleDeadLetters) // a capsule whose payload does not decode
	bad.Undecodable(wire.RoleChunks)
	bad.Error("no tool was at fault")
	l.NoSession(wire.RoleLane)
	l.NoSession(wire.RoleMemory)
	return ids
}

// layoutControl is what the control topic asks, and what becomes of it.
func layoutControl(l *spreadLog, session func(name, agent string) *agdxlog.Session) {
	paused := session("paused", "planner")
	paused.Start(agdxlog.Start{Label: "paused"})
	paused.Handoff("planner", "work that comes at the wrong time")
	work := l.last
	paused.Pause("planner", "reviewer")
	request := l.last
	l.pauses[paused.ID] = request
	paused.Park(work, request)
	paused.Park(work, request)
	paused.State(wire.TaskPaused, "planner", &request)
	paused.Cancel()

	resumed := session("resumed", "planner")
	resumed.Start(agdxlog.Start{Label: "resumed"})
	resumed.Note("work")
	work = l.last
	resumed.Pause("planner")
	request = l.last
	resumed.Unpark(work, request) // the order of the two does not matter
	resumed.Park(work, request)
	resumed.State(wire.TaskPaused, "planner", &request)
	resumed.Resume()
	request = l.last
	resumed.State(wire.TaskWorking, "planner", &request)

	forced := session("forced first", "planner")
	forced.Start(agdxlog.Start{Label: "forced"})
	forced.ForceCancel()
	forced.End(wire.TaskCompleted, "too late")
	ended := session("ended first", "planner")
	ended.Start(agdxlog.Start{Label: "ended"})
	ended.End(wire.TaskCompleted, "in time")
	ended.ForceCancel()
	unknown := session("forced and unknown", "operator")
	unknown.ForceCancel()
}

// checkStory looks whether the views, which are the same in every layout, are
// right.
func checkStory(t *testing.T, got map[string]told) {
	t.Helper()
	view := func(name string) (s wire.SessionInfo) {
		if err := json.Unmarshal([]byte(got[name].Info), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	plan := view("plan")
	if plan.Status != "completed" || !plan.OverBudget || !plan.Flags.LabelTruncated || plan.Children != 1 || plan.TokensIn != 40 || plan.TokensOut != 11 ||
		plan.Errors != 2 || plan.Subtree.TokensIn != 49 || len(plan.Agents) != 2 || plan.PauseRequested {
		t.Errorf("plan: %s", got["plan"].Info)
	}
	if s := got["plan"].State; s.Revision != 1 || string(s.Document) != `{"whole":true}` || len(s.History) != 5 {
		t.Errorf("plan: state %+v", s)
	}
	if n := len(got["plan"].Links); n != 7 {
		t.Errorf("plan: %d links: %+v", n, got["plan"].Links)
	}
	if n := len(got["only linked"].Links); n != 1 || view("only linked").Events != 0 {
		t.Errorf("only linked: %d links, %s", n, got["only linked"].Info)
	}
	if s := view("review"); s.Status != "failed" || s.Parent == nil || !strings.Contains(strings.Join(got["review"].Events, " "), `"after_end":true`) {
		t.Errorf("review: %s %s", got["review"].Info, got["review"].Events)
	}
	if s := view("paused"); !s.PauseRequested || !s.CancelRequested || s.Held != 1 || s.Status != "paused" || s.Pause == nil || len(s.Pause.Acknowledged) != 1 {
		t.Errorf("paused: %s", got["paused"].Info)
	}
	if s := view("resumed"); s.PauseRequested || s.Held != 0 || s.Status != "active" || s.Pause != nil {
		t.Errorf("resumed: %s", got["resumed"].Info)
	}
	for name, status := range map[string]string{"forced first": "canceled", "ended first": "completed", "forced and unknown": "canceled", "bad": "active"} {
		if s := view(name); s.Status != status {
			t.Errorf("%s: %s", name, got[name].Info)
		}
	}
	if s := view("bad"); s.Events != 9 || s.Errors != 2 {
		t.Errorf("bad: %s", got["bad"].Info)
	}
}
