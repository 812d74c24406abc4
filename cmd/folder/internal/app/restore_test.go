package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sessionfold/index"
	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/broker"
	"sessionfold/wire"
	"sessionfold/worker"
)

// large writes sessions whose documents take some megabytes together, so that a
// restore writes several times before its end.
func (r *rig) large(n int) {
	r.t.Helper()
	l := agdxlog.New(r.stream)
	for range n {
		s := l.Session(fmt.Sprintf("large %d", r.made), "agent")
		s.Start(agdxlog.Start{Label: "large"})
		for i := range 3 {
			s.Snapshot(uint64(0), fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("a word and ", 30_000)))
		}
		r.made++
	}
	r.write(l.Records)
}

// stopped makes restores of the lane stop after some records of the changelog,
// until they are let go or their context ends.
type stopped struct {
	after int
	reach chan wire.TopicPartition
	let   chan struct{}
	fail  error // instead of waiting
}

func stopAfter(n int) *stopped {
	return &stopped{after: n, reach: make(chan wire.TopicPartition, 100), let: make(chan struct{})}
}

// wait gives the source whose restore has come so far.
func (s *stopped) wait(t *testing.T) wire.TopicPartition {
	t.Helper()
	select {
	case tp := <-s.reach:
		return tp
	case <-time.After(waitLong):
		t.Fatalf("no restore came to record %d of a changelog", s.after)
		return wire.TopicPartition{}
	}
}

