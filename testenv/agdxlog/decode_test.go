package agdxlog_test

import (
	"testing"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// What the decoder of the program makes of each method: the display word and
// the facts that count.
func TestDecoderReadsThem(t *testing.T) {
	dec := wire.NewAGDXDecoder()
	read := func(write func(s *agdxlog.Session)) (out []wire.Record) {
		l := agdxlog.New("shop")
		l.Inbox("shop.reviewer.inbox")
		write(l.Session("checkout", "planner"))
		for _, r := range l.Records {
			src := wire.NewSource("shop", r.Topic, 1, 0, r.Role, wire.DialectAGDX)
			out = append(out, dec.Decode(src, []wire.Raw{{Key: r.Key, Value: r.Value, Headers: r.Headers}})[0])
		}
		return out
	}
	lane := wire.RoleLane
	for name, c := range map[string]struct {
		write func(s *agdxlog.Session)
		want  []wire.Display
	}{
		"start":        {func(s *agdxlog.Session) { s.Start(agdxlog.Start{Label: "x"}) }, []wire.Display{wire.DisplaySessionStarted}},
		"submit":       {func(s *agdxlog.Session) { s.Submit(agdxlog.Start{}) }, []wire.Display{wire.DisplaySessionSubmitted}},
		"paused":       {func(s *agdxlog.Session) { s.State(wire.TaskPaused, "planner", nil) }, []wire.Display{wire.DisplaySessionPaused}},
		"acknowledged": {func(s *agdxlog.Session) { s.State(wire.TaskPaused, "planner", &wire.Pos{Offset: 3}) }, []wire.Display{wire.DisplaySessionPaused}},
		"end":          {func(s *agdxlog.Session) { s.End(wire.TaskCompleted, "") }, []wire.Display{wire.DisplaySessionCompleted}},
		"fail":         {func(s *agdxlog.Session) { s.End(wire.TaskFailed, "x") }, []wire.Display{wire.DisplaySessionFailed}},
		"force":        {func(s *agdxlog.Session) { s.ForceCancel() }, []wire.Display{wire.DisplaySessionCanceled}},
		"pause":        {func(s *agdxlog.Session) { s.Pause("a", "b") }, []wire.Display{wire.DisplaySessionControl}},
		"no right":     {func(s *agdxlog.Session) { s.UnauthorizedPause() }, []wire.Display{wire.DisplayUnauthorizedControl}},
		"note":         {func(s *agdxlog.Session) { s.Note("x") }, []wire.Display{wire.DisplayAgentMessage}},
		"user":         {func(s *agdxlog.Session) { s.User("x") }, []wire.Display{wire.DisplayUserMessage}},
		"model":        {func(s *agdxlog.Session) { s.Model("m", agdxlog.Tokens{In: 1}) }, []wire.Display{wire.DisplayModelRequest, wire.DisplayModelResponse}},
		"tool":         {func(s *agdxlog.Session) { s.Tool("t", "{}", "{}") }, []wire.Display{wire.DisplayToolCall, wire.DisplayToolResult}},
		"tool fails":   {func(s *agdxlog.Session) { s.ToolFails("t", "{}", "no") }, []wire.Display{wire.DisplayToolCall, wire.DisplayToolResult}},
		"handoff":      {func(s *agdxlog.Session) { s.Handoff("b", "x") }, []wire.Display{wire.DisplayAgentHandoff}},
		"error":        {func(s *agdxlog.Session) { s.Error("x") }, []wire.Display{wire.DisplayError}},
		"stream":       {func(s *agdxlog.Session) { s.Stream(wire.OpChat, 1) }, []wire.Display{wire.DisplayModelStream, wire.DisplayAgentMessage, wire.DisplayAgentMessage}},
		"state":        {func(s *agdxlog.Session) { s.StateDelta(0, "o", "/a", "b") }, []wire.Display{wire.DisplayStateUpdated}},
		"retrieved":    {func(s *agdxlog.Session) { s.Retrieved("q", "m") }, []wire.Display{wire.DisplayContextRetrieved}},
		"memory":       {func(s *agdxlog.Session) { s.Remember("m", "fact", "x"); s.Forget("m"); s.Feedback("m", 1) }, []wire.Display{wire.DisplayMemoryCreated, wire.DisplayMemoryForgotten, wire.DisplayMemoryFeedback}},
		"policy":       {func(s *agdxlog.Session) { s.Policy("r", true) }, []wire.Display{wire.DisplayPolicyDecision}},
		"step":         {func(s *agdxlog.Session) { s.Step("x") }, []wire.Display{wire.DisplayWorkflowStep}},
		"link": {func(s *agdxlog.Session) {
			s.Link(wire.RoleAudit, agdxlog.Resource{Surface: "kv", Resource: "r", Item: "i", Relation: "wrote"})
		}, []wire.Display{wire.DisplayKVSet}},
		"parked":      {func(s *agdxlog.Session) { s.Park(wire.Pos{}, wire.Pos{}); s.Unpark(wire.Pos{}, wire.Pos{}) }, []wire.Display{wire.DisplaySessionParked, wire.DisplaySessionUnparked}},
		"dead letter": {func(s *agdxlog.Session) { s.DeadLetter(3) }, []wire.Display{wire.DisplayDeadLetter}},
		"undecodable": {func(s *agdxlog.Session) { s.Undecodable(lane); s.Cut(lane); s.Tombstone(lane) }, []wire.Display{0, 0, 0}},
		"invalid":     {func(s *agdxlog.Session) { s.Invalid(lane); s.Invalid(wire.RoleMemory) }, []wire.Display{wire.DisplayInvalid, wire.DisplayInvalid}},
		"huge":        {func(s *agdxlog.Session) { s.Huge(lane, 5<<20) }, []wire.Display{wire.DisplayAgentMessage}},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(c.write)
			if len(got) != len(c.want) {
				t.Fatalf("%d records, want %d", len(got), len(c.want))
			}
			for i, r := range got {
				if r.Display != c.want[i] {
					t.Errorf("record %d displays %s (%s), want %s", i, r.Display, r.Reason, c.want[i])
				}
				if !r.HasSession || r.Session != agdxlog.NameID("shop", "checkout") {
					t.Errorf("record %d belongs to %v %s", i, r.HasSession, r.Session)
				}
			}
		})
	}
}
