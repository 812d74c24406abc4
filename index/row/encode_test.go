package row

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessionfold/fold"
	"sessionfold/wire"
)

var lane = wire.NewSource("agents", "agents.agent.sessions", 7, 0, wire.RoleLane, wire.DialectAGDX)

// records makes sessions of ten records one after the other: a start, notes, an
// end.
func records(from uint64, n int) []wire.Record {
	out := make([]wire.Record, n)
	for i := range out {
		out[i] = *note(from + uint64(i))
		r := &out[i]
		r.Session = wire.ID{0, 0, byte(r.Offset / 10 >> 16), byte(r.Offset / 10 >> 8), byte(r.Offset / 10)}
		switch r.Offset % 10 {
		case 0:
			r.Display = wire.DisplaySessionStarted
			r.Lifecycle = &wire.Lifecycle{Status: wire.StatusActive, Start: &wire.Start{Label: []byte("Book a flight to Oslo"), HasLabel: true, Agent: []byte("planner-7")}}
			r.Facts |= wire.FactLane
		case 9:
			r.Display = wire.DisplaySessionCompleted
			r.Lifecycle = &wire.Lifecycle{Status: wire.StatusCompleted}
			r.Facts |= wire.FactLane
		}
	}
	return out
}

func TestEncodeStep(t *testing.T) {
	step := fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, records(0, 25))
	b := Encode(step)
	if b.Source != lane || b.From != 0 || b.To != 24 || b.Frontier.Next != 25 || len(b.Changes) != 1 {
		t.Fatalf("batch %+v", b)
	}
	count := map[byte]int{}
	var last []byte
	for _, op := range b.Ops {
		tag := op.Key[0]
		count[tag]++
		if op.Durable != (tag == TagPartial || tag == TagSource) {
			t.Errorf("%s: durable %v", Describe(op.Key), op.Durable)
		}
		if tag != TagList && last != nil && last[0] == tag && bytes.Compare(last, op.Key) >= 0 {
			t.Errorf("%s does not ascend", Describe(op.Key))
		}
		last = op.Key
	}
	want := map[byte]int{TagPartial: 3, TagPack: 3, TagList: 3, TagBatch: 1, TagSource: 1}
	if d := cmp.Diff(want, count); d != "" {
		t.Errorf("ops by tag (-want +got):\n%s", d)
	}
	// A later batch of the third session adds no list entry.
	old := map[wire.ID]*fold.Partial{step.Sessions[2].ID: step.Sessions[2].New}
	for _, op := range Encode(fold.Apply(&fold.Config{}, lane, step.Frontier, old, records(25, 5))).Ops {
		if op.Key[0] == TagList {
			t.Errorf("a second %s", Describe(op.Key))
		}
	}
}

// A start behind the first record makes a second entry, and only one.
func TestEncodeEntries(t *testing.T) {
	recs := records(0, 3)
	recs[0].Lifecycle, recs[1].Lifecycle = nil, recs[0].Lifecycle
	step := fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, recs)
	p := step.Sessions[0].New
	k := PartialKey{Stream: lane.StreamID, Session: step.Sessions[0].ID, Source: lane.Key()}
	entry := func(kind EntryKind, time uint64) ListKey {
		return ListKey{Stream: k.Stream, Session: k.Session, Source: k.Source, Kind: kind, Time: time}
	}
	want := []ListKey{entry(EntryStart, recs[1].Time), entry(EntryFirst, recs[0].Time)}
	if d := cmp.Diff(want, NewEntries(nil, k, nil, p)); d != "" {
		t.Errorf("entries of a new partial (-want +got):\n%s", d)
	}
	before := *p
	before.Start = nil
	if d := cmp.Diff(want[:1], NewEntries(nil, k, &before, p)); d != "" {
		t.Errorf("entries when the start comes (-want +got):\n%s", d)
	}
	if got := NewEntries(nil, k, p, p); len(got) > 0 {
		t.Errorf("entries of an unchanged partial: %v", got)
	}
}

func TestEncodeIsDeterministic(t *testing.T) {
	recs := records(0, 500)
	want := Encode(fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, recs)).Ops
	for range 20 {
		if d := cmp.Diff(want, Encode(fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, recs)).Ops); d != "" {
			t.Fatalf("the same records, other ops (-first +now):\n%s", d)
		}
	}
}

// A step that carries only a gap is only a source meta.
func TestEncodeGap(t *testing.T) {
	step := fold.Apply(&fold.Config{}, lane, fold.Frontier{}.Expire(50, fold.GapExpiredBeforeFold), nil, nil)
	b := Encode(step)
	if len(b.Ops) != 1 || b.Ops[0].Key[0] != TagSource {
		t.Fatalf("ops %v", b.Ops)
	}
	m, err := DecodeSourceMeta(b.Ops[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(MetaOf(lane, step.Frontier), m); d != "" {
		t.Errorf("meta (-want +got):\n%s", d)
	}
	if src, err := m.SourceAt(IDOf(lane)); err != nil || *src != *lane {
		t.Errorf("source %v, %v", src, err)
	}
	m.Topic = "agents.agent.streams"
	if _, err := m.SourceAt(IDOf(lane)); err == nil {
		t.Error("a topic's name that is not the key's was taken")
	}
}

// BenchmarkEncode reports the time of one record, ten of each session.
func BenchmarkEncode(b *testing.B) {
	const n = 50_000
	step := fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, records(0, n))
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		batch := Encode(step)
		size = 0
		for _, op := range batch.Ops {
			size += len(op.Key) + len(op.Value)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
	b.ReportMetric(float64(size)/n, "bytes/record")
}

func BenchmarkDecodePartial(b *testing.B) {
	step := fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, records(0, 10))
	value := AppendPartialValue(nil, step.Sessions[0].New)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodePartial(value); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(value)), "bytes")
}

func BenchmarkUnpack(b *testing.B) {
	step := fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, records(0, 10))
	var p packer
	value, n := p.pack(nil, step.Sessions[0].Rows)
	b.ReportAllocs()
	for b.Loop() {
		pack := OpenPack(0, value)
		rows := 0
		for e := (Event{}); pack.Next(&e); rows++ {
		}
		if rows != n {
			b.Fatal(pack.Err())
		}
	}
}
