package worker

import (
	"testing"
	"time"

	"sessionfold/wire"
)

// The cadence spares the brokers small transactions. What a large one leaves
// over at the end of a catch-up is not worth a wait for it.
func TestTheRestOfACatchUpDoesNotWait(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 130)
	w, _ := f.start(Config{BatchInterval: time.Hour, BatchRecords: 100, StopTimeout: 5 * time.Second})
	w.Assigned("m1", []wire.TopicPartition{part0})
	f.until("all are committed", func() bool { return len(f.committed) == 130 })
	f.ascending(130)
}

// Each start of a source interrupts the fetches that are going on: those that
// are restored start together, and one that takes long is not waited for.
func TestRestoredSourcesStartTogether(t *testing.T) {
	f := newWorld(t)
	var seeks []map[wire.TopicPartition]uint64
	env := f.env()
	env.Seek = func(at map[wire.TopicPartition]uint64) { seeks = append(seeks, at) }
	w := New(quick, env)
	var tps []wire.TopicPartition
	for p := range int32(3) {
		tps = append(tps, wire.TopicPartition{Topic: part0.Topic, Partition: p})
	}
	w.Assigned("m1", tps)
	now := time.Now()
	for i, tp := range tps {
		o := w.owned[tp]
		o.next = uint64(10 + i)
		w.starting = append(w.starting, o)
	}
	w.startBy = now.Add(gather)
	w.restoring[part0] = true // another life of it
	if w.fetchRestored(now); len(seeks) != 0 {
		t.Fatalf("it did not wait for the one that is being restored: %v", seeks)
	}
	w.Lost(tps[:1])
	w.fetchRestored(now.Add(gather))
	if len(seeks) != 1 || len(seeks[0]) != 2 || seeks[0][tps[1]] != 11 || seeks[0][tps[2]] != 12 {
		t.Fatalf("positions were set by %v, want one call for the two that are owned", seeks)
	}
	if w.fetchRestored(now.Add(gather)); len(seeks) != 1 {
		t.Fatal("they were started twice")
	}
}
