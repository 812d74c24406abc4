package index

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/testenv/reach"
	"sessionfold/wire"
)

// listed is the list as it must be now: by the merged positions of the folded
// partials, newest first.
func (w *world) listed(sessions int) []wire.ID {
	type at struct {
		id   wire.ID
		time uint64
	}
	var all []at
	for n := range max(sessions+1, 10) { // links make sessions 0 to 9 exist
		id := sessionID(n)
		var ks []fold.Keyed
		for _, s := range w.sources {
			if p := s.partials[id]; p != nil {
				ks = append(ks, fold.Keyed{Source: s.Source, Partial: p, Next: s.front.Next})
			}
		}
		if m := fold.Merge(id, ks); m != nil {
			all = append(all, at{id, m.ListPosition().Time})
		}
	}
	slices.SortFunc(all, func(a, b at) int { return order(b.time, a.time, a.id, b.id) })
	out := []wire.ID{}
	for _, a := range all {
		out = append(out, a.id)
	}
	return out
}

func order(time, other uint64, id, otherID wire.ID) int {
	if time != other {
		if time < other {
			return -1
		}
		return 1
	}
	return id.Compare(otherID)
}

// A walk by cursor gives the list of its beginning: every session of then once,
// in the order of then, although sessions are added, moved and continued
// between the pages, and the store is opened again.
func TestWalkIsTheListOfItsBeginning(t *testing.T) {
	moved := 0
	reach.Check(t, map[string]*int{"a list that changed during a walk": &moved}, func(t *rapid.T) {
		const sessions = 12
		w := newWorld(7)
		fs := vfs.NewMem()
		s := open(t, fs)
		for range rapid.IntRange(1, 6).Draw(t, "batches before") {
			apply(t, s, w.draw(t, sessions, 10))
		}
		want, got := w.listed(sessions), []wire.ID{}
		var cursor Cursor
		for page := 0; ; page++ {
			r := reader(t, s)
			walk, err := r.List(stream, cursor)
			if err != nil {
				t.Fatal(err)
			}
			n := rapid.IntRange(1, 4).Draw(t, "limit")
			for n > 0 && walk.Next() {
				id, ks := walk.Session()
				if m := fold.Merge(id, ks); m == nil || m.ID != id {
					t.Fatalf("session %s with %d partials", id, len(ks))
				}
				got = append(got, id)
				n--
			}
			if cursor, err = ParseCursor(walk.Cursor().Bytes()); err != nil || cursor != walk.Cursor() {
				t.Fatalf("cursor %+v, %v", cursor, err)
			}
			if err := errors.Join(walk.Err(), walk.Close(), r.Close()); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				break
			}
			for range rapid.IntRange(0, 2).Draw(t, "batches between") {
				apply(t, s, w.draw(t, sessions, 10))
			}
			if rapid.IntRange(0, 9).Draw(t, "reopen") == 0 {
				closeStore(t, s)
				s = open(t, fs)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("walk (-list of its beginning +walk):\n%s", d)
		}
		if !slices.Equal(want, w.listed(sessions)) {
			moved++
		}
		closeStore(t, s)
	})
}

func TestCursorOfAnotherStore(t *testing.T) {
	w := newWorld(7)
	fs := vfs.NewMem()
	s := open(t, fs)
	apply(t, s, w.step(w.sources[0], []wire.Record{{HasSession: true, Session: sessionID(1)}}))
	r := reader(t, s)
	walk, err := r.List(stream, Cursor{})
	if err != nil {
		t.Fatal(err)
	}
	walk.Next()
	good := walk.Cursor()
	if err := errors.Join(walk.Close()); err != nil {
		t.Fatal(err)
	}
	later, other := good, good
	later.Seq++
	other.Identity.StoreID[0]++
	for _, c := range []Cursor{later, other, {Seq: 1}} {
		if _, err := r.List(stream, c); !errors.Is(err, ErrStale) {
			t.Errorf("cursor %+v: %v", c, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)

	s = open(t, fs) // after a clean stop cursors live on
	r = reader(t, s)
	walk, err = r.List(stream, good)
	if err != nil {
		t.Fatal(err)
	}
	if walk.Next() {
		t.Error("a session after the last")
	}
	if err := errors.Join(walk.Err(), walk.Close(), r.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{nil, good.Bytes()[1:], make([]byte, 500)} {
		if _, err := ParseCursor(b); err == nil {
			t.Errorf("a cursor of %d bytes was taken", len(b))
		}
	}
}

// An entry that a restore finds already there keeps its apply sequence: a walk
// that began before must still meet it.
func TestRestoreKeepsEntries(t *testing.T) {
	w := newWorld(7)
	src := w.sources[0]
	s := open(t, vfs.NewMem())
	defer s.Close()
	apply(t, s, w.step(src, []wire.Record{{HasSession: true, Session: sessionID(1)}}))
	before := map[string]string{}
	entries := func(f func(key, value string)) {
		if err := scan(s.db, []byte{row.TagList}, func(k, v []byte) error { f(string(k), string(v)); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	entries(func(k, v string) { before[k] = v })
	r := s.NewRestorer(src.Source)
	for _, op := range src.changelog {
		if err := r.Put(op.Key, op.Value); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Commit(2); err != nil {
		t.Fatal(err)
	}
	n := 0
	entries(func(k, v string) {
		n++
		if before[k] != v {
			t.Errorf("%s was written again", row.Describe([]byte(k)))
		}
	})
	if n != 1 || len(before) != 1 {
		t.Errorf("%d entries before, %d after", len(before), n)
	}
}
