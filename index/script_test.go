package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/wire"
)

// script is a fixed piece of a store's life: applies, flushes, compactions, a
// close in the middle, a restore in several writes, a rebuild of timelines, a
// removal, and the pruning of expired rows. Its writes have the same apply
// sequences in every run.
type script struct {
	w     *world
	steps []scriptStep
	// Of a run without faults:
	after []uint64          // apply sequence after each step
	seen  map[uint64]Digest // content by apply sequence, as far as the steps' ends show it
}

// scriptStep is one thing done to a store. It gives the store to go on with.
type scriptStep struct {
	name string
	do   func(*Store) error
	stop bool // the store is closed and opened again
}

func newScript() *script {
	sc := &script{seen: map[uint64]Digest{}}
	sc.w = rapid.Custom(func(t *rapid.T) *world {
		w := newWorld(7)
		for _, s := range w.sources { // every source is met
			w.step(s, []wire.Record{w.record(t, s, 1)})
		}
		for range 8 {
			w.draw(t, 4, 10)
		}
		return w
	}).Example(3)
	applied, lost, pruned := sc.w.sources[0], sc.w.sources[1], sc.w.sources[2]
	sc.add("apply", func(s *Store) error { return applyEach(s, applied, 2) })
	sc.add("flush", flushNow)
	sc.add("apply", func(s *Store) error { return applyEach(s, pruned, 99) })
	sc.add("flush", flushNow)
	sc.add("compact", compactNow)
	sc.steps = append(sc.steps, scriptStep{name: "reopen", stop: true})
	sc.add("restore", func(s *Store) error { return restoreParts(s, lost) })
	sc.add("rebuild", func(s *Store) error { return sc.rebuildRows(s, lost) })
	sc.add("apply", func(s *Store) error { return applyEach(s, applied, 99) })
	sc.add("flush", flushNow)
	sc.add("retain", func(s *Store) error { return s.SetRetained(pruned.Source, pruned.front.Next*2/3) })
	sc.add("prune", func(s *Store) error {
		_, err := s.Prune(context.Background(), pruned.Source)
		return err
	})
	sc.add("compact", compactNow)
	return sc
}

func (sc *script) add(name string, do func(*Store) error) {
	sc.steps = append(sc.steps, scriptStep{name: name, do: do})
}

// applyEach applies the next n batches of a source, one write each.
func applyEach(s *Store, src *worldSource, n int) error {
	m, _, err := s.Meta(src.Source)
	if err != nil {
		return err
	}
	ops := 0
	for _, b := range src.batches {
		for _, op := range b.Ops {
			if op.Durable {
				ops++
			}
		}
		if b.From < m.Frontier.Next {
			n--
			continue
		}
		if n--; n < 0 {
			return nil
		}
		if err := s.Apply([]Applied{{Batch: b, ChangelogNext: int64(ops)}}); err != nil {
			return err
		}
	}
	return nil
}

// restoreParts restores a source from its whole changelog in several writes.
func restoreParts(s *Store, src *worldSource) error {
	r := s.NewRestorer(src.Source)
	for i, op := range src.changelog {
		if err := r.Put(bytes.Clone(op.Key), bytes.Clone(op.Value)); err != nil {
			return err
		}
		if i == len(src.changelog)/3 || i == len(src.changelog)*2/3 {
			if err := errors.Join(r.flush(nil), flushNow(s)); err != nil { // so that a crash finds it half done
				return err
			}
		}
	}
	return r.Commit(int64(len(src.changelog)))
}

// rebuildRows folds a source's log again for its timeline rows alone.
func (sc *script) rebuildRows(s *Store, src *worldSource) error {
	again := &worldSource{Source: src.Source, partials: map[wire.ID]*fold.Partial{}, states: map[wire.ID]*state.State{}}
	return s.ApplyRows(sc.w.step(again, src.log))
}

// flushNow and compactNow end with an error when the store fails meanwhile,
// which Pebble's own waiting does not.
func flushNow(s *Store) error {
	done, err := s.db.AsyncFlush()
	if err != nil {
		return errors.Join(err, s.Err())
	}
	select {
	case <-done:
		return s.Err()
	case <-s.Failed():
		return s.Err()
	}
}

