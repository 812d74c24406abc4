package agdxgen_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"sessionfold/testenv/agdxgen"
	"sessionfold/wire"
)

func collect(o agdxgen.Options) []agdxgen.Event {
	return slices.Collect(agdxgen.New(o).All())
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	o := agdxgen.Options{Seed: 7, Sessions: 120, Rate: 500, Epoch: time.UnixMilli(1_800_000_000_000)}
	a, b := collect(o), collect(o)
	if len(a) != len(b) {
		t.Fatalf("%d and %d records", len(a), len(b))
	}
	for i := range a {
		if a[i].At != b[i].At || a[i].Topic != b[i].Topic || !bytes.Equal(a[i].Key, b[i].Key) || !bytes.Equal(a[i].Value, b[i].Value) {
			t.Fatalf("record %d differs", i)
		}
	}
	o.Seed = 8
	if c := collect(o); len(c) == len(a) && bytes.Equal(c[0].Value, a[0].Value) {
		t.Error("another seed gave the same log")
	}
}

// Every promise of the package comment, counted.
func TestALogHasEverything(t *testing.T) {
	const sessions = 400
	events := collect(agdxgen.Options{Seed: 1, Sessions: sessions, Rate: 1000})
	roles, displays := map[wire.Role]int{}, map[wire.Display]int{}
	seen, children := map[wire.ID]bool{}, 0
	dec := wire.NewAGDXDecoder()
	var last time.Duration
	for i, e := range events {
		if e.At < last {
			t.Fatalf("record %d at %v lies before %v", i, e.At, last)
		}
		last = e.At
		roles[e.Role]++
		src := wire.NewSource("demo", e.Topic, 1, 0, e.Role, wire.DialectAGDX)
		r := dec.Decode(src, []wire.Raw{{Key: e.Key, Value: e.Value, Headers: e.Headers}})[0]
		if r.Facts&wire.FactHeartbeat != 0 {
			continue
		}
		displays[r.Display]++
		if r.HasSession && !seen[r.Session] {
			seen[r.Session] = true
			if r.HasParent {
				children++
			}
		}
	}
	for _, tr := range wire.TopicsOf("demo") {
		if roles[tr.Role] == 0 {
			t.Errorf("no record on %s", tr.Topic)
		}
	}
	for _, d := range []wire.Display{
		wire.DisplayUndecodable, wire.DisplayInvalid, wire.DisplaySessionSubmitted, wire.DisplaySessionStarted, wire.DisplaySessionResumed,
		wire.DisplaySessionPaused, wire.DisplaySessionCompleted, wire.DisplaySessionFailed, wire.DisplaySessionCanceled, wire.DisplaySessionControl,
		wire.DisplayUserMessage, wire.DisplayAgentMessage, wire.DisplayAgentHandoff, wire.DisplayModelRequest, wire.DisplayModelResponse,
		wire.DisplayModelStream, wire.DisplayToolCall, wire.DisplayToolResult, wire.DisplayStateUpdated, wire.DisplayContextRetrieved,
		wire.DisplayPolicyDecision, wire.DisplayMemoryCreated, wire.DisplayDeadLetter, wire.DisplayWorkflowStep, wire.DisplayError,
		wire.DisplaySessionParked, wire.DisplaySessionUnparked, wire.DisplayKVSet, wire.DisplayGraphUpsert,
	} {
		if displays[d] == 0 {
			t.Errorf("no record displays %s", d)
		}
	}
	if len(seen) != sessions {
		t.Errorf("%d sessions, want %d", len(seen), sessions)
	}
	if children < sessions/20 {
		t.Errorf("only %d children in %d sessions", children, sessions)
	}
	bad := displays[wire.DisplayUndecodable] + displays[wire.DisplayInvalid]
	if total := len(events); bad == 0 || bad > total/100 {
		t.Errorf("%d bad records in %d", bad, total)
	}
	t.Logf("%d records in %d sessions, %d children", len(events), len(seen), children)
}