func (s *stopped) in(lane string) func(*App) {
	return func(a *App) {
		read := a.world.ReadChangelog
		a.world.ReadChangelog = func(ctx context.Context, tp wire.TopicPartition, from int64, put func(int64, []byte, []byte) error) (int64, error) {
			n := 0
			return read(ctx, tp, from, func(o int64, k, v []byte) error {
				if n++; n == s.after && tp.Topic == lane {
					s.reach <- tp
					if s.fail != nil {
						return s.fail
					}
					select {
					case <-s.let:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return put(o, k, v)
			})
		}
	}
}

// restoring is a rig whose one worker has folded and lost its disk.
func restoring(r *rig) {
	r.t.Helper()
	r.sessions(40)
	r.large(8)
	w := r.start(r.config(r.t.TempDir(), "first"))
	r.caughtUp(w)
	w.stop()
	r.sessions(5)
}

// Another worker comes while a source is restored: what was restored of it is
// dropped, and whoever has it in the end has all of it.
func TestRestoreInterruptedByRebalance(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	restoring(r)
	s := stopAfter(20)
	a := r.start(r.config(t.TempDir(), "a"), s.in(r.lane))
	s.wait(t)
	b := r.start(r.config(t.TempDir(), "b"))
	testenv.Eventually(t, waitLong, func() error {
		if a.Stats().Revoked+a.Stats().Lost == 0 {
			return errors.New("the other worker has taken nothing over")
		}
		return nil
	})
	close(s.let)
	r.caughtUp(a, b)
	r.sessions(5)
	r.caughtUp(a, b)
	b.stop()
	r.caughtUp(a)
	r.sameSoon(a)
	r.changes()
}

// The same source is taken and given back while it is restored.
func TestRestoreInterruptedByAssignment(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	restoring(r)
	s := stopAfter(20)
	w := r.start(r.config(t.TempDir(), "a"), s.in(r.lane))
	tp := s.wait(t)
	for range 3 {
		w.worker.Lost([]wire.TopicPartition{tp})
		member, _ := w.consumer.Member()
		w.worker.Assigned(member, []wire.TopicPartition{tp})
		s.wait(t)
	}
	close(s.let)
	r.caughtUp(w)
	r.sameSoon(w)
	if n := w.Stats().Restores; n == 0 {
		t.Fatal("no restore was counted")
	}
}

// The broker goes away in the middle of a restore and comes back.
func TestRestoreInterruptedByBrokerLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := testenv.Fake(t, broker.Options{DataDir: dir})
	_, text, err := net.SplitHostPort(k.Addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOn(t, k, 2)
	restoring(r)
	s := stopAfter(20)
	w := r.start(r.config(t.TempDir(), "a"), s.in(r.lane))
	s.wait(t)
	k.Fake.Close()
	close(s.let)
	time.Sleep(300 * time.Millisecond) // long enough for requests to fail
	b, err := broker.Start(broker.Options{DataDir: dir, Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	r.caughtUp(w)
	r.sameSoon(w)
	r.changes()
	w.stop() // before its broker
}

// A process dies in the middle of a restore: what it wrote is marked, and the
// next one begins the restore again, with or without what is left.
func TestRestoreInterruptedByKill(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	restoring(r)
	for range 3 {
		r.large(8)
		w := r.start(r.config(t.TempDir(), "more"))
		r.caughtUp(w)
		w.stop()
	}
	dir := t.TempDir()
	for _, after := range []int{30, 120, 220} {
		s := stopAfter(after)
		w := r.start(r.config(dir, "a"), s.in(r.lane))
		s.wait(t)
		_ = w.end() // nothing of the restore is ended
	}
	st, err := index.Open(index.Options{Dir: dir, CacheBytes: 8 << 20})
	r.must(err)
	id := r.identity()
	if m, ok, err := st.Meta(id); err != nil || !ok || !m.Restoring || m.Frontier.Next != 0 {
		t.Fatalf("what a restore that was cut off wrote is not marked: %+v, %v, %v", m, ok, err)
	}
	r.must(st.Close())
	w := r.start(r.config(dir, "a"))
	r.caughtUp(w)
	r.sameSoon(w)
	rep, err := w.Store().Check(context.Background())
	if err != nil || rep.Total > 0 {
		t.Fatalf("the store: %v %v", rep.Problems, err)
	}
	r.changes()
}

// identity is the lane's first partition as the brokers have it.
func (r *rig) identity() *wire.Source {
	r.t.Helper()
	return wire.NewSource(r.stream, r.lane, wire.GenerationOf(r.k.UUID(r.t, r.lane)), 0, wire.RoleLane, wire.DialectAGDX)
}

// A restore tells how far it is.
func TestRestoreTellsProgress(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	restoring(r)
	s := stopAfter(30)
	w := r.start(r.config(t.TempDir(), "a"), s.in(r.lane))
	s.wait(t)
	seen := false
	for _, src := range w.Sources() {
		if src.Topic == r.lane {
			seen = src.State == worker.Restoring && src.Remaining > 0
		}
	}
	if !seen || w.Ready() == nil {
		t.Errorf("a restore that goes on does not show: %+v, ready %v", w.Sources(), w.Ready())
	}
	close(s.let)
	r.caughtUp(w)
	for _, src := range w.Sources() {
		if src.Topic == r.lane && (src.Restored == 0 || src.Remaining != 0) {
			t.Errorf("at its end: %+v", src)
		}
	}
}

// A state that is older than the changelog keeps tombstones is not restored onto.
func TestStaleDirectoryIsNotReused(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(20)
	cfg := r.config(t.TempDir(), "a")
	w := r.start(cfg)
	r.caughtUp(w)
	w.stop()
	for _, c := range []struct {
		ahead time.Duration
		whole bool
	}{{23 * time.Hour, false}, {25 * time.Hour, true}} {
		r.sessions(2)
		cfg.Now = func() time.Time { return time.Now().Add(c.ahead) }
		w = r.start(cfg)
		r.caughtUp(w)
		r.sameSoon(w)
		if n := w.Stats().RestoredRecords; (n > 20) != c.whole {
			t.Errorf("%s later %d records of the changelog were read, all of them: want %v", c.ahead, n, c.whole)
		}
		w.stop()
		cfg.Now = nil
		w = r.start(cfg) // stamps the state with the time that it is
		r.caughtUp(w)
		w.stop()
	}
	r.changes()
}

// The state of a source that another worker has had for a day is removed, not
// before, and not that of our own sources; the source may come back.
func TestForeignStateIsRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(40)
	cfg := r.config(t.TempDir(), "a")
	var ahead atomic.Int64
	cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	a := r.start(cfg)
	r.caughtUp(a)
	b := r.start(r.config(t.TempDir(), "b"))
	testenv.Eventually(t, waitLong, func() error {
		if n := len(a.lanes(r)); n != 1 {
			return fmt.Errorf("it owns %d partitions", n)
		}
		return nil
	})
	r.caughtUp(a, b)
	mine := a.lanes(r)[0]
	ctx := context.Background()
	for _, c := range []struct {
		ahead time.Duration
		left  int
	}{{23 * time.Hour, 2}, {25 * time.Hour, 1}} {
		ahead.Store(int64(c.ahead))
		r.must(a.Tidy(ctx))
		metas, err := a.Store().Sources(r.stream)
		r.must(err)
		if len(metas) != c.left {
			t.Fatalf("%s later %d sources are left, want %d", c.ahead, len(metas), c.left)
		}
		for _, m := range metas {
			if c.left == 1 && int32(m.Source.Partition) != mine {
				t.Fatal("its own source was removed")
			}
		}
	}
	ahead.Store(0)
	rep, err := a.Store().Check(ctx)
	if err != nil || rep.Total > 0 {
		t.Fatalf("the store: %v %v", rep.Problems, err)
	}
	b.stop()
	r.caughtUp(a)
	r.sameSoon(a)
}

// lanes lists the lane's partitions that a worker owns.
func (w *running) lanes(r *rig) (out []int32) {
	for _, s := range w.Sources() {
		if s.Topic == r.lane {
			out = append(out, s.Partition)
		}
	}
	return out
}
