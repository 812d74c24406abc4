package index

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sessionfold/testenv/reach"
)

// After a crash the store is as it was after some earlier write, whole; what it
// lost comes back by applying it again, and cursors of before are stale.
func TestCrash(t *testing.T) {
	lost, kept := 0, 0
	reach.Check(t, map[string]*int{"a crash that lost writes": &lost, "a crash that lost none": &kept}, func(t *rapid.T) {
		w := newWorld(7)
		fs := vfs.NewCrashableMem()
		s := open(t, fs)
		seqs := map[uint64]Digest{0: {}}
		note := func() { seqs[s.seq] = digest(t, s) }
		seqs[0] = digest(t, s)
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			w.draw(t, 5, 15)
			for _, src := range w.sources {
				m, _, err := s.Meta(src.Source)
				if err != nil {
					t.Fatal(err)
				}
				if m.Frontier.Next < src.front.Next {
					applyRest(t, s, src)
				}
			}
			note()
			if rapid.IntRange(0, 3).Draw(t, "flush") == 0 {
				if err := s.db.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		before := s.seq
		clone := fs.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: rapid.SampledFrom([]int{0, 50, 100}).Draw(t, "unsynced"),
			RNG:                 rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rng"), 1)),
		})
		identity := s.identity
		closeStore(t, s)

		s = open(t, clone)
		want, known := seqs[s.seq]
		if !known || s.seq > before {
			t.Fatalf("after the crash the store stands at write %d of %d", s.seq, before)
		}
		if s.seq < before {
			lost++
		} else {
			kept++
		}
		if got := digest(t, s); got != want {
			t.Fatalf("after the crash: %s, want that of write %d: %s", got, s.seq, want)
		}
		check(t, s)
		if s.identity.StoreID != identity.StoreID && s.seq > 0 || s.identity.WalkID == identity.WalkID {
			t.Fatalf("identity %x, before the crash %x", s.identity, identity)
		}
		for _, src := range w.sources {
			applyRest(t, s, src)
		}
		check(t, s)
		whole := w.refold(t, 8)
		if got, want := digest(t, s), digest(t, whole); got != want {
			t.Fatalf("after applying again: %s, want %s", got, want)
		}
		closeStore(t, s)
		closeStore(t, whole)
	})
}
