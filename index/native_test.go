package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// nativeLog makes the values of a DeepStrike log of n records of some sessions.
func nativeLog(r *rand.Rand, n, sessions int) (raws []wire.Raw) {
	for i := range n {
		value := fmt.Sprintf(`{"kind":"signal_disposed","turn":%d,"signal_id":"s%d","disposition":"d","queue_depth":1}`, i, i)
		switch r.IntN(6) {
		case 0:
			value = fmt.Sprintf(`{"kind":"provider_attempt","effect_id":"e%d","attempt_seq":1,"usage":{"inputTokens":3,"outputTokens":1}}`, i)
		case 1:
			value = fmt.Sprintf(`{"kind":"agent_process_changed","turn":%d,"agent_id":"a%d","parent_session_id":"p","state":"joined"}`, i, i%40)
		case 2:
			value = `{"kind":"run_started","run_id":"r","goal":"g","criteria":[]}`
		case 3:
			value = fmt.Sprintf(`{"kind":"memory_written","turn":1,"record_id":"m%d","scope":"user"}`, i%9)
		}
		raws = append(raws, wire.Raw{
			Offset: uint64(i), Timestamp: int64(1000 + i), Key: fmt.Appendf(nil, "run-%d", i%sessions),
			Value: fmt.Appendf(nil, `{"seq":%d,"event":%s}`, max(0, i-[]int{0, 0, 0, 2, 50}[r.IntN(5)]), value),
		})
	}
	return raws
}

// native folds a log into a store in batches, each with the partials that the
// store gives, and gives the durable writes.
func native(t *testing.T, s *Store, src *wire.Source, raws []wire.Raw, batch func() int) (changelog []row.Op) {
	dec := wire.NewDecoder(src.Dialect, nil)
	var front fold.Frontier
	for len(raws) > 0 {
		n := min(batch(), len(raws))
		recs := dec.Decode(src, raws[:n])
		var ids []wire.ID
		for i := range recs {
			ids = append(ids, recs[i].Session)
		}
		partials, err := s.Load(src, ids)
		if err != nil {
			t.Fatal(err)
		}
		step := fold.Apply(&fold.Config{}, src, front, partials, recs)
		b := row.Encode(step)
		if err := s.Apply([]Applied{{Batch: b, ChangelogNext: 1}}); err != nil {
			t.Fatal(err)
		}
		for _, op := range b.Ops {
			if op.Durable {
				changelog = append(changelog, row.Op{Key: append([]byte(nil), op.Key...), Value: append([]byte(nil), op.Value...)})
			}
		}
		front, raws = step.Frontier, raws[n:]
	}
	return changelog
}

// TestForeignSessionsComeBack: batches that load from the store give what one
// batch gives, and so do a restore from the changelog and a copy of the store.
func TestForeignSessionsComeBack(t *testing.T) {
	for i, c := range []struct{ records, sessions, batch int }{
		{5, 1, 1}, {40, 3, 7}, {70, 1, 7}, {70, 3, 40}, // below and beyond a chunk
		{1200, 1, 100}, {1200, 1, 700}, // lists use their chunks again
	} {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		src := wire.NewSource(stream, "tasks", 7, 0, wire.RoleLane, wire.DialectDeepStrike)
		raws := nativeLog(r, c.records, c.sessions)
		whole, parts, restored, copied := open(t, vfs.NewMem()), open(t, vfs.NewMem()), open(t, vfs.NewMem()), open(t, vfs.NewMem())
		native(t, whole, src, raws, func() int { return len(raws) })
		changelog := native(t, parts, src, raws, func() int { return c.batch/2 + 1 + r.IntN(c.batch) })
		want := digest(t, whole)
		if got := digest(t, parts); got != want {
			t.Fatalf("in batches: %s, want %s", got, want)
		}
		check(t, parts)
		putAll := func(to *Store, ops []row.Op) {
			r := to.NewRestorer(src)
			for _, op := range ops {
				if err := r.Put(op.Key, op.Value); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Commit(1); err != nil {
				t.Fatal(err)
			}
		}
		putAll(restored, changelog)
		var rows []row.Op
		copier, err := parts.Copy(src)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := copier.Next()
			if err != nil {
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			rows = append(rows, b.Ops...)
		}
		putAll(copied, rows)
		for name, s := range map[string]*Store{"restored": restored, "copied": copied} {
			if got := digest(t, s); got.Partials != want.Partials || got.Sessions != want.Sessions {
				t.Fatalf("%s: %s, want %s", name, got, want)
			}
			check(t, s)
		}
		for _, s := range []*Store{whole, parts, restored, copied} {
			closeStore(t, s)
		}
	}
}

// Check sees a chunk that is missing, one that is not a partial's, and one that
// cannot be read; a load of the session says what to do.
func TestCheckSeesChunks(t *testing.T) {
	src := wire.NewSource(stream, "tasks", 7, 0, wire.RoleLane, wire.DialectDeepStrike)
	var raws []wire.Raw
	for i := range 40 {
		raws = append(raws, wire.Raw{Offset: uint64(i), Key: []byte("s"), Value: fmt.Appendf(nil, `{"seq":%d,"event":{"kind":"page_in"}}`, i)})
	}
	id := wire.NativeID(src.Dialect, stream, []byte("s"))
	k := row.PartialKey{Stream: src.StreamID, Session: id, Source: src.Key()}
	second := row.AppendChunk(nil, row.ChunkKey{PartialKey: k, List: 1, Slot: 1})
	for name, c := range map[string]struct {
		harm func(*Store) error
		want string
	}{
		"missing":    {func(s *Store) error { return s.db.Delete(second, pebble.NoSync) }, "missing; the partial has entries"},
		"unreadable": {func(s *Store) error { return s.db.Set(second, []byte{row.Version, 32, 8, 1}, pebble.NoSync) }, "ends early"},
		"left over": {func(s *Store) error {
			v, err := get(s.db, row.AppendChunk(nil, row.ChunkKey{PartialKey: k, List: 1, Slot: 0}))
			if err != nil {
				return err
			}
			return s.db.Set(row.AppendChunk(nil, row.ChunkKey{PartialKey: k, List: 2, Slot: 0}), v, pebble.NoSync)
		}, "its partial has no such chunk"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, vfs.NewMem())
			defer closeStore(t, s)
			dec := wire.NewDeepStrikeDecoder()
			step := fold.Apply(&fold.Config{}, src, fold.Frontier{}, nil, dec.Decode(src, raws))
			if err := s.Apply([]Applied{{Batch: row.Encode(step), ChangelogNext: 1}}); err != nil {
				t.Fatal(err)
			}
			check(t, s)
			if err := c.harm(s); err != nil {
				t.Fatal(err)
			}
			r, err := s.Check(context.Background())
			if err != nil || len(r.Problems) == 0 || !strings.Contains(fmt.Sprint(r.Problems), c.want) {
				t.Errorf("%v, %v; want %q", r.Problems, err, c.want)
			}
			if _, err := s.Load(src, []wire.ID{id}); (err == nil) != (name == "left over") {
				t.Errorf("load: %v", err)
			}
		})
	}
}
