package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sessionfold/index/row"
	"sessionfold/wire"
)

// keysOf lists the keys that belong to a source, whatever their kind.
func keysOf(t tb, s *Store, id row.SourceID) (out []string) {
	t.Helper()
	err := scanRange(s.db, nil, nil, func(key, _ []byte) (bool, error) {
		if bytes.Contains(key, id.Source[:]) {
			out = append(out, row.Describe(key))
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A source that is removed leaves nothing behind and takes nothing along; a
// restore brings it back.
func TestRemoveSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		s := open(t, vfs.NewMem())
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			w.draw(t, 5, 20)
		}
		for _, src := range w.sources {
			applyRest(t, s, src)
		}
		before := digest(t, s)
		gone := w.sources[rapid.IntRange(0, 2).Draw(t, "gone")]
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.RemoveSource(ctx, gone.Source); !errors.Is(err, context.Canceled) {
			t.Fatalf("a removal that is cut off: %v", err)
		}
		if m, ok, err := s.Meta(gone.Source); err != nil || !ok || !m.Removing || !m.State().Rebuilding {
			t.Fatalf("a removal that was cut off is not marked: %+v, %v, %v", m, ok, err)
		}
		check(t, s)
		if err := s.RemoveSource(context.Background(), gone.Source); err != nil {
			t.Fatal(err)
		}
		check(t, s)
		if left := keysOf(t, s, row.IDOf(gone.Source)); len(left) > 0 {
			t.Fatalf("%d keys are left: %s", len(left), left[0])
		}
		others := open(t, vfs.NewMem())
		for _, src := range w.sources {
			if src != gone {
				applyRest(t, others, src)
			}
		}
		if got, want := digest(t, s), digest(t, others); got != want {
			t.Fatalf("the other sources changed:\n%s, want\n%s", got, want)
		}
		restore(t, s, gone)
		rebuild(t, s, w, gone)
		check(t, s)
		if got := digest(t, s); got != before {
			t.Fatalf("after the restore:\n%s, want\n%s", got, before)
		}
		closeStore(t, s)
		closeStore(t, others)
	})
}

// A walk that was begun before a removal is refused: what comes back would be
// missing from it.
func TestRemovalEndsWalks(t *testing.T) {
	w := newWorld(7)
	s := open(t, vfs.NewMem())
	defer closeStore(t, s)
	rapid.Check(t, func(t *rapid.T) { w.draw(t, 5, 3) })
	src := w.sources[0]
	applyRest(t, s, src)
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	walk, err := r.List(stream, Cursor{})
	if err != nil || !walk.Next() {
		t.Fatal("no session to walk over", err)
	}
	cursor := walk.Cursor()
	if err := errors.Join(walk.Close(), r.Close(), s.RemoveSource(context.Background(), src.Source)); err != nil {
		t.Fatal(err)
	}
	applyRest(t, s, src)
	if r, err = s.Reader(); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.List(stream, cursor); !errors.Is(err, ErrStale) {
		t.Fatalf("a cursor of before the removal: %v", err)
	}
}

