package app

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"sessionfold/testenv"
	"sessionfold/wire"
	"sessionfold/worker"
)

// shared waits until the workers own all partitions, each at least min of them.
func (r *rig) shared(min int, ws ...*running) {
	r.t.Helper()
	testenv.Eventually(r.t, waitLong, func() error {
		at, err := r.owners(ws...)
		if err != nil {
			return err
		}
		n := map[*running]int{}
		for _, o := range at {
			n[o.w]++
		}
		for i, w := range ws {
			if n[w] < min {
				return fmt.Errorf("worker %d owns %d partitions", i, n[w])
			}
		}
		return nil
	})
}

// What is seen while a partition changes hands, or is restored, counts for
// nothing: it is looked at again.
func TestSettledLooksAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(10)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	looks := 0
	r.settled([]*running{w}, func(at map[int32]owner) error {
		if looks++; looks > 1 {
			return nil
		}
		tps := []wire.TopicPartition{at[0].s.TopicPartition}
		w.worker.Lost(tps)
		w.worker.Assigned(at[0].w.member(), tps)
		testenv.Eventually(t, waitLong, func() error { _, err := r.owners(w); return err }) // it is over before anybody looks again
		return errors.New("seen in the middle of a rebalance")
	})
	if looks < 2 {
		t.Error("what was seen in the middle of a rebalance counted")
	}
	r.sameTogether(w)
}

func (w *running) member() string {
	id, _ := w.consumer.Member()
	return id
}

func TestTwoWorkersShareAndTakeOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	r.sessions(40)
	a := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(a)
	b := r.start(r.config(t.TempDir(), "b"))
	r.shared(1, a, b)
	r.sessions(40)
	r.caughtUp(a, b)
	r.sameTogether(a, b)
	r.changes()
	// One stops and leaves; the other goes on with all of it.
	a.stop()
	r.sessions(40)
	r.caughtUp(b)
	r.sameTogether(b)
	r.changes()
	// It comes back to a directory that is behind.
	a = r.start(r.config(a.cfg.DataDir, "a"))
	r.shared(1, a, b)
	r.sessions(40)
	r.caughtUp(a, b)
	r.sameTogether(a, b)
	r.changes()
}

// A worker that dies between the commit in Kafka and the write to its store
// finds the changelog ahead of the store; a later one reads it from there.
func TestCrashBetweenKafkaAndStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(20)
	dir := t.TempDir()
	w := r.start(r.config(dir, "a"))
	r.caughtUp(w)
	w.stop()
	before := w.Stats().Records
	r.sessions(20)
	reached := make(chan struct{})
	w = r.start(r.config(dir, "a"), func(a *App) {
		a.world.Apply = func([]worker.Applied) error {
			select {
			case <-reached:
			default:
				close(reached)
			}
			return errors.New("the process dies here")
		}
		// Nothing is restored any more either: this store stays behind.
		restore := a.world.Identify
		a.world.Identify = func(ctx context.Context, tp wire.TopicPartition) (wire.Identity, error) {
			select {
			case <-reached:
				return wire.Identity{}, errors.New("dead")
			default:
				return restore(ctx, tp)
			}
		}
	})
	<-reached
	_ = w.end()
	if before == 0 {
		t.Fatal("nothing was committed before the crash")
	}
	w = r.start(r.config(dir, "a"))
	r.caughtUp(w)
	if got := w.Stats().RestoredRecords; got == 0 {
		t.Fatal("the store was not behind the changelog")
	}
	r.sessions(5)
	r.caughtUp(w)
	r.sameSoon(w)
	r.changes()
}

// A worker with a store that fails once goes on in the same process.
func TestStoreFailsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(20)
	failed := false
	w := r.start(r.config(t.TempDir(), "a"), func(a *App) {
		apply := a.world.Apply
		a.world.Apply = func(s []worker.Applied) error {
			if !failed {
				failed = true
				return errors.New("no room")
			}
			return apply(s)
		}
	})
	r.caughtUp(w)
	r.sessions(5)
	r.caughtUp(w)
	if w.Stats().CommitFailures["store"] != 1 {
		t.Fatalf("failures: %v", w.Stats().CommitFailures)
	}
	r.sameSoon(w)
	r.changes()
}

func TestEmptyDiskIsRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	r.sessions(60)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	w.stop()
	w = r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	r.sameSoon(w)
	if s := w.Stats(); s.RestoredRecords == 0 || s.Records != 0 {
		t.Fatalf("%d records restored, %d folded again", s.RestoredRecords, s.Records)
	}
	r.sameSoon(w)
	r.sessions(10)
	r.caughtUp(w)
	r.sameSoon(w)
	r.changes()
}

// The group's offsets are for lag tools: deleted or reset by hand, they make
// the worker neither count twice nor forget.
func TestGroupOffsetsDoNotMatter(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(20)
	dir := t.TempDir()
	w := r.start(r.config(dir, "a"))
	r.caughtUp(w)
	w.stop()
	ctx := context.Background()
	_, err := r.k.Admin.DeleteGroup(ctx, r.group)
	r.must(err)
	r.sessions(10)
	w = r.start(r.config(dir, "a"))
	r.caughtUp(w)
	r.same(w)
	w.stop()
	var os kadm.Offsets
	for p := range r.parts {
		os.AddOffset(r.lane, p, int64(3+p), -1)
	}
	r.must(r.k.Admin.CommitAllOffsets(ctx, r.group, os))
	r.sessions(10)
	w = r.start(r.config(dir, "a"))
	r.caughtUp(w)
	r.same(w)
	r.changes()
	committed, err := r.k.Admin.FetchOffsets(ctx, r.group)
	r.must(err)
	for p := range r.parts {
		_, end := r.bounds(wire.TopicPartition{Topic: r.lane, Partition: p})
		if o, _ := committed.Lookup(r.lane, p); o.At != end {
			t.Errorf("partition %d: the group stands at %d, the log ends at %d", p, o.At, end)
		}
	}
}
