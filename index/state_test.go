package index

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// stateRec is a record with a state body in JSON.
func stateRec(offset uint64, id wire.ID, snapshot bool, body string) wire.Record {
	return wire.Record{
		Offset: offset, Time: offset + 5, HasSession: true, Session: id, Kind: wire.KindEvent, Display: wire.DisplayStateUpdated, Facts: wire.FactLane,
		Rare: &wire.Rare{State: wire.DecodeState(snapshot, wire.ContentJSON, []byte(body))},
	}
}

// documented is a store with one session whose document has a base of two
// pieces, three patches since and five outcomes.
func documented(t *testing.T) (*Store, *worldSource, row.PartialKey) {
	t.Helper()
	w := newWorld(7)
	src := w.sources[0]
	s := open(t, vfs.NewMem())
	t.Cleanup(func() { closeStore(t, s) })
	id := sessionID(1)
	recs := []wire.Record{stateRec(0, id, true, fmt.Sprintf(`{"base_revision":7,"document":{"long":%q}}`, strings.Repeat("x", 600_000)))}
	for i := range 3 {
		recs = append(recs, stateRec(uint64(i+1), id, false, fmt.Sprintf(`{"base_revision":%d,"op_id":"op%d","patch":[{"op":"add","path":"/k%d","value":"secret"}]}`, 7+i, i, i)))
	}
	recs = append(recs, stateRec(4, id, false, `{"base_revision":10,"op_id":"op1","patch":[]}`))
	apply(t, s, w.step(src, recs))
	check(t, s)
	return s, src, row.PartialKey{Stream: src.StreamID, Session: id, Source: src.Key()}
}

// TestLoadState: the document comes back from its rows as it was folded.
func TestLoadState(t *testing.T) {
	s, src, k := documented(t)
	got, err := s.LoadState(src.Source, k.Session)
	if err != nil {
		t.Fatal(err)
	}
	want := src.states[k.Session]
	if got.Info != want.Info || got.Doc.Text() != want.Doc.Text() || got.Doc.Digest() != want.Doc.Digest() {
		t.Errorf("loaded %+v, folded %+v", got.Info, want.Info)
	}
	if got.Revision != 10 || got.Base != 1 || got.Slots != 3 || got.Duplicates != 1 {
		t.Errorf("the test does not test what it says: %+v", got.Info)
	}
	if st, err := s.LoadState(src.Source, sessionID(2)); st != nil || err != nil {
		t.Errorf("a session without state: %v, %v", st, err)
	}
	r := reader(t, s)
	defer r.Close()
	ks, err := r.Session(stream, k.Session)
	if err != nil {
		t.Fatal(err)
	}
	m := fold.Merge(k.Session, ks)
	history, err := r.History(k.Session, m.State, 2)
	if err != nil || len(history) != 2 || history[0].OpID != "op2" || history[1].Outcome.String() != "duplicate" {
		t.Errorf("the last two outcomes: %+v, %v", history, err)
	}
}

