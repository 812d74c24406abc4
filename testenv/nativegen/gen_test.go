package nativegen_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/nativegen"
	"sessionfold/wire"
)

var dialects = []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns}

func collect(o nativegen.Options) []agdxgen.Event { return slices.Collect(nativegen.New(o).All()) }

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	for _, d := range dialects {
		o := nativegen.Options{Dialect: d, Seed: 7, Sessions: 60, Rate: 500, Epoch: time.UnixMilli(1_800_000_000_000)}
		a, b := collect(o), collect(o)
		if len(a) != len(b) {
			t.Fatalf("%s: %d and %d records", d, len(a), len(b))
		}
		for i := range a {
			if a[i].At != b[i].At || !bytes.Equal(a[i].Key, b[i].Key) || !bytes.Equal(a[i].Value, b[i].Value) {
				t.Fatalf("%s: record %d differs", d, i)
			}
		}
		o.Seed = 8
		if c := collect(o); len(c) == len(a) && bytes.Equal(c[0].Value, a[0].Value) {
			t.Errorf("%s: another seed gave the same log", d)
		}
	}
}

// folded gives the views of all sessions of a log, folded as one source.
func folded(t *testing.T, d wire.Dialect, events []agdxgen.Event) []wire.SessionInfo {
	t.Helper()
	src := wire.NewSource(d.String(), "t", 1, 0, wire.RoleLane, d)
	raws := make([]wire.Raw, len(events))
	for i, e := range events {
		raws[i] = wire.Raw{Offset: uint64(i), Timestamp: 1_000 + int64(i), Key: e.Key, Value: e.Value, Headers: e.Headers}
	}
	step := fold.Apply(&fold.Config{}, src, fold.Frontier{}, nil, wire.NewDecoder(d, nil).Decode(src, raws))
	var out []wire.SessionInfo
	for i := range step.Sessions {
		s := &step.Sessions[i]
		m := fold.Merge(s.ID, []fold.Keyed{{Source: src, Partial: s.New}})
		out = append(out, fold.View(m, fold.ViewInput{}))
	}
	return out
}

// Every promise of the package comment, counted.
func TestALogHasEverything(t *testing.T) {
	const sessions = 400
	want := map[wire.Dialect][]wire.Display{
		wire.DialectDeepStrike: {
			wire.DisplaySessionStarted, wire.DisplaySessionCompleted, wire.DisplaySessionFailed, wire.DisplaySessionCanceled, wire.DisplaySessionPaused,
			wire.DisplaySessionResumed, wire.DisplaySessionControl, wire.DisplayModelRequest, wire.DisplayModelResponse, wire.DisplayToolCall, wire.DisplayToolResult,
			wire.DisplayPolicyDecision, wire.DisplayContextCompacted, wire.DisplayContextRetrieved, wire.DisplayMemoryCreated, wire.DisplayError,
			wire.DisplayAgentHandoff, wire.DisplayWorkflowStep, wire.DisplayTaskStatus, wire.DisplayStateUpdated, wire.DisplayAgentMessage,
		},
		wire.DialectEverruns: {
			wire.DisplaySessionStarted, wire.DisplaySessionResumed, wire.DisplayUserMessage, wire.DisplayAgentMessage, wire.DisplayModelResponse,
			wire.DisplayToolCall, wire.DisplayToolResult, wire.DisplayTaskStatus, wire.DisplayError, wire.DisplayPolicyDecision,
			wire.DisplayAgentHandoff, wire.DisplayContextCompacted,
		},
	}
	for _, d := range dialects {
		o := nativegen.Options{Dialect: d, Seed: 1, Sessions: sessions, Rate: 1000, Epoch: time.UnixMilli(1_800_000_000_000)}
		events := collect(o)
		displays, bad, children := map[wire.Display]int{}, 0, 0
		dec, last := wire.NewDecoder(d, nil), time.Duration(0)
		src := wire.NewSource(d.String(), "t", 1, 0, wire.RoleLane, d)
		for i, e := range events {
			if e.At < last {
				t.Fatalf("%s: record %d at %v lies before %v", d, i, e.At, last)
			}
			last = e.At
			r := dec.Decode(src, []wire.Raw{{Key: e.Key, Value: e.Value, Headers: e.Headers}})[0]
			displays[r.Display]++
			if r.Rare.Native.Child != nil {
				children++
			}
			switch {
			case r.Display == wire.DisplayUndecodable || r.Display == wire.DisplayInvalid:
				bad++
			case e.Key != nil && r.Session != e.Session:
				t.Fatalf("%s: record %d is of session %s, its key %q of %s", d, i, r.Session, e.Key, e.Session)
			}
		}
		for _, w := range want[d] {
			if displays[w] == 0 {
				t.Errorf("%s: no record displays %s", d, w)
			}
		}
		if bad == 0 || bad > len(events)/100 {
			t.Errorf("%s: %d bad records in %d", d, bad, len(events))
		}
		if children < sessions/20 {
			t.Errorf("%s: %d records tell of children", d, children)
		}
		seen := map[string]int{}
		for _, v := range folded(t, d, events) {
			seen[v.Status]++
			for name, has := range map[string]bool{
				"tokens": v.TokensIn > 0, "cached tokens": v.TokensCacheRead > 0, "a redelivery": v.Redelivered > 0, "an issue": v.Issues > 0,
				"something waited for": v.Waiting != nil, "a moment to wake at": v.WakeAt != nil, "several runs": v.Runs > 1, "several turns": v.Turns > 1, "a fork": v.ForkedFrom != nil,
				"a cost": v.CostMicros > 0, "a parent": v.Parent != nil, "a conflict": v.Flags.SeqConflict, "over budget": v.OverBudget, "a reason": v.Reason != "",
			} {
				if has {
					seen[name]++
				}
			}
		}
		names := []string{"active", "paused", "completed", "failed", "canceled", "tokens", "cached tokens", "a redelivery", "an issue", "something waited for", "a moment to wake at", "several turns", "over budget", "a reason"}
		if d == wire.DialectDeepStrike {
			names = append(names, "several runs", "a conflict")
		} else {
			names = append(names, "a fork", "a cost", "a parent")
		}
		for _, name := range names {
			if seen[name] == 0 {
				t.Errorf("%s: no session has: %s", d, name)
			}
		}
		t.Logf("%s: %d records, %d bad, %v", d, len(events), bad, seen)
	}
}

// A clean log has nothing that a fold must bear with.
func TestACleanLog(t *testing.T) {
	for _, d := range dialects {
		events := collect(nativegen.Options{Dialect: d, Seed: 2, Sessions: 120, Clean: true})
		src := wire.NewSource(d.String(), "t", 1, 0, wire.RoleLane, d)
		dec := wire.NewDecoder(d, nil)
		for i, e := range events {
			r := dec.Decode(src, []wire.Raw{{Key: e.Key, Value: e.Value}})[0]
			if r.Display == wire.DisplayUndecodable || r.Display == wire.DisplayInvalid {
				t.Fatalf("%s: record %d: %s\n%s", d, i, r.Reason, e.Value)
			}
		}
		for _, v := range folded(t, d, events) {
			if v.Redelivered > 0 || v.Flags.SeqConflict {
				t.Errorf("%s: %s: %d redelivered, %+v", d, v.NativeID, v.Redelivered, v.Flags)
			}
		}
	}
}