func compactNow(s *Store) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	if err := s.enter(); err != nil { // the database is not closed under it
		return err
	}
	go func() {
		defer s.leave()
		done <- s.db.Compact(ctx, []byte{0}, []byte{0xff}, false)
	}()
	select {
	case err := <-done:
		return errors.Join(err, s.Err())
	case <-s.Failed():
		return s.Err()
	}
}

func openScript(fs vfs.FS) (*Store, error) {
	now := time.Unix(1_700_000_000, 0)
	return Open(Options{Dir: "store", FS: fs, CacheBytes: 8 << 20, Now: func() time.Time { return now }})
}

// clean runs the script without faults and keeps what there is to see.
func (sc *script) clean(t *testing.T, fs vfs.FS) {
	t.Helper()
	s, err := openScript(fs)
	if err != nil {
		t.Fatal(err)
	}
	sc.seen[0] = digest(t, s)
	for _, st := range sc.steps {
		if s, err = sc.step(s, fs, st); err != nil {
			t.Fatalf("%s without a fault: %v", st.name, err)
		}
		sc.after = append(sc.after, s.seq)
		sc.seen[s.seq] = digest(t, s)
	}
	check(t, s)
	closeStore(t, s)
}

func (sc *script) step(s *Store, fs vfs.FS, st scriptStep) (*Store, error) {
	if !st.stop {
		return s, st.do(s)
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return openScript(fs)
}

// run does the script until something fails. Whatever it reads on the way is
// held against the run without faults. It says how many steps were done.
func (sc *script) run(fs vfs.FS) (done int, err error) {
	s, err := openScript(fs)
	if err != nil {
		return 0, err
	}
	defer func() {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for i, st := range sc.steps {
		if s, err = sc.step(s, fs, st); err != nil {
			return i, fmt.Errorf("%s: %w", st.name, err)
		}
		d, err := s.Digest(context.Background(), stream)
		if err != nil {
			return i, fmt.Errorf("read after %s: %w", st.name, err)
		}
		if d != sc.seen[sc.after[i]] {
			return i, fmt.Errorf("%w: after %s %s, want %s", errWrong, st.name, d, sc.seen[sc.after[i]])
		}
	}
	return len(sc.steps), nil
}

var errWrong = errors.New("a wrong answer")

// bounded is run with an end: a hang fails the test and shows where.
func (sc *script) bounded(t *testing.T, what string, fs vfs.FS) (int, error) {
	t.Helper()
	type result struct {
		done int
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		done, err := sc.run(fs)
		ended <- result{done, err}
	}()
	select {
	case r := <-ended:
		return r.done, r.err
	case <-time.After(60 * time.Second):
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		t.Fatalf("%s: the store hangs", what)
		return 0, nil
	}
}

// goesOn opens what a run left: it is the state after some write, and doing the
// rest of the script ends like a run without faults. It gives the write.
func (sc *script) goesOn(t tb, what string, fs vfs.FS) uint64 {
	t.Helper()
	s, err := openScript(fs)
	if errors.Is(err, ErrCorrupt) && strings.Contains(err.Error(), ", record ") { // a crash within the write of a manifest
		if _, err = SetAside(Options{Dir: "store", FS: fs}); err == nil {
			s, err = openScript(fs)
		}
	}
	if err != nil {
		t.Fatalf("%s: open: %v", what, err)
	}
	at := s.seq
	if want, known := sc.seen[at]; known {
		if got := digest(t, s); got != want {
			t.Fatalf("%s: at write %d:\n got  %s\n want %s", what, at, got, want)
		}
	}
	check(t, s)
	for i, st := range sc.steps {
		if sc.after[i] <= at || st.stop {
			continue
		}
		if err := st.do(s); err != nil {
			t.Fatalf("%s: %s again: %v", what, st.name, err)
		}
	}
	check(t, s)
	last := sc.after[len(sc.after)-1]
	if got, want := digest(t, s), sc.seen[last]; got != want {
		t.Fatalf("%s: after the rest of the script from write %d:\n got  %s\n want %s", what, at, got, want)
	}
	closeStore(t, s)
	return at
}
