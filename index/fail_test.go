package index

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// A full disk, on whatever file it is met, ends in an error of every call: the
// process lives, and nothing hangs.
func TestDiskFull(t *testing.T) {
	for _, where := range []string{".log", ".sst", "MANIFEST", ""} {
		t.Run("writing "+where, func(t *testing.T) {
			full := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, where) {
					return syscall.ENOSPC
				}
				return nil
			})
			toggle := &errorfs.Toggle{Injector: full}
			s := open(t, errorfs.Wrap(vfs.NewMem(), toggle))
			w := newWorld(7)
			apply(t, s, w.step(w.sources[0], many(w.sources[0])))
			toggle.On()
			if where == ".sst" || where == "MANIFEST" { // met when the memory table is flushed
				if _, err := s.db.AsyncFlush(); err != nil {
					t.Fatal(err)
				}
			}
			err := applyUntil(t, s, w)
			if !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("apply: %v", err)
			}
			<-s.Failed()
			_, err = s.Load(w.sources[0].Source, []wire.ID{sessionID(1)})
			_, _, err2 := s.Meta(w.sources[0].Source)
			_, err3 := s.Reader()
			err4 := s.SetRetained(w.sources[0].Source, 5)
			err5 := s.NewRestorer(w.sources[0].Source).Commit(1)
			for i, err := range []error{err, err2, err3, err4, err5, s.Err(), s.Close()} {
				if !errors.Is(err, ErrFailed) {
					t.Errorf("call %d on a failed store: %v", i, err)
				}
			}
		})
	}
}

// many makes a batch that is large enough to matter to a file.
func many(s *worldSource) []wire.Record {
	var recs []wire.Record
	for i := range uint64(2000) {
		offset := s.front.Next + i
		recs = append(recs, wire.Record{Offset: offset, HasSession: true, Session: sessionID(int(offset)), Agent: fmt.Appendf(nil, "agent-%d", offset)})
	}
	return recs
}

// applyUntil applies batches until one fails.
func applyUntil(t *testing.T, s *Store, w *world) error {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		b := w.step(w.sources[0], many(w.sources[0]))
		if err := s.Apply([]Applied{{Batch: b}}); err != nil {
			return err
		}
	}
	t.Fatal("no apply failed")
	return nil
}

// A write that waits for room in memory, which a full disk never gives, must
// keep neither Apply nor Close: the store fails, and both return.
func TestStuckWrite(t *testing.T) {
	release := make(chan struct{})
	s := open(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			<-release // the flush hangs until the writer does too
			return syscall.ENOSPC
		}
		return nil
	})))
	src := newWorld(7).sources[0].Source
	var begun, ended atomic.Int64
	result := make(chan error, 1)
	go func() {
		for n := uint64(0); ; n++ {
			b := &row.Batch{Source: src, From: n, To: n, Frontier: fold.Frontier{Next: n + 1}}
			k := row.PackKey{PartialKey: row.PartialKey{Stream: src.StreamID, Source: src.Key()}, First: n}
			b.Ops = []row.Op{{Key: row.AppendPack(nil, k), Value: make([]byte, 8<<20)}}
			begun.Add(1)
			if err := s.Apply([]Applied{{Batch: b}}); err != nil {
				result <- err
				return
			}
			ended.Add(1)
		}
	}()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for still, last := 0, int64(0); still < 10; { // one write is under way and stays so
		select {
		case <-tick.C:
			n := ended.Load()
			if n > 0 && n == last && begun.Load() == n+1 && s.db.Metrics().MemTable.Size >= 2*memTableBytes {
				still++
			} else {
				still = 0
			}
			last = n
		case <-deadline:
			t.Fatal("the writer never waited")
		}
	}
	close(release)
	select {
	case err := <-result:
		if !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("apply: %v", err)
		}
	case <-deadline:
		t.Fatal("the write is stuck")
	}
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("close: %v", err)
	}
}

// Open on a disk that takes nothing is an error.
func TestOpenOnFullDisk(t *testing.T) {
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	if _, err := Open(Options{Dir: "store", FS: fs}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("open: %v", err)
	}
}
