package main

import (
	"errors"
	"maps"
	"testing"

	"sessionfold/wire"
)

var lane = wire.ChangeSource{Topic: "s.agent.sessions", Generation: 7}

func rowOf(src wire.ChangeSource, seq, to uint64, ids ...byte) *wire.ChangeRow {
	r := &wire.ChangeRow{V: 1, Stream: "s", Source: src, Seq: seq, From: to, To: to}
	for _, id := range ids {
		r.Sessions = append(r.Sessions, wire.ID{15: id})
		r.Positions = append(r.Positions, wire.ChangePosition{Topic: src.Topic, Generation: src.Generation, Offset: to})
	}
	return r
}

// TestLedger: repeats change nothing, losses are found, and a source that was
// created anew counts from the beginning.
func TestLedger(t *testing.T) {
	anew := lane
	anew.Generation++
	l := newLedger()
	for _, r := range []*wire.ChangeRow{
		rowOf(lane, 5, 40, 1, 2), rowOf(lane, 6, 41, 2), rowOf(lane, 5, 40, 1, 2), rowOf(lane, 7, 42), rowOf(anew, 1, 0, 1),
	} {
		if err := l.add(r); err != nil {
			t.Fatal(err)
		}
	}
	c := l.take()
	if len(c) != 2 || !maps.Equal(c[wire.ID{15: 1}], map[wire.ChangeSource]uint64{lane: 40, anew: 0}) || c[wire.ID{15: 2}][lane] != 41 {
		t.Errorf("changed: %v", c)
	}
	if len(l.take()) != 0 {
		t.Error("what was taken comes again")
	}
	truncated, silent := rowOf(lane, 8, 43, 1), rowOf(lane, 8, 43, 1)
	truncated.Truncated, silent.Positions = true, nil
	for name, r := range map[string]*wire.ChangeRow{"a hole": rowOf(lane, 9, 44, 1), "not all sessions": truncated, "no positions": silent} {
		if err := l.add(r); !errors.Is(err, errResync) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReached: a view counts only when it includes every position of the rows.
func TestReached(t *testing.T) {
	at := func(src wire.ChangeSource, folded uint64) wire.SourceFrontier {
		return wire.SourceFrontier{Topic: src.Topic, TopicGeneration: src.Generation, PartitionID: src.Partition, Folded: &folded}
	}
	other := lane
	other.Partition = 1
	want := map[wire.ChangeSource]uint64{lane: 4, other: 9}
	for name, c := range map[string]struct {
		frontier []wire.SourceFrontier
		want     bool
	}{
		"all":            {[]wire.SourceFrontier{at(lane, 4), at(other, 10)}, true},
		"one is behind":  {[]wire.SourceFrontier{at(lane, 3), at(other, 10)}, false},
		"one is missing": {[]wire.SourceFrontier{at(lane, 4)}, false},
		"nothing folded": {[]wire.SourceFrontier{at(lane, 4), {Topic: other.Topic, TopicGeneration: 7, PartitionID: 1}}, false},
	} {
		if got := reached(&wire.SessionInfo{Frontier: c.frontier}, want); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
