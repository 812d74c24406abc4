package index

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sessionfold/wire"
)

// The digest does not depend on batches, generations or apply sequences.
func TestDigestOfTheSameLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		s := open(t, vfs.NewMem())
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			apply(t, s, w.draw(t, 6, 30))
		}
		again := w.refold(t, 99)
		if got, want := digest(t, again), digest(t, s); got != want {
			t.Fatalf("digests differ:\n%s\n%s", want, got)
		}
		check(t, again)
		closeStore(t, s)
		closeStore(t, again)
	})
}

// A log that differs in one record has another digest, and the session that
// differs is found.
func TestDigestFindsADifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			w.draw(t, 6, 20)
		}
		a := w.refold(t, 7)
		src := rapid.SampledFrom(w.sources).Draw(t, "source")
		if len(src.log) == 0 {
			return
		}
		rec := &src.log[rapid.IntRange(0, len(src.log)-1).Draw(t, "record")]
		if !rec.HasSession {
			return
		}
		id := rec.Session
		rec.Agent = []byte("somebody else")
		b := w.refold(t, 7)
		one, other := digests(t, a), digests(t, b)
		for n := range 8 {
			if s := sessionID(n); (one[s] != other[s]) != (s == id && one[s].Events == other[s].Events && differs(w, src, rec)) {
				t.Fatalf("session %s differs %v; %s was changed", s, one[s] != other[s], id)
			}
		}
		closeStore(t, a)
		closeStore(t, b)
	})
}

// differs: past the cap, and known already, an agent's name leaves no trace.
func differs(w *world, src *worldSource, rec *wire.Record) bool {
	p := src.partials[rec.Session]
	if !p.Truncated || rec.Offset < p.TruncatedFrom {
		return true
	}
	return rec.Facts&wire.FactAuthor != 0
}

func digests(t tb, s *Store) map[wire.ID]Digest {
	t.Helper()
	out := map[wire.ID]Digest{}
	if err := s.DigestSessions(context.Background(), stream, func(id wire.ID, d Digest) error {
		out[id] = d
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}
