package worker

import (
	"testing"

	"sessionfold/fold"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// A session that a batch only links to is loaded like those that its records
// are of: what the store knows of it goes on, in the cache or not.
func TestLinkedSessionsAreLoaded(t *testing.T) {
	src := wire.NewSource("s", "s.agent.sessions", 1, 0, wire.RoleLane, wire.DialectAGDX)
	stored := map[wire.ID]*fold.Partial{}
	asked := map[wire.ID]int{}
	part := NewPart(PartConfig{
		Source: src, Fold: &fold.Config{}, Memory: NewMemory(agdx), CacheSessions: 1,
		Load: func(_ *wire.Source, ids []wire.ID) (map[wire.ID]*fold.Partial, error) {
			out := map[wire.ID]*fold.Partial{}
			for _, id := range ids {
				asked[id]++
				if p := stored[id]; p != nil {
					out[id] = p
				}
			}
			return out, nil
		},
	}, fold.Frontier{})
	l := agdxlog.New("s")
	offset := uint64(0)
	commit := func() {
		t.Helper()
		var raw []wire.Raw
		for _, r := range l.Records {
			raw = append(raw, wire.Raw{Offset: offset, Timestamp: int64(offset), Key: r.Key, Value: r.Value, Headers: r.Headers})
			offset++
		}
		l.Records = nil
		if _, err := part.Fold(raw); err != nil {
			t.Fatal(err)
		}
		for id, p := range part.pending[len(part.pending)-1] {
			stored[id] = p
		}
		part.Applied()
	}
	to := func(id wire.ID, item string) agdxlog.Resource {
		return agdxlog.Resource{Surface: "kv", Resource: "r", Item: item, Relation: "wrote", Session: &agdxlog.SessionRef{Stream: "s", Session: id}}
	}
	a, b, c := l.Session("a", "ann"), l.Session("b", "bob"), agdxlog.NameID("s", "c")
	b.Note("hello")
	commit()
	a.Link(wire.RoleLane, to(b.ID, "one"))
	a.Link(wire.RoleLane, to(c, "one"))
	commit()
	a.Link(wire.RoleLane, to(b.ID, "two"))
	a.Link(wire.RoleLane, to(c, "two"))
	commit()
	if p := stored[b.ID]; p.Records != 1 || p.Links.N != 2 || p.Aside != nil {
		t.Errorf("b: %d records, %+v, %+v", p.Records, p.Links, p.Aside)
	}
	if p := stored[c]; p.Records != 0 || p.Links.N != 2 || p.Aside == nil || p.Aside.Mention.Offset != 2 {
		t.Errorf("c: %d records, %+v, %+v", p.Records, p.Links, p.Aside)
	}
	if asked[c] == 0 {
		t.Error("a session that is only linked to was not asked for")
	}
}
