package worker

import (
	"errors"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/wire"
)

var part1 = wire.TopicPartition{Topic: part0.Topic, Partition: 1}

// lostGaps waits until the stored frontier of part1 has gaps and gives them.
func (f *world) lostGaps(n int) []fold.Gap {
	f.t.Helper()
	var gaps []fold.Gap
	f.until("the loss is in the store", func() bool {
		gaps = f.metas[source(part1).Key()].Frontier.Gaps
		return len(gaps) == n
	})
	return gaps
}

// paused waits until part1 is paused with a reason.
func pausedFor(w *Worker, tries int) SourceStatus {
	for {
		for _, s := range w.Sources() {
			if s.TopicPartition == part1 && s.State == Paused && s.Err != "" && s.Tries >= tries {
				return s
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// A source that ends before what was folded of it says so with a gap and waits:
// its offsets mean other records now. When the log has grown past them the fold
// goes on behind, and the others never stood still.
func TestLostOffsetsAreAGap(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 10)
	f.add(part1, 3)
	f.metas[source(part1).Key()] = Meta{Frontier: fold.Frontier{Next: 8, Seq: 4}}
	w, _ := f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part0, part1})
	f.until("the other is committed", func() bool { return len(f.committed) == 10 })
	if g := f.lostGaps(1)[0]; g != (fold.Gap{From: 3, To: 7, Reason: fold.GapSourceLost}) {
		t.Fatalf("gap %+v", g)
	}
	pausedFor(w, 2)
	if err := w.Ready(); err == nil {
		t.Fatal("ready")
	}
	f.lock(func() {
		if m := f.metas[source(part1).Key()]; m.Frontier.Next != 8 || m.Frontier.Seq != 4 {
			t.Errorf("the loss moved the frontier: %+v", m.Frontier)
		}
	})
	f.lock(func() { f.cut = 3 }) // the leader still knows when the log has grown
	f.add(part1, 9)              // to 12
	f.until("the fold goes on behind the loss", func() bool { return len(f.committed) == 14 })
	f.lock(func() {
		for i, want := range []uint64{8, 9, 10, 11} {
			if got := f.committed[10+i]; got != want {
				t.Errorf("offset %d is folded, want %d", got, want)
			}
		}
	})
	f.lostGaps(1)
}

// The log has grown past the frontier before anybody looked: the leader's epochs
// tell, and the records that took the lost offsets over are not folded.
func TestLossIsSeenBehindNewRecords(t *testing.T) {
	f := newWorld(t)
	f.add(part1, 20)
	f.cut = 6
	f.metas[source(part1).Key()] = Meta{Frontier: fold.Frontier{Next: 10}}
	w, _ := f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part1})
	f.until("the rest is committed", func() bool { return len(f.committed) == 10 })
	if g := f.lostGaps(1)[0]; g != (fold.Gap{From: 6, To: 9, Reason: fold.GapSourceLost}) {
		t.Fatalf("gap %+v", g)
	}
}

// Only the log's end tells of a loss: a frozen broker that was deposed shows an
// old end too, so it is looked at again before it is believed.
func TestAnUnsureLossIsLookedAtAgain(t *testing.T) {
	f := newWorld(t)
	f.unsure = true
	f.add(part1, 5)
	f.metas[source(part1).Key()] = Meta{Frontier: fold.Frontier{Next: 8}}
	w, _ := f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part1})
	pausedFor(w, 2)
	f.add(part1, 5) // the broker knows better now
	f.until("the rest is committed", func() bool { return len(f.committed) == 2 })
	f.lostGaps(0)

	f = newWorld(t)
	f.unsure = true
	f.add(part1, 5)
	f.metas[source(part1).Key()] = Meta{Frontier: fold.Frontier{Next: 8}}
	w, _ = f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part1})
	f.lostGaps(1)
}

// A gap is counted once, with the commit that carries it, however often that is
// tried.
func TestAGapIsCountedOnce(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 10)
	f.add(part1, 3)
	f.metas[source(part1).Key()] = Meta{Frontier: fold.Frontier{Next: 8, Seq: 4}}
	tries := 0
	f.commit = func(x *Txn) error {
		for i := range x.Steps {
			if x.Steps[i].Batch.Source.Key() == source(part1).Key() && tries < 3 {
				tries++
				return &Failure{Err: errors.New("refused"), Where: "produce"}
			}
		}
		return nil
	}
	w, _ := f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part0, part1})
	f.lostGaps(1)
	f.until("the gap is counted", func() bool { return w.Stats().Gaps > 0 })
	if n := w.Stats().Gaps; n != 1 || tries != 3 {
		t.Errorf("%d gaps counted after %d commits that failed", n, tries)
	}
}
