package app

import (
	"context"
	"fmt"
	"testing"

	"sessionfold/testenv"
	"sessionfold/wire"
	"sessionfold/worker"
)

// holds waits until every session of the log, as it is now, is in the store as
// the log has it.
func (r *rig) holds(w *running) {
	r.t.Helper()
	ctx := context.Background()
	have := map[wire.ID][32]byte{}
	r.must(w.Store().DigestSessions(ctx, r.stream, func(id wire.ID, d digest) error {
		have[id] = d.Partials
		return nil
	}))
	n := 0
	r.must(r.offline().DigestSessions(ctx, r.stream, func(id wire.ID, d digest) error {
		n++
		if have[id] != d.Partials {
			return fmt.Errorf("session %s is not in the store as the log has it", id)
		}
		return nil
	}))
	if n == 0 {
		r.t.Fatal("the log has no session")
	}
}

func (r *rig) recreate() {
	r.t.Helper()
	r.k.Delete(r.t, r.lane)
	r.k.Create(r.t, r.lane, r.parts)
	r.client.Close()
	r.client = r.k.Client(r.t, manual)
}

// A topic that is deleted and created anew is another source from its start,
// even if it has more records than were folded of the old one.
func TestTopicCreatedAnewWhileStopped(t *testing.T) {
	for name, n := range map[string]int{"fewer records": 5, "as many": 12, "more": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.sessions(12) // the next twelve have as many records
			dir := t.TempDir()
			w := r.start(r.config(dir, "a"))
			r.caughtUp(w)
			w.stop()
			_, was := r.bounds(wire.TopicPartition{Topic: r.lane})
			r.recreate()
			r.sessions(n)
			if _, is := r.bounds(wire.TopicPartition{Topic: r.lane}); (is == was) != (n == 12) {
				t.Fatalf("the topic ends at %d, it ended at %d", is, was)
			}
			w = r.start(r.config(dir, "a"))
			testenv.Eventually(t, waitLong, func() error { return r.newest(w) })
			r.holds(w)
			r.changes()
		})
	}
}

// newest is nil when the worker has folded the lane's topic of now to its end.
func (r *rig) newest(w *running) error {
	now := wire.GenerationOf(r.k.UUID(r.t, r.lane))
	for _, s := range w.Sources() {
		if s.Topic != r.lane {
			continue
		}
		_, end := r.bounds(s.TopicPartition)
		if s.Source == nil || s.State != worker.Active || s.Source.Generation != now || s.Next != uint64(end) {
			return fmt.Errorf("%s is %s at %d of %d, of %v", s.TopicPartition, s.State, s.Next, end, s.Source)
		}
		return nil
	}
	return errNotYet
}

func TestTopicCreatedAnewWhileRunning(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(10)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	old := generationOf(w, r.lane)
	r.recreate()
	r.sessions(30)
	testenv.Eventually(t, waitLong, func() error {
		if g := generationOf(w, r.lane); g == old || g == 0 {
			return fmt.Errorf("the source is still that of generation %d: %v", g, w.Sources())
		}
		return nil
	})
	r.caughtUp(w)
	r.holds(w)
	r.changes()
	if n := w.Stats().PollErrors; n > 200 {
		t.Errorf("%d errors were polled: an error must pause its partition", n)
	}
}

// What was folded of the topic that is gone stays readable, also on a worker that
// never had it, and on one that had a part of it; its timelines are not, and say so.
func TestATopicCreatedAnewIsHistoryElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx := context.Background()
	dirA, dirB := t.TempDir(), t.TempDir()
	r.sessions(6)
	b := r.start(r.config(dirB, "b"))
	r.caughtUp(b)
	b.stop()
	r.sessions(10)
	a := r.start(r.config(dirA, "a"))
	r.caughtUp(a)
	old := generationOf(a, r.lane)
	r.recreate()
	r.sessions(8)
	testenv.Eventually(t, waitLong, func() error {
		for _, s := range a.Sources() {
			if s.Source == nil || s.Source.Generation == old {
				return fmt.Errorf("%s is still the former one", s.TopicPartition)
			}
		}
		return nil
	})
	r.caughtUp(a)
	want, err := a.Store().Digest(ctx, r.stream)
	r.must(err)
	a.stop()
	for name, dir := range map[string]string{"a part of it": dirB, "nothing": t.TempDir()} {
		w := r.start(r.config(dir, "c"))
		r.caughtUp(w)
		got, err := w.Store().Digest(ctx, r.stream)
		r.must(err)
		if got.Partials != want.Partials || got.Sources != want.Sources || got.Sessions != 24 {
			t.Errorf("a worker that had %s:\n got  %s\n want %s", name, got, want)
		}
		metas, err := w.Store().Sources(r.stream)
		r.must(err)
		for i := range metas {
			if m := &metas[i]; m.Source.Generation != generationOf(w, r.lane) && (m.Retained != m.Frontier.Next || m.State().Rebuilding) {
				t.Errorf("a worker that had %s shows the timelines of the former %s from %d of %d on, rebuilding %t", name, m.Source, m.Retained, m.Frontier.Next, m.State().Rebuilding)
			}
		}
		w.stop()
	}
	r.changes()
}

func generationOf(w *running, topic string) uint64 {
	var g uint64
	for _, s := range w.Sources() {
		if s.Topic == topic && s.Source != nil && s.State == worker.Active {
			g = s.Source.Generation
		}
	}
	return g
}