// A source that is begun anew counts every record once, at any point of the new
// fold, in this store and in one that restores from the changelog.
func TestResetCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		s := open(t, vfs.NewMem())
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			w.draw(t, 5, 20)
		}
		for _, src := range w.sources {
			applyRest(t, s, src)
		}
		want := digest(t, s)
		src := w.sources[rapid.IntRange(0, 2).Draw(t, "anew")]
		until, seq := src.front.Next, src.front.Seq
		if until == 0 {
			return
		}
		b := row.ResetBatch(src.Source, seq, until, 0)
		if b.Frontier.Seq != seq+1 || len(b.Changes) != 1 || b.Changes[0].Seq != seq+1 {
			t.Fatalf("the change sequence does not go on: %+v", b.Changes)
		}
		changelog := append(append([]row.Op{}, src.changelog...), b.Ops...)
		if err := s.Apply([]Applied{{Batch: b, ChangelogNext: int64(len(changelog))}}); err != nil {
			t.Fatal(err)
		}
		batches := src.batches
		for i, b := range batches {
			check(t, s)
			m, _, err := s.Meta(src.Source)
			if err != nil || m.State().RefoldTo != until || m.Frontier.Next != b.From && i > 0 {
				t.Fatalf("before batch %d: %+v, %v", i, m, err)
			}
			if rapid.Bool().Draw(t, "another owner") {
				s2 := open(t, vfs.NewMem())
				if rapid.Bool().Draw(t, "that had the source before") {
					applyRest(t, s2, src)
				}
				src.changelog, changelog = changelog, src.changelog
				restore(t, s2, src)
				src.changelog, changelog = changelog, src.changelog
				d1, d2 := oneSource(t, s, src.Source), oneSource(t, s2, src.Source)
				if d1 != d2 {
					t.Fatalf("a store restored in the middle differs:\n%s\n%s", d1, d2)
				}
				check(t, s2)
				closeStore(t, s2)
			}
			for _, op := range b.Ops {
				if op.Durable {
					changelog = append(changelog, op)
				}
			}
			if err := s.Apply([]Applied{{Batch: b, ChangelogNext: int64(len(changelog))}}); err != nil {
				t.Fatal(err)
			}
		}
		check(t, s)
		if m, _, _ := s.Meta(src.Source); m.State().RefoldTo != 0 {
			t.Fatal("it is still being rebuilt at the end")
		}
		if got := digest(t, s); got != want {
			t.Fatalf("after the new fold:\n%s, want\n%s", got, want)
		}
		closeStore(t, s)
	})
}

// oneSource prints the partials of a source, decoded state and links included.
func oneSource(t tb, s *Store, src *wire.Source) string {
	t.Helper()
	var out bytes.Buffer
	for _, tag := range durableTags {
		err := scan(s.db, row.AppendStream(nil, tag, src.StreamID), func(key, value []byte) error {
			if id, err := row.DurableSource(key); err == nil && id == row.IDOf(src) {
				fmt.Fprintf(&out, "%x %x\n", key, value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// A changelog that was lost is written again from the store, and a store that
// restores from the new one is the same.
func TestCopyIsAChangelog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		s := open(t, vfs.NewMem())
		for range rapid.IntRange(1, 5).Draw(t, "batches") {
			w.draw(t, 5, 20)
		}
		for _, src := range w.sources {
			applyRest(t, s, src)
		}
		src := w.sources[rapid.IntRange(0, 2).Draw(t, "source")]
		if src.front.Next == 0 {
			return
		}
		c, err := s.Copy(src.Source)
		if err != nil {
			t.Fatal(err)
		}
		half := rapid.Bool().Draw(t, "what a copy that was cut off left")
		var changelog []row.Op
		if half { // of an older state, without its meta
			changelog = append(changelog, src.changelog[:len(src.changelog)/2]...)
			for i := 0; i < len(changelog); {
				if changelog[i].Key[0] == row.TagSource {
					changelog = append(changelog[:i:i], changelog[i+1:]...)
					continue
				}
				i++
			}
		}
		if half && len(changelog) > 0 { // and of a session that the store does not know
			stray := row.PartialKey{Stream: src.StreamID, Session: sessionID(999), Source: src.Key()}
			for _, op := range changelog {
				if op.Key[0] == row.TagPartial {
					changelog = append(changelog, row.Op{Key: row.AppendPartial(nil, stray), Value: op.Value, Durable: true})
					break
				}
			}
		}
		for {
			b, err := c.Next()
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			changelog = append(changelog, b.Ops...)
			if err := s.Apply([]Applied{{Batch: b, ChangelogNext: int64(len(changelog)), ChangelogID: 9}}); err != nil {
				t.Fatal(err)
			}
		}
		if m, _, err := s.Meta(src.Source); err != nil || m.ChangelogNext != int64(len(changelog)) || m.ChangelogID != 9 {
			t.Fatalf("the store does not stand on the new changelog: %+v, %v", m, err)
		}
		s2 := open(t, vfs.NewMem())
		src.changelog = changelog
		restore(t, s2, src)
		check(t, s2)
		if got, want := oneSource(t, s2, src.Source), oneSource(t, s, src.Source); got != want {
			t.Fatalf("restored from the copy:\n%s, want\n%s", got, want)
		}
		closeStore(t, s)
		closeStore(t, s2)
	})
}
