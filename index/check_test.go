package index

import (
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// damaged is a store of two sessions whose keys the test then harms.
func damaged(t *testing.T) (*Store, *worldSource, row.PartialKey) {
	t.Helper()
	w := newWorld(7)
	src := w.sources[0]
	s := open(t, vfs.NewMem())
	t.Cleanup(func() { closeStore(t, s) })
	start := &wire.Lifecycle{Status: wire.StatusActive, Start: &wire.Start{}}
	apply(t, s, w.step(src, []wire.Record{
		{Offset: 0, Time: 5, HasSession: true, Session: sessionID(1), Display: wire.DisplayAgentMessage},
		{Offset: 1, Time: 6, HasSession: true, Session: sessionID(1), Display: wire.DisplaySessionStarted, Lifecycle: start},
		{Offset: 2, Time: 7, HasSession: true, Session: sessionID(2), Display: wire.DisplayAgentMessage},
	}))
	check(t, s)
	return s, src, row.PartialKey{Stream: src.StreamID, Session: sessionID(1), Source: src.Key()}
}

// Check finds every kind of harm, and names the key.
func TestCheckFindsHarm(t *testing.T) {
	set := func(s *Store, key, value []byte) {
		if err := s.db.Set(key, value, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	del := func(s *Store, key []byte) {
		if err := s.db.Delete(key, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	change := func(s *Store, k row.PartialKey, f func(*fold.Partial)) {
		key := row.AppendPartial(nil, k)
		p, err := getPartial(s.db, key)
		if err != nil {
			t.Fatal(err)
		}
		f(p)
		set(s, key, row.AppendPartialValue(nil, p))
	}
	entry := func(k row.PartialKey, kind row.EntryKind, time uint64) []byte {
		return row.AppendList(nil, row.ListKey{Stream: k.Stream, Session: k.Session, Source: k.Source, Kind: kind, Time: time})
	}
	pack := func(k row.PartialKey, first uint64) []byte {
		return row.AppendPack(nil, row.PackKey{PartialKey: k, First: first})
	}
	for name, c := range map[string]struct {
		harm func(s *Store, src *worldSource, k row.PartialKey)
		want string
	}{
		"start entry lost": {func(s *Store, _ *worldSource, k row.PartialKey) { del(s, entry(k, row.EntryStart, 6)) }, "its list entry start at 6 µs is missing"},
		"first entry lost": {func(s *Store, _ *worldSource, k row.PartialKey) { del(s, entry(k, row.EntryFirst, 5)) }, "its list entry first at 5 µs is missing"},
		"stray entry": {func(s *Store, _ *worldSource, k row.PartialKey) {
			set(s, entry(k, row.EntryStart, 9), row.AppendSeq(nil, 1))
		}, "does not follow from its partial"},
		"entry of nobody": {func(s *Store, _ *worldSource, k row.PartialKey) {
			k.Session = sessionID(3)
			set(s, entry(k, row.EntryFirst, 5), row.AppendSeq(nil, 1))
		}, "no partial to follow from"},
		"entry of the future": {func(s *Store, _ *worldSource, k row.PartialKey) {
			set(s, entry(k, row.EntryFirst, 5), row.AppendSeq(nil, 99))
		}, "apply sequence 99 of 1"},
		"entry damaged": {func(s *Store, _ *worldSource, k row.PartialKey) { set(s, entry(k, row.EntryFirst, 5), nil) }, "apply sequence, byte 0: empty"},
		"rows too many": {func(s *Store, _ *worldSource, k row.PartialKey) { change(s, k, func(p *fold.Partial) { p.Rows-- }) }, "counts 1 timeline rows, 2 are stored"},
		"rows too few": {func(s *Store, _ *worldSource, k row.PartialKey) {
			change(s, k, func(p *fold.Partial) { p.Records, p.Rows = 3, 3 })
		}, "counts 3 timeline rows, 2 are stored"},
		"ahead": {func(s *Store, _ *worldSource, k row.PartialKey) {
			change(s, k, func(p *fold.Partial) { p.Last.Offset = 9 })
		}, "not below the frontier 3"},
		"no records": {func(s *Store, _ *worldSource, k row.PartialKey) {
			change(s, k, func(p *fold.Partial) { p.Records = 0 })
		}, "0 records"},
		"past the cap": {func(s *Store, _ *worldSource, k row.PartialKey) {
			change(s, k, func(p *fold.Partial) { p.Truncated, p.TruncatedFrom = true, 1 })
		}, "row of offset 1 outside"},
		"partial lost": {func(s *Store, _ *worldSource, k row.PartialKey) { del(s, row.AppendPartial(nil, k)) }, "rows of a session without a partial"},
		"partial broken": {func(s *Store, _ *worldSource, k row.PartialKey) {
			set(s, row.AppendPartial(nil, k), []byte{row.Version})
		}, "partial, byte 1: ends early"},
		"pack lost":   {func(s *Store, _ *worldSource, k row.PartialKey) { del(s, pack(k, 0)) }, "which is missing"},
		"pack broken": {func(s *Store, _ *worldSource, k row.PartialKey) { set(s, pack(k, 0), []byte{row.Version, 1, 255}) }, "pack, byte"},
		"pack unnamed": {func(s *Store, src *worldSource, k row.PartialKey) {
			del(s, row.AppendBatch(nil, row.BatchKey{SourceID: row.IDOf(src.Source)}))
		}, "batches name 0 packs, 2 are stored"},
		"batch broken": {func(s *Store, src *worldSource, k row.PartialKey) {
			set(s, row.AppendBatch(nil, row.BatchKey{SourceID: row.IDOf(src.Source)}), []byte{9})
		}, "format version 9"},
		"meta lost": {func(s *Store, src *worldSource, _ row.PartialKey) {
			del(s, row.AppendSource(nil, row.IDOf(src.Source)))
		}, "its source has no meta"},
		"meta broken": {func(s *Store, src *worldSource, _ row.PartialKey) {
			set(s, row.AppendSource(nil, row.IDOf(src.Source)), []byte{row.Version, 9})
		}, "source meta, byte 2"},
		"local broken": {func(s *Store, src *worldSource, _ row.PartialKey) {
			set(s, row.AppendLocal(nil, row.IDOf(src.Source)), []byte{row.Version})
		}, "local source state, byte 1"},
		"other names": {func(s *Store, src *worldSource, _ row.PartialKey) {
			m := row.MetaOf(src.Source, src.front)
			m.Topic = "elsewhere"
			set(s, row.AppendSource(nil, row.IDOf(src.Source)), row.AppendSourceMeta(nil, &m))
		}, "which have other numbers"},
		"gaps": {func(s *Store, src *worldSource, _ row.PartialKey) {
			m := row.MetaOf(src.Source, src.front)
			m.Frontier.Gaps = []fold.Gap{{From: 1, To: 7, Reason: fold.GapExpiredBeforeFold}}
			set(s, row.AppendSource(nil, row.IDOf(src.Source)), row.AppendSourceMeta(nil, &m))
		}, "gap of offsets 1 to 7"},
		"counts": {func(s *Store, src *worldSource, _ row.PartialKey) {
			m := row.MetaOf(src.Source, src.front)
			m.Frontier.Records = 50
			set(s, row.AppendSource(nil, row.IDOf(src.Source)), row.AppendSourceMeta(nil, &m))
		}, "counts do not fit"},
		"stranger": {func(s *Store, _ *worldSource, _ row.PartialKey) { set(s, []byte("zebra"), nil) }, "a key of no known kind"},
		"bad key":  {func(s *Store, _ *worldSource, _ row.PartialKey) { set(s, []byte("page"), nil) }, "is no partial key"},
	} {
		t.Run(name, func(t *testing.T) {
			s, src, k := damaged(t)
			c.harm(s, src, k)
			r, err := s.Check(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range r.Problems {
				if strings.Contains(p.String(), c.want) && p.Key != "" {
					return
				}
			}
			t.Errorf("%d problems, none with %q: %v", r.Total, c.want, r.Problems)
		})
	}
}

func TestCheckStops(t *testing.T) {
	s, _, _ := damaged(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Check(ctx); err == nil {
		t.Error("a check went on after its context ended")
	}
}
