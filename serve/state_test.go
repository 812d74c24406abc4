package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"sessionfold/fold"
	"sessionfold/wire"
)

func statePath(id wire.ID) string { return "/agdx/sessions/agents/" + id.String() + "/state" }

// TestState: document, revision, outcomes and digests as the records made them.
func TestState(t *testing.T) {
	w := newWorld(t)
	s := w.session("flight", "planner")
	s.Patch(0, "op-1", `[{"op":"add","path":"/city","value":"Łódź"},{"op":"add","path":"/legs","value":[1,2.50]}]`)
	s.StateDelta(1, "op-2", "/note", "content") // in CBOR
	s.Patch(1, "op-3", `[]`)
	s.Patch(2, "op-4", `[{"op":"test","path":"/city","value":"Rome"}]`)
	s.Patch(0, "op-1", `[]`)
	s.Snapshot(2, `{"z":1,"a":{"é":null}}`)
	w.commit()
	got := get[wire.SessionStateView](w, statePath(s.ID))
	if got.Revision != 2 || !got.Complete || string(got.Document) != `{"a":{"é":null},"z":1}` {
		t.Errorf("revision %d, complete %v: %s", got.Revision, got.Complete, got.Document)
	}
	var lines []string
	for _, h := range got.History {
		line := fmt.Sprintf("%s@%d", h.Outcome, h.Revision)
		if h.OpID != nil {
			line += " " + *h.OpID
		}
		if h.Reason != nil {
			line += ": " + *h.Reason
		}
		lines = append(lines, line)
	}
	want := "applied@1 op-1|applied@2 op-2|stale@2 op-3|rejected@2 op-4: operation 0: test failed|duplicate@2 op-1|applied@2"
	if strings.Join(lines, "|") != want {
		t.Errorf("history\n%s, want\n%s", strings.Join(lines, "|"), want)
	}
	for i, h := range got.History {
		if i > 0 && *h.OldDigest != *got.History[i-1].NewDigest {
			t.Errorf("outcome %d: the digest before is not the one after the last", i)
		}
		if h.BrokerTS == 0 || h.AtText != fmt.Sprintf("agents.agent.sessions[%d]@%d", uint32(s.ID[15])%2, i+1) {
			t.Errorf("outcome %d at %q, %d", i, h.AtText, h.BrokerTS)
		}
	}
	first, last := got.History[0], got.History[5]
	if *first.OldDigest != wire.Digest(sha256.Sum256([]byte(`{}`))) || *last.NewDigest != wire.Digest(sha256.Sum256(got.Document)) {
		t.Error("digests are not those of the canonical documents")
	}
	if last.NewDigestHex != fmt.Sprintf("%x", sha256.Sum256(got.Document)) {
		t.Errorf("digest text %s", last.NewDigestHex)
	}
	if got.Frontier == nil || got.Frontier.Folded == nil || *got.Frontier.Folded != 6 {
		t.Errorf("frontier %+v", got.Frontier)
	}
	if two := get[wire.SessionStateView](w, statePath(s.ID)+"?history_limit=2"); len(two.History) != 2 || *two.History[0].OpID != "op-1" || two.History[1].OpID != nil {
		t.Errorf("the last two: %+v", two.History)
	}
}

// TestStateOfNone: a session without state has the empty document; one that is
// not there is not found; one of which only stale records were seen is not
// complete.
func TestStateOfNone(t *testing.T) {
	w := newWorld(t)
	s, late := w.session("quiet", "planner"), w.session("late", "planner")
	late.Patch(41, "op", `[]`)
	w.commit()
	if got := get[wire.SessionStateView](w, statePath(s.ID)); got.Revision != 0 || string(got.Document) != `{}` || !got.Complete || len(got.History) != 0 {
		t.Errorf("%+v", got)
	}
	if got := get[wire.SessionStateView](w, statePath(late.ID)); got.Complete || string(got.Document) != `{}` || len(got.History) != 1 {
		t.Errorf("%+v", got)
	}
	w.fails(404, "not_found", statePath(wire.ID{1}))
}

