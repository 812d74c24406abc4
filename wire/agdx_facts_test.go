package wire

import (
	"math"
	"testing"
)

func TestFacts(t *testing.T) {
	priced := TokenCounts{Input: 10, Output: 5, Cost: 7, Has: HasCost}
	for _, c := range []struct {
		name string
		role Role
		env  *Envelope
		want Fact
	}{
		{"event", RoleLane, event(), FactAuthor},
		{"model request", RoleLane, op(command(), OpChat), FactAuthor | FactModelCall},
		{"model request in an inbox", RoleWork, op(command(), OpTextCompletion), FactAuthor | FactModelCall},
		{"model response is no call", RoleLane, op(response(), OpChat), FactAuthor},
		{"a user's turn is no model call", RoleLane, user(op(command(), OpChat)), FactAuthor},
		{"tool call", RoleLane, op(command(), OpExecuteTool), FactAuthor | FactToolCall},
		{"tool call on audit", RoleAudit, op(command(), OpExecuteTool), FactAuthor | FactToolCall},
		{"error", RoleLane, failure(), FactAuthor | FactError},
		{"error in the journal", RoleJournal, failure(), FactAuthor | FactError},
		{"a failed response is no error", RoleLane, response().SetTaskState(TaskFailed), FactAuthor},
		{"a failed session is no error", RoleLane, session(TaskFailed, empty), FactAuthor | FactLane},
		{"usage without cost", RoleLane, response().SetUsage(TokenCounts{Input: 1}), FactAuthor | FactUsage | FactUnpriced},
		{"usage with cost", RoleLane, event().SetUsage(priced), FactAuthor | FactUsage},
		{"usage on a chunk", RoleChunks, lastChunk().SetUsage(priced), FactAuthor | FactUsage},
		{"start on the lane", RoleLane, session(TaskWorking, startBody().Marshal()), FactAuthor | FactLane},
		{"start elsewhere", RoleWork, session(TaskWorking, startBody().Marshal()), FactAuthor},
		{"unknown state on the lane", RoleLane, session(99, empty), FactAuthor | FactLane},
		{"state delta on the lane", RoleLane, op(event(), OpStateDelta), FactAuthor | FactLane},
		{"state delta elsewhere", RoleWork, op(event(), OpStateDelta), FactAuthor},
		{"a user's state delta on the lane", RoleLane, user(op(event(), OpStateDelta)), FactAuthor | FactLane},
		{"task on the lane", RoleLane, task(), FactAuthor},
		{"control", RoleControl, op(command(), OpSessionPause), FactAuthor},
		{"unauthorized control", RoleLane, op(command(), OpSessionPause), 0},
		{"heartbeat", RoleHeartbeats, status(OpProgress), FactHeartbeat},
		{"a call among the heartbeats", RoleHeartbeats, op(command(), OpExecuteTool).SetParent(testID(8)), FactHeartbeat},
	} {
		rec := one(c.role, c.env.Marshal())
		if rec.Facts != c.want {
			t.Errorf("%s: facts are %b, want %b", c.name, rec.Facts, c.want)
		}
		if c.role == RoleHeartbeats && (rec.HasSession || rec.Summary != nil || rec.HasParent || rec.Usage != nil) {
			t.Errorf("%s: says more than that a process lives: %+v", c.name, rec)
		}
	}
}

func TestUndecodableHeartbeatNeverCounts(t *testing.T) {
	rec := one(RoleHeartbeats, nil, Header{Key: HeaderConversation, Value: SessionKey(testID(1))})
	if rec.Facts != FactHeartbeat || rec.HasSession || rec.Display != DisplayUndecodable {
		t.Errorf("%+v", rec)
	}
}

func TestUsageIsNormalised(t *testing.T) {
	counts := TokenCounts{Input: 1200, Output: 310, Reasoning: 60, CacheRead: 900, CacheCreation: 50, Cost: 4120,
		Has: HasReasoning | HasCacheRead | HasCacheWrite | HasCost}
	got := one(RoleLane, response().SetUsage(counts).Marshal()).Usage
	want := Usage{In: 1200, Out: 310, Reasoning: 60, CacheRead: 900, CacheWrite: 50, CostNano: 4_120_000, Has: counts.Has}
	if got == nil || *got != want {
		t.Errorf("usage is %+v, want %+v", got, want)
	}
	counts.Cost = math.MaxUint64 / 999
	if got := one(RoleLane, response().SetUsage(counts).Marshal()).Usage; got.CostNano != math.MaxUint64 {
		t.Errorf("a cost beyond 64 bits is %d", got.CostNano)
	}
	counts.Cost = math.MaxUint64 / 1000
	if got := one(RoleLane, response().SetUsage(counts).Marshal()).Usage; got.CostNano != math.MaxUint64/1000*1000 {
		t.Errorf("the greatest cost is %d", got.CostNano)
	}
}

func TestEnvelopeFieldsReachTheRecord(t *testing.T) {
	e := op(command(), "plan").SetParent(testID(8)).SetRoot(testID(9))
	e.Target, e.Tool, e.CauseAt = []byte("b"), []byte("hammer"), []byte("locator")
	rec := one(RoleLane, e.Marshal())
	if rec.Session != testID(2) || !rec.HasSession || rec.Kind != KindCommand || rec.Offset != 5 || rec.Time != 1_000_000 {
		t.Errorf("%+v", rec)
	}
	if !rec.HasParent || rec.Parent != testID(8) || !rec.HasRoot || rec.Root != testID(9) || !rec.HasCorrelation || rec.Correlation != testID(3) {
		t.Errorf("ids: %+v", rec)
	}
	for name, got := range map[string][2]string{
		"operation": {string(rec.Operation), "plan"}, "agent": {string(rec.Agent), "a"}, "addressee": {string(rec.Addressee), "b"},
		"tool": {string(rec.Tool), "hammer"}, "cause": {string(rec.Cause), "locator"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is %q, want %q", name, got[0], got[1])
		}
	}
	if one(RoleLane, event().Marshal()).HasCorrelation {
		t.Error("an event without correlation has one")
	}
	// An invalid record keeps what it claims of itself, and nothing else.
	e.MustUnderstand = 1
	rec = one(RoleLane, e.Marshal())
	if string(rec.Operation) != "plan" || string(rec.Agent) != "a" || string(rec.Addressee) != "b" || string(rec.Tool) != "hammer" || rec.Kind != KindCommand {
		t.Errorf("invalid: %+v", rec)
	}
	if rec.HasParent || rec.HasRoot || rec.HasCorrelation || rec.Cause != nil || rec.Session != testID(2) {
		t.Errorf("invalid, and says too much: %+v", rec)
	}
	// A control command off the control topic changes nothing.
	rec = one(RoleLane, op(command(), OpForceCancel).SetParent(testID(8)).Marshal())
	if rec.HasParent {
		t.Error("an unauthorized control command names a parent")
	}
}

func TestBrokerTime(t *testing.T) {
	for ms, want := range map[int64]uint64{
		0: 0, -1: 0, math.MinInt64: 0, 1: 1000, 1_700_000_000_123: 1_700_000_000_123_000,
		math.MaxInt64: math.MaxUint64, math.MaxUint64 / 1000: math.MaxUint64 / 1000 * 1000, math.MaxUint64/1000 + 1: math.MaxUint64,
	} {
		d := NewAGDXDecoder()
		if got := d.Decode(topicOf(RoleLane), []Raw{{Timestamp: ms}})[0].Time; got != want {
			t.Errorf("%d ms is %d µs, want %d", ms, got, want)
		}
	}
}
