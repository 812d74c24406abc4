package index

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// Whatever is done to a store, in any order, it agrees with itself and with a
// fold of the logs.
func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		fs := vfs.NewMem()
		s := open(t, fs)
		pruned := false
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				w.draw(t, 6, 12)
				for _, src := range w.sources {
					applyRest(t, s, src)
				}
			},
			"lose a batch, restore": func(t *rapid.T) {
				w.draw(t, 6, 12)
				for _, src := range w.sources {
					restore(t, s, src)
					rebuild(t, s, w, src)
				}
			},
			"reopen": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "seldom") > 0 { // it is slow, above all under the race detector
					return
				}
				closeStore(t, s)
				s = open(t, fs)
			},
			"prune": func(t *rapid.T) {
				src := rapid.SampledFrom(w.sources).Draw(t, "source")
				offset := rapid.Uint64Range(0, src.front.Next).Draw(t, "retained")
				if err := s.SetRetained(src.Source, offset); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Prune(context.Background(), src.Source); err != nil {
					t.Fatal(err)
				}
				pruned = pruned || offset > 0
			},
			"": func(t *rapid.T) { check(t, s) },
		})
		whole := w.refold(t, 8)
		want, got := digest(t, whole), digest(t, s)
		if pruned {
			want.Rows, got.Rows, want.Events, got.Events = [32]byte{}, [32]byte{}, 0, 0
		}
		if got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		closeStore(t, whole)
		closeStore(t, s)
	})
}

// Pruning hides expired rows at once, removes those of expired batches, and
// keeps counters.
func TestPrune(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		w.cap = 1000
		s := open(t, vfs.NewMem())
		for range 6 {
			apply(t, s, w.draw(t, 3, 15))
		}
		src := rapid.SampledFrom(w.sources).Draw(t, "source")
		retained := rapid.Uint64Range(0, src.front.Next).Draw(t, "retained")
		before := check(t, s)
		if err := s.SetRetained(src.Source, retained); err != nil {
			t.Fatal(err)
		}
		if err := s.SetRetained(src.Source, retained/2); err != nil { // never goes back
			t.Fatal(err)
		}
		hidden := rowsOf(t, s, src)
		n, err := s.Prune(context.Background(), src.Source)
		if err != nil {
			t.Fatal(err)
		}
		after := check(t, s)
		if after.Partials != before.Partials || after.Packs != before.Packs-uint64(n) {
			t.Fatalf("removed %d packs: before %+v, after %+v", n, before, after)
		}
		removed := 0
		for _, b := range src.batches {
			if b.To < retained {
				for _, op := range b.Ops {
					if op.Key[0] == 't' {
						removed++
					}
				}
			}
		}
		if n != removed {
			t.Fatalf("removed %d packs, %d are of expired batches", n, removed)
		}
		got := rowsOf(t, s, src)
		if len(got) != len(hidden) {
			t.Fatalf("%d rows shown before the removal, %d after", len(hidden), len(got))
		}
		want := 0
		for _, rec := range src.log {
			if rec.HasSession && rec.Offset >= retained {
				want++
			}
		}
		if len(got) != want {
			t.Fatalf("%d rows shown, %d are retained", len(got), want)
		}
		r := reader(t, s)
		if st, err := r.States(stream); err != nil || retained > 0 && *st[src.Key()].RetainedFrom != retained {
			t.Fatalf("state %+v, %v", st[src.Key()], err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
	})
}

// rowsOf reads all shown rows of a source.
func rowsOf(t tb, s *Store, src *worldSource) []Event {
	t.Helper()
	r := reader(t, s)
	defer r.Close()
	var out []Event
	for n := range 8 {
		ks, err := r.Session(stream, sessionID(n))
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Events(sessionID(n), ks, nil, nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Items {
			if *e.Source == *src.Source {
				out = append(out, e)
			}
		}
	}
	return out
}
