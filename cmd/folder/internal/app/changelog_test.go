package app

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/testenv"
	"sessionfold/wire"
	"sessionfold/worker"
)

func (r *rig) changelog() string { return r.group + "-" + r.lane + "-changelog" }

// remade deletes the changelog and, when asked to, makes it again as an operator
// might: longer than it was, so that its end tells nothing.
func (r *rig) remade(longer bool) {
	r.t.Helper()
	r.k.Delete(r.t, r.changelog())
	if !longer {
		return
	}
	r.k.Create(r.t, r.changelog(), r.parts, "cleanup.policy", "compact")
}

// source gives the meta of the lane's partition.
func (r *rig) meta(w *running, p int32) (fold.Frontier, fold.SourceState) {
	r.t.Helper()
	m, _, err := w.Store().Meta(r.source(w, p).Source)
	r.must(err)
	return m.Frontier, m.State()
}

// restoredElsewhere holds the changelog against the log: a worker with an empty
// disk, made from it, is the fold of the log.
func (r *rig) restoredElsewhere() {
	r.t.Helper()
	w := r.start(r.config(r.t.TempDir(), "elsewhere"))
	r.caughtUp(w)
	r.sameSoon(w)
	if w.Stats().RestoredRecords == 0 {
		r.t.Fatal("nothing was restored")
	}
	w.stop()
}

// A changelog that is gone is written again from a local state that is what the
// group committed last: nothing is folded twice.
func TestChangelogDeletedIsHealed(t *testing.T) {
	for _, remade := range []bool{false, true} {
		t.Run(fmt.Sprintf("made again by hand %v", remade), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.sessions(40)
			dir := t.TempDir()
			w := r.start(r.config(dir, "a"))
			r.caughtUp(w)
			w.stop()
			r.remade(remade)
			r.sessions(10)
			w = r.start(r.config(dir, "a"))
			r.caughtUp(w)
			r.same(w)
			if s := w.Stats(); s.Healed != 2 || s.Begun != 0 {
				t.Fatalf("%d changelogs were written again and %d sources begun anew, want 2 and 0", s.Healed, s.Begun)
			}
			if f, st := r.meta(w, 0); st.RefoldTo != 0 || len(f.Gaps) != 0 {
				t.Fatalf("a healed source is being rebuilt: %+v %+v", f, st)
			}
			w.stop()
			r.changes()
			r.restoredElsewhere()
		})
	}
}

// The same under a worker that runs.
func TestChangelogDeletedWhileRunning(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(40)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	r.remade(false)
	r.sessions(10)
	r.caughtUp(w)
	r.same(w)
	if s := w.Stats(); s.Healed != 2 || s.Begun != 0 {
		t.Fatalf("%d changelogs were written again and %d sources begun anew, want 2 and 0", s.Healed, s.Begun)
	}
	w.stop()
	r.changes()
	r.restoredElsewhere()
}

// A local state that is behind what the group committed must not become the
// changelog: the source is folded again, with its change sequence going on.
func TestChangelogDeletedIsRebuilt(t *testing.T) {
	for _, disk := range []string{"behind", "gone"} {
		t.Run("the local state is "+disk, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.sessions(40)
			dir, other := t.TempDir(), t.TempDir()
			w := r.start(r.config(dir, "a"))
			r.caughtUp(w)
			w.stop()
			r.sessions(40)
			w = r.start(r.config(other, "b"))
			r.caughtUp(w)
			w.stop()
			r.must(os.RemoveAll(other))
			if disk == "gone" {
				dir = t.TempDir()
			}
			r.remade(false)
			held := make(chan wire.TopicPartition, 100)
			w = r.start(r.config(dir, "a"), func(a *App) {
				a.world.Resume = func(tp wire.TopicPartition) { held <- tp } // to see the source before its first record
			})
			testenv.Eventually(t, waitLong, func() error {
				if s := w.Stats(); s.Begun != 2 {
					return fmt.Errorf("%d sources begun anew, want 2: %+v", s.Begun, w.Sources())
				}
				return nil
			})
			for p := range int32(2) {
				if f, st := r.meta(w, p); st.RefoldTo == 0 || f.Next != 0 {
					t.Errorf("partition %d is not shown as being rebuilt: %+v %+v", p, f, st)
				}
			}
			go func() {
				for tp := range held {
					w.consumer.Resume(tp)
				}
			}()
			r.caughtUp(w)
			r.same(w)
			if _, st := r.meta(w, 0); st.RefoldTo != 0 {
				t.Fatal("the source is shown as being rebuilt at its end")
			}
			if s := w.Stats(); s.Healed != 0 {
				t.Fatal("a state that was behind became the changelog")
			}
			w.stop()
			r.changes()
			r.restoredElsewhere()
		})
	}
}