// TestCheckFindsHarmOfState: every kind of harm to a document is found.
func TestCheckFindsHarmOfState(t *testing.T) {
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
	edit := func(s *Store, key []byte, f func([]byte) []byte) {
		v, err := get(s.db, key)
		if err != nil || v == nil {
			t.Fatal("no such row", err)
		}
		set(s, key, f(v))
	}
	base := func(k row.PartialKey, n uint32) []byte {
		return row.AppendBase(nil, row.SlotKey{PartialKey: k, Slot: n})
	}
	log := func(k row.PartialKey, n uint32) []byte {
		return row.AppendLog(nil, row.SlotKey{PartialKey: k, Slot: n})
	}
	for name, c := range map[string]struct {
		harm func(s *Store, k row.PartialKey)
		want string
	}{
		"piece lost":    {func(s *Store, k row.PartialKey) { del(s, base(k, 1)) }, "slot 1: it is missing"},
		"first piece":   {func(s *Store, k row.PartialKey) { del(s, base(k, 0)) }, "where slot 0 of base 1 belongs"},
		"piece damaged": {func(s *Store, k row.PartialKey) { set(s, base(k, 1), []byte{row.Version}) }, "state slot, byte 1: ends early"},
		"piece changed": {func(s *Store, k row.PartialKey) {
			edit(s, base(k, 0), func(v []byte) []byte { v[100] = 'y'; return v })
		}, "does not have the digest"},
		"piece shorter": {func(s *Store, k row.PartialKey) {
			edit(s, base(k, 1), func(v []byte) []byte { return v[:len(v)-1] })
		}, "the base has"},
		"patch lost":     {func(s *Store, k row.PartialKey) { del(s, log(k, 2)) }, "slot 2: it is missing"},
		"patch of other": {func(s *Store, k row.PartialKey) { edit(s, log(k, 2), func(v []byte) []byte { v[1]++; return v }) }, "it is of base 2"},
		"patch changed": {func(s *Store, k row.PartialKey) {
			edit(s, log(k, 2), func(v []byte) []byte { v[len(v)-2] = '!'; return v })
		}, "does not have the digest"},
		"patch broken":    {func(s *Store, k row.PartialKey) { edit(s, log(k, 0), func(v []byte) []byte { v[2] = 99; return v }) }, "log of patches is damaged"},
		"outcome lost":    {func(s *Store, k row.PartialKey) { del(s, row.AppendHistory(nil, k, 2)) }, "slot 2: it is missing"},
		"newest outcome":  {func(s *Store, k row.PartialKey) { del(s, row.AppendHistory(nil, k, 4)) }, "slot 4: it is missing"},
		"outcome damaged": {func(s *Store, k row.PartialKey) { set(s, row.AppendHistory(nil, k, 2), []byte{row.Version}) }, "state outcome, byte 1"},
		"outcome of old": {func(s *Store, k row.PartialKey) {
			v, _ := get(s.db, row.AppendHistory(nil, k, 1))
			set(s, row.AppendHistory(nil, k, 2), v)
		}, "it is outcome 1 where 2 belongs"},
		"of nobody": {func(s *Store, k row.PartialKey) {
			v, _ := get(s.db, log(k, 1))
			k.Session = sessionID(3)
			set(s, log(k, 1), v)
		}, "of a session without state"},
	} {
		t.Run(name, func(t *testing.T) {
			s, src, k := documented(t)
			c.harm(s, k)
			r, err := s.Check(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, p := range r.Problems {
				found = found || strings.Contains(p.String(), c.want) && p.Key != ""
			}
			if !found {
				t.Errorf("%d problems, none with %q: %v", r.Total, c.want, r.Problems)
			}
			if _, err := s.LoadState(src.Source, k.Session); err == nil && name != "of nobody" {
				t.Error("the document was loaded all the same")
			} else if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "xxx")) {
				t.Errorf("content in an error: %v", err)
			}
		})
	}
}

// TestHistoryTurnsAround: with more outcomes than slots the last 1,000 are read
// in their order, wherever the turn lies.
func TestHistoryTurnsAround(t *testing.T) {
	w := newWorld(7)
	src := w.sources[0]
	s := open(t, vfs.NewMem())
	t.Cleanup(func() { closeStore(t, s) })
	id, next := sessionID(1), uint64(0)
	for _, n := range []int{1, 998, 1, 1, 700, 299, 1, 1500} {
		var recs []wire.Record
		for range n {
			recs = append(recs, stateRec(next, id, false, fmt.Sprintf(`{"base_revision":%d,"op_id":"op%d","patch":[{"op":"add","path":"/n","value":%d}]}`, next, next, next)))
			next++
		}
		apply(t, s, w.step(src, recs))
		check(t, s)
		if st, err := s.LoadState(src.Source, id); err != nil || st.Revision != next || st.Info != src.states[id].Info {
			t.Fatalf("after %d outcomes: %+v, %v", next, st, err)
		}
		r := reader(t, s)
		ks, err := r.Session(stream, id)
		if err != nil {
			t.Fatal(err)
		}
		m := fold.Merge(id, ks)
		for _, limit := range []int{1, 7, 1000, 5000} {
			got, err := r.History(id, m.State, limit)
			if want := min(next, uint64(limit), 1000); err != nil || uint64(len(got)) != want {
				t.Fatalf("%d of %d outcomes: %d, %v", limit, next, len(got), err)
			}
			for i := range got {
				if want := next - uint64(len(got)-i); got[i].Number != want || got[i].Offset != want || got[i].Revision != want+1 {
					t.Fatalf("of %d outcomes number %d is %+v", next, want, got[i])
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
