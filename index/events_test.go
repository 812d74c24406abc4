package index

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sessionfold/wire"
)

// timeline is what the session's timeline must hold below the bounds: its
// records of all sources by address, as many per source as the cap allows.
func (w *world) timeline(id wire.ID, bounds Bounds) []wire.Address {
	out := []wire.Address{}
	for _, s := range w.sources {
		var raised, rows uint64
		for _, rec := range s.log {
			raised = max(raised, rec.Time)
			if !rec.HasSession || rec.Session != id || rows == w.cap {
				continue
			}
			rows++
			if rec.Offset < bounds[s.Key()] {
				out = append(out, s.Address(raised, rec.Offset))
			}
		}
	}
	slices.SortFunc(out, wire.Address.Compare)
	return out
}

// Pages of a timeline, put together, are the records below the first page's
// frontier in the order of their addresses or against it, each once, whatever
// the page sizes and whatever is folded in between.
func TestEventsPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		w.cap = rapid.Uint64Range(1, 60).Draw(t, "cap")
		s := open(t, vfs.NewMem())
		for range rapid.IntRange(1, 10).Draw(t, "batches") {
			apply(t, s, w.draw(t, 3, 30))
		}
		id := sessionID(rapid.IntRange(1, 3).Draw(t, "session"))
		rd := &Reading{Back: rapid.Bool().Draw(t, "back")}
		var bounds Bounds
		got, want := []wire.Address{}, []wire.Address{}
		for more := true; more; {
			r := reader(t, s)
			ks, err := r.Session(stream, id)
			if err != nil {
				t.Fatal(err)
			}
			limit := rapid.IntRange(1, 20).Draw(t, "limit")
			p, err := r.EventsOf(id, ks, rd, bounds, limit)
			if err = errors.Join(err, r.Close()); err != nil {
				t.Fatal(err)
			}
			if bounds == nil {
				bounds = p.Frontier
				if want = w.timeline(id, bounds); rd.Back {
					slices.Reverse(want)
				}
			}
			for i := range p.Items {
				a := p.Items[i].Address()
				got, rd.From = append(got, a), &a
			}
			if p.More && len(p.Items) != limit {
				t.Fatalf("a page of %d with more to come, limit %d", len(p.Items), limit)
			}
			more = p.More
			if rapid.Bool().Draw(t, "fold on") {
				apply(t, s, w.draw(t, 3, 30))
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("timeline (-log +pages):\n%s", d)
		}
		closeStore(t, s)
	})
}

// From any address the timeline goes on behind it: the search for the first
// pack skips nothing and repeats nothing.
func TestTimelineFromAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		w.cap = 1000
		s := open(t, vfs.NewMem())
		for range rapid.IntRange(1, 25).Draw(t, "batches") {
			apply(t, s, w.draw(t, 2, 6))
		}
		r := reader(t, s)
		id := sessionID(1)
		ks, err := r.Session(stream, id)
		if err != nil {
			t.Fatal(err)
		}
		bounds := Bounds{}
		for _, k := range ks {
			bounds[k.Source.Key()] = k.Next
		}
		all := w.timeline(id, bounds)
		for i := range all {
			p, err := r.Events(id, ks, &all[i], nil, 3)
			if err != nil {
				t.Fatal(err)
			}
			got := []wire.Address{}
			for j := range p.Items {
				got = append(got, p.Items[j].Address())
			}
			if d := cmp.Diff(all[i+1:min(i+4, len(all))], got); d != "" {
				t.Fatalf("behind row %d of %d (-log +page):\n%s", i, len(all), d)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
	})
}

// A timeline read backwards is the one read forwards, turned round: from any
// address, with rows that are not read or left out, and with rows that are no
// longer retained.
func TestTimelineBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		w.cap = 1000
		s := open(t, vfs.NewMem())
		for range rapid.IntRange(1, 25).Draw(t, "batches") {
			apply(t, s, w.draw(t, 2, 6))
		}
		for _, src := range w.sources {
			if rapid.IntRange(0, 2).Draw(t, "expire") == 0 {
				if err := s.SetRetained(src.Source, rapid.Uint64Range(0, 60).Draw(t, "retained")); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := reader(t, s)
		id := sessionID(1)
		ks, err := r.Session(stream, id)
		if err != nil {
			t.Fatal(err)
		}
		pick := func(n uint64) func(*Event) bool {
			if n == 0 {
				return nil
			}
			return func(e *Event) bool { return e.Offset%n == 0 }
		}
		rd := &Reading{Only: pick(rapid.Uint64Range(0, 3).Draw(t, "only")), But: pick(rapid.Uint64Range(0, 4).Draw(t, "but"))}
		bounds := BoundsOf(ks) // not where a batch ended, as a store that was made anew has it
		for _, s := range ks {
			k, next := s.Source.Key(), s.Next
			bounds[k] = rapid.Uint64Range(next/2, next).Draw(t, "bound")
		}
		all, err := r.EventsOf(id, ks, rd, bounds, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		rd.Back = true
		whole, err := r.EventsOf(id, ks, rd, bounds, 1<<20)
		if err != nil || whole.Hidden != all.Hidden {
			t.Fatalf("%d rows left out, forwards %d: %v", whole.Hidden, all.Hidden, err)
		}
		for i := range len(all.Items) + 1 {
			rd.From = nil
			if i < len(all.Items) {
				a := all.Items[i].Address()
				rd.From = &a
			}
			limit := rapid.IntRange(1, 5).Draw(t, "limit")
			p, err := r.EventsOf(id, ks, rd, bounds, limit)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(all.Items[max(0, i-limit):i])
			slices.Reverse(want)
			if d := cmp.Diff(want, p.Items, cmpopts.EquateEmpty()); d != "" || p.More != (i > limit) {
				t.Fatalf("before row %d of %d, more %v (-forwards +backwards):\n%s", i, len(all.Items), p.More, d)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
	})
}

// BenchmarkEventsLast reads the last page of a session with the most rows and
// the smallest packs.
func BenchmarkEventsLast(b *testing.B) {
	w := newWorld(7)
	w.cap = 10_000
	s := open(b, vfs.NewMem())
	for i := range uint64(w.cap) {
		rec := wire.Record{Offset: i, Time: i * 1000, HasSession: true, Session: sessionID(1), Agent: fmt.Appendf(nil, "agent-%d", i%7)}
		apply(b, s, w.step(w.sources[0], []wire.Record{rec}))
	}
	r := reader(b, s)
	ks, err := r.Session(stream, sessionID(1))
	if err != nil {
		b.Fatal(err)
	}
	after := w.sources[0].Address((w.cap-100)*1000, w.cap-100)
	for b.Loop() {
		p, err := r.Events(sessionID(1), ks, &after, nil, 100)
		if err != nil || len(p.Items) != 99 {
			b.Fatal(len(p.Items), err)
		}
	}
	if err := errors.Join(r.Close(), s.Close()); err != nil {
		b.Fatal(err)
	}
}