// Somebody has written the state to the new changelog already: the local one,
// of the old changelog, is dropped, though the new one is longer.
func TestChangelogRemadeByAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(10)
	dir := t.TempDir()
	w := r.start(r.config(dir, "a"))
	r.caughtUp(w)
	w.stop()
	r.remade(false)
	r.sessions(60)
	w = r.start(r.config(t.TempDir(), "b")) // begins anew
	r.caughtUp(w)
	if w.Stats().Begun != 1 {
		t.Fatal("the other worker did not begin the source anew")
	}
	w.stop()
	w = r.start(r.config(dir, "a"))
	r.caughtUp(w)
	r.sameSoon(w)
	if w.Stats().Begun != 0 {
		t.Fatal("the source was begun anew once more")
	}
	w.stop()
	r.changes()
}

// A copy that was cut off leaves rows without a meta: they count for nothing.
func TestHealCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(60)
	dir := t.TempDir()
	w := r.start(r.config(dir, "a"))
	r.caughtUp(w)
	w.stop()
	r.remade(false)
	w = r.start(r.config(dir, "a"), func(a *App) {
		commit := a.world.Commit
		a.world.Commit = func(ctx context.Context, txn *worker.Txn) ([]int64, error) {
			b := txn.Steps[0].Batch
			if n := len(b.Ops); b.Kind != 0 && n > 10 { // half of the rows, and not the meta
				half := *b
				half.Ops = b.Ops[:n/2]
				txn.Steps[0].Batch = &half
				_, err := commit(ctx, txn)
				return nil, &worker.Failure{Err: fmt.Errorf("killed here: %w", err), Where: "test", Exit: true}
			}
			return commit(ctx, txn)
		}
	})
	select {
	case err := <-w.done:
		if err == nil {
			t.Fatal("the worker ended without an error")
		}
		w.over = true
		r.must(w.Close())
	case <-time.After(waitLong):
		t.Fatal("the copy was never cut off")
	}
	for _, with := range []string{dir, t.TempDir()} { // the disk is left, or lost
		if with != dir {
			r.remade(false) // and the copy is cut off as before
			r.halfCopy(dir)
		}
		w = r.start(r.config(with, "c"))
		r.caughtUp(w)
		r.sameSoon(w)
		w.stop()
	}
	r.changes()
}

// halfCopy leaves rows of a store in the changelog, without its meta.
func (r *rig) halfCopy(dir string) {
	r.t.Helper()
	w := r.start(r.config(dir, "a"), func(a *App) {
		commit := a.world.Commit
		a.world.Commit = func(ctx context.Context, txn *worker.Txn) ([]int64, error) {
			half := *txn.Steps[0].Batch
			half.Ops = half.Ops[:len(half.Ops)/2]
			txn.Steps[0].Batch = &half
			_, err := commit(ctx, txn)
			return nil, &worker.Failure{Err: fmt.Errorf("killed here: %w", err), Where: "test", Exit: true}
		}
	})
	<-w.done
	w.over = true
	r.must(w.Close())
}
