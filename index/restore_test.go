package index

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// restore replays a source's changelog from the offset the store reached.
func restore(t tb, s *Store, src *worldSource) {
	t.Helper()
	m, _, err := s.Meta(src.Source)
	if err != nil {
		t.Fatal(err)
	}
	r := s.NewRestorer(src.Source)
	for _, op := range src.changelog[m.ChangelogNext:] {
		if err := r.Put(bytes.Clone(op.Key), bytes.Clone(op.Value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Commit(int64(len(src.changelog))); err != nil {
		t.Fatal(err)
	}
}

// applyAt applies the world's batches of a source from the one that begins
// where the store stands, with changelog offsets as restore counts them.
func applyRest(t tb, s *Store, src *worldSource) {
	t.Helper()
	m, _, err := s.Meta(src.Source)
	if err != nil {
		t.Fatal(err)
	}
	ops := 0
	for _, b := range src.batches {
		for _, op := range b.Ops {
			if op.Durable {
				ops++
			}
		}
		if b.From >= m.Frontier.Next {
			if err := s.Apply([]Applied{{Batch: b, ChangelogNext: int64(ops)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A store that lost its last batches, or all, is as it was after a restore, but
// for timeline rows; folding those offsets again brings the rows back.
func TestRestoreAndRebuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		s := open(t, vfs.NewMem())
		for range rapid.IntRange(0, 4).Draw(t, "applied batches") {
			w.draw(t, 5, 20)
		}
		for _, src := range w.sources {
			applyRest(t, s, src)
		}
		for range rapid.IntRange(1, 4).Draw(t, "lost batches") {
			w.draw(t, 5, 20)
		}
		for _, src := range w.sources {
			restore(t, s, src)
			if rapid.Bool().Draw(t, "twice") {
				restore(t, s, src)
			}
		}
		check(t, s)
		whole := w.refold(t, 7)
		want, got := digest(t, whole), digest(t, s)
		if got.Partials != want.Partials || got.Sources != want.Sources || got.Sessions != want.Sessions {
			t.Fatalf("after the restore:\n%s, want\n%s", got, want)
		}
		for _, src := range w.sources {
			rebuild(t, s, w, src)
		}
		if got = digest(t, s); got != want {
			t.Fatalf("after the rebuild:\n%s, want\n%s", got, want)
		}
		check(t, s)
		closeStore(t, s)
		closeStore(t, whole)
	})
}

// rebuild folds the log again from its beginning, in batches cut at the holes.
func rebuild(t *rapid.T, s *Store, w *world, src *worldSource) {
	t.Helper()
	m, _, err := s.Meta(src.Source)
	if err != nil {
		t.Fatal(err)
	}
	if (len(m.Holes) > 0) != m.State().Rebuilding {
		t.Fatalf("holes %v, rebuilding %v", m.Holes, m.State().Rebuilding)
	}
	cuts := map[uint64]bool{}
	for _, h := range m.Holes {
		cuts[h.From], cuts[h.To+1] = true, true
	}
	again := &worldSource{Source: src.Source, partials: map[wire.ID]*fold.Partial{}, states: map[wire.ID]*state.State{}}
	for start := 0; start < len(src.log); {
		end := start + 1
		for end < len(src.log) && !crosses(cuts, src.log[end-1].Offset+1, src.log[end].Offset) && rapid.IntRange(0, 5).Draw(t, "cut") > 0 {
			end++
		}
		b := w.step(again, src.log[start:end])
		if err := s.ApplyRows(b); err != nil {
			t.Fatal(err)
		}
		start = end
	}
	if m, _, err = s.Meta(src.Source); err != nil || len(m.Holes) > 0 {
		t.Fatalf("holes after the rebuild: %v, %v", m.Holes, err)
	}
}

func crosses(cuts map[uint64]bool, from, to uint64) bool {
	for o := from; o <= to; o++ {
		if cuts[o] {
			return true
		}
	}
	return false
}

// Restoring more than fits into one write marks the source until the end.
func TestRestoreInParts(t *testing.T) {
	w := newWorld(7)
	src := w.sources[0]
	tags := make([][]byte, 16)
	for i := range tags {
		tags[i] = bytes.Repeat([]byte{byte('a' + i)}, 64)
	}
	const sessions = 5_000
	var recs []wire.Record
	for n := range uint64(sessions) {
		recs = append(recs, wire.Record{Offset: n, HasSession: true, Session: sessionID(int(n)), Display: wire.DisplaySessionStarted, Facts: wire.FactLane,
			Lifecycle: &wire.Lifecycle{Status: wire.StatusActive, Start: &wire.Start{Tags: tags}}})
	}
	w.step(src, recs)
	s := open(t, vfs.NewMem())
	defer s.Close()
	r := s.NewRestorer(src.Source)
	for _, op := range src.changelog {
		if err := r.Put(op.Key, op.Value); err != nil {
			t.Fatal(err)
		}
	}
	if m, _, err := s.Meta(src.Source); err != nil || !m.Restoring || m.ChangelogNext != 0 {
		t.Errorf("in the middle: %+v, %v", m, err)
	}
	if err := r.Commit(12); err != nil {
		t.Fatal(err)
	}
	m, _, err := s.Meta(src.Source)
	if err != nil || m.Restoring || m.ChangelogNext != 12 || m.Frontier.Next != sessions || m.AppliedAt.IsZero() {
		t.Errorf("at the end: %+v, %v", m, err)
	}
	if r := check(t, s); r.Partials != sessions || r.Entries != sessions || r.Rows != 0 || len(r.Notes) != 1 {
		t.Errorf("check: %+v", r)
	}
}

// Records that do not belong to the source end the restore with their name.
func TestRestoreRefuses(t *testing.T) {
	w := newWorld(7)
	src := w.sources[0]
	w.step(src, []wire.Record{{HasSession: true, Session: sessionID(1)}})
	w.step(w.sources[1], []wire.Record{{HasSession: true, Session: sessionID(2)}})
	partial, meta := w.sources[1].changelog[0], w.sources[1].changelog[1]
	own := src.changelog[0]
	s := open(t, vfs.NewMem())
	defer s.Close()
	for name, c := range map[string]struct {
		key, value []byte
		want       string
	}{
		"other partial": {partial.Key, partial.Value, "not of "},
		"other meta":    {meta.Key, meta.Value, "not of "},
		"damaged":       {own.Key, own.Value[:3], "row: partial, byte 3"},
		"deletion":      {own.Key, nil, fmt.Sprintf("format version %d does not know", row.Version)},
		"pack":          {row.AppendPack(nil, row.PackKey{}), []byte{1}, "is no partial key"},
		"nothing":       {nil, []byte{1}, "is no partial key"},
	} {
		if err := s.NewRestorer(src.Source).Put(c.key, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A changelog that ends before the store was made again or cut.
func TestRestoreOfAnOlderChangelog(t *testing.T) {
	w := newWorld(7)
	src := w.sources[0]
	rec := wire.Record{HasSession: true, Session: sessionID(1)}
	apply0 := w.step(src, []wire.Record{rec})
	old := src.changelog
	rec.Offset = 1
	s := open(t, vfs.NewMem())
	defer s.Close()
	apply(t, s, apply0)
	apply(t, s, w.step(src, []wire.Record{rec}))
	r := s.NewRestorer(src.Source)
	for _, op := range old {
		if err := r.Put(op.Key, op.Value); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Commit(2); err == nil || !strings.Contains(err.Error(), "cut or made again") {
		t.Errorf("commit: %v", err)
	}
	check(t, s)
}

func TestApplyRowsRefusesCrossing(t *testing.T) {
	for _, c := range []struct {
		span row.Span
		in   bool
		ok   bool
	}{
		{row.Span{From: 10, To: 19}, true, true}, {row.Span{From: 12, To: 12}, true, true}, {row.Span{From: 0, To: 9}, false, true},
		{row.Span{From: 20, To: 29}, false, true}, {row.Span{From: 9, To: 10}, false, false}, {row.Span{From: 19, To: 20}, false, false},
		{row.Span{From: 0, To: 100}, false, false},
	} {
		in, err := within([]row.Span{{From: 10, To: 19}, {From: 40, To: 40}}, c.span)
		if in != c.in || (err == nil) != c.ok {
			t.Errorf("%v: %v, %v", c.span, in, err)
		}
	}
}