// TestStateOverCBOR: the command gives the same document in CBOR.
func TestStateOverCBOR(t *testing.T) {
	w := newWorld(t)
	s := w.session("flight", "planner")
	s.Patch(0, "op-1", `[{"op":"add","path":"/n","value":[12.0,1.5,-3,"x",null,true]}]`)
	w.commit()
	body, err := wire.EncodeRead(&wire.SessionState{Stream: stream, ID: s.ID, HistoryLimit: 5})
	if err != nil {
		t.Fatal(err)
	}
	r := w.request("POST", fmt.Sprintf("/agdx/op/%d", wire.CodeSessionState), bytes.NewReader(body), "Content-Type", "application/cbor")
	if r.Code != 200 {
		t.Fatalf("status %d: %x", r.Code, r.Body.Bytes())
	}
	var reply struct {
		Ok map[string]struct {
			Revision uint64 `cbor:"revision"`
			Document any    `cbor:"document"`
			History  []any  `cbor:"history"`
		}
	}
	if err := cbor.Unmarshal(r.Body.Bytes(), &reply); err != nil {
		t.Fatal(err)
	}
	v, ok := reply.Ok["State"]
	doc := fmt.Sprint(v.Document)
	if !ok || v.Revision != 1 || len(v.History) != 1 || doc != "map[n:[12 1.5 -3 x <nil> true]]" {
		t.Errorf("%+v", reply)
	}
}

// TestStateRows: rows of state records say what became of them, and nothing of
// what was in them.
func TestStateRows(t *testing.T) {
	w := newWorld(t)
	s := w.session("flight", "planner")
	s.Patch(0, "op-1", `[{"op":"add","path":"/secretkey","value":"secretvalue"}]`)
	s.Patch(0, "op-2", `[]`)
	s.Patch(1, "op-3", `[{"op":"remove","path":"/secretpath"}]`)
	s.Patch(1, "op-4", `[{"op":"remove","path":"/secretkey"}`) // no JSON
	w.commit()
	raw := w.request("GET", "/agdx/sessions/agents/"+s.ID.String()+"/events", nil).Body.Bytes()
	var page wire.SessionEventsPage
	if err := json.Unmarshal(raw, &page); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range page.Items[1:] {
		lines = append(lines, fmt.Sprint(e.Display, " ", e.Summary["outcome"], " ", e.Summary["revision"], " ", e.Summary["operations"], " ", e.Summary["reason"]))
		if e.Summary["size"] == nil {
			t.Errorf("no size: %v", e.Summary)
		}
	}
	want := "state.updated applied 1 1 <nil>|state.updated stale 1 0 <nil>|state.updated rejected 1 1 operation 0: path leads nowhere|state.updated rejected 1 <nil> body cannot be read"
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("rows\n%s, want\n%s", got, want)
	}
	history := w.request("GET", statePath(s.ID), nil).Body.Bytes()
	for name, b := range map[string][]byte{"events": raw, "history": bytes.ReplaceAll(history, []byte(`"document":{"secretkey":"secretvalue"}`), nil)} {
		if bytes.Contains(b, []byte("secret")) {
			t.Errorf("content in %s: %s", name, b)
		}
	}
}

// TestStateOfTwoLanes: under lane_conflict one document shows, that of the lane
// whose first state record came first.
func TestStateOfTwoLanes(t *testing.T) {
	w := newWorld(t)
	s := w.session("torn", "planner")
	s.Patch(0, "first", `[{"op":"add","path":"/lane","value":"first"}]`)
	w.commit()
	other := wire.NewSource(stream, stream+".agent.sessions", generation, 1-uint32(s.ID[15])%2, wire.RoleLane, wire.DialectAGDX)
	s.Patch(0, "second", `[{"op":"add","path":"/lane","value":"second"}]`)
	r := w.log.Records[0]
	w.log.Records = nil
	w.clock++
	tp := wire.TopicPartition{Topic: other.Topic, Partition: int32(other.Partition)}
	w.parts[tp] = w.newPart(other, &fold.Config{})
	w.fold(tp, wire.Raw{Offset: 0, Timestamp: w.clock, Key: r.Key, Value: r.Value, Headers: r.Headers})
	got := get[wire.SessionStateView](w, statePath(s.ID))
	if string(got.Document) != `{"lane":"first"}` || got.Frontier.PartitionID == other.Partition {
		t.Errorf("%s of partition %d", got.Document, got.Frontier.PartitionID)
	}
	if info := get[wire.SessionInfo](w, strings.TrimSuffix(statePath(s.ID), "/state")); !info.Flags.LaneConflict {
		t.Error("lane_conflict is not set")
	}
}
