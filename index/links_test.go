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

// linkedWorld is a store of a session with links, of its child and of one that
// is only linked to.
func linkedWorld(t *testing.T) (*world, *Store, *worldSource) {
	t.Helper()
	w := newWorld(7)
	src := w.sources[0]
	s := open(t, vfs.NewMem())
	t.Cleanup(func() { closeStore(t, s) })
	link := func(id int, item string) []wire.Link {
		return []wire.Link{{Session: sessionID(id), Surface: wire.SurfaceKV, Relation: wire.RelationWrote, Item: []byte(item)}}
	}
	apply(t, s, w.step(src, []wire.Record{
		{Offset: 0, Time: 5, HasSession: true, Session: sessionID(1), Display: wire.DisplayKVSet, Rare: &wire.Rare{Links: link(1, "a")}},
		{Offset: 1, Time: 6, HasSession: true, Session: sessionID(1), Display: wire.DisplayKVSet, Rare: &wire.Rare{Links: link(3, "b")}},
		{Offset: 2, Time: 7, HasSession: true, Session: sessionID(2), Display: wire.DisplayAgentMessage, HasParent: true, Parent: sessionID(1)},
		{Offset: 3, Time: 8, HasSession: true, Session: sessionID(2), Display: wire.DisplayAgentMessage, HasParent: true, Parent: sessionID(4)},
	}))
	if r := check(t, s); r.Linked != 2 || r.Sessions != 3 {
		t.Fatalf("%+v", r)
	}
	return w, s, src
}

func TestLinksAndChildren(t *testing.T) {
	w, s, src := linkedWorld(t)
	// A second source names the same child; one batch later the links change.
	other := w.sources[1]
	apply(t, s, w.step(other, []wire.Record{
		{Offset: 0, Time: 9, HasSession: true, Session: sessionID(2), Display: wire.DisplayAgentMessage, HasParent: true, Parent: sessionID(1)},
		{Offset: 1, Time: 9, HasSession: true, Session: sessionID(5), Display: wire.DisplayAgentMessage, HasParent: true, Parent: sessionID(1)},
	}))
	b := w.step(src, []wire.Record{{Offset: 4, Time: 10, HasSession: true, Session: sessionID(1), Display: wire.DisplayAgentMessage}})
	for _, op := range b.Ops {
		if op.Key[0] == row.TagLinks || op.Key[0] == row.TagChild {
			t.Errorf("a step that changed no links writes %s", row.Describe(op.Key))
		}
	}
	apply(t, s, b)
	check(t, s)

	r := reader(t, s)
	defer r.Close()
	ks, err := r.Session(stream, sessionID(1))
	if err != nil || ks[0].Partial.Links.List != nil {
		t.Fatalf("read without links: %+v, %v", ks, err)
	}
	if err := r.Links(sessionID(1), ks); err != nil || len(ks[0].Partial.Links.List) != 1 || ks[0].Partial.Links.List[0].Item != "a" {
		t.Errorf("links %+v, %v", ks[0].Partial.Links, err)
	}
	ids, more, err := r.ChildIDs(stream, sessionID(1), 10)
	if err != nil || more || len(ids) != 2 {
		t.Errorf("children %v, more %t, %v", ids, more, err)
	}
	if ids, more, _ := r.ChildIDs(stream, sessionID(1), 1); len(ids) != 1 || !more {
		t.Errorf("one child: %v, more %t", ids, more)
	}
	if ids, more, _ := r.ChildIDs(stream, sessionID(4), 1); len(ids) != 1 || more {
		t.Errorf("of another parent: %v, more %t", ids, more)
	}
	var got []fold.Child
	if err := r.Children(stream, sessionID(1), func(c fold.Child) bool { got = append(got, c); return true }); err != nil || len(got) != 3 {
		t.Fatalf("children %+v, %v", got, err)
	}
	for _, c := range got {
		if c.ID == sessionID(2) && *c.Source == *src.Source && (c.First.Offset != 2 || c.Last.Offset != 2) {
			t.Errorf("named from %v to %v", c.First, c.Last)
		}
	}
}

// TestCheckFindsLinkHarm: links and child entries are proved like the rest.
func TestCheckFindsLinkHarm(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(db *pebble.DB, k row.PartialKey) error
		want string
	}{
		"links lost": {func(db *pebble.DB, k row.PartialKey) error { return db.Delete(row.AppendLinks(nil, k), nil) }, "missing; the partial has 1 links"},
		"links damaged": {func(db *pebble.DB, k row.PartialKey) error {
			return db.Set(row.AppendLinks(nil, k), []byte{row.Version}, nil)
		}, "links, byte 1: ends early"},
		"links of nobody": {func(db *pebble.DB, k row.PartialKey) error {
			k.Session = sessionID(2)
			return db.Set(row.AppendLinks(nil, k), row.AppendLinksValue(nil, make([]fold.Link, 1)), nil)
		}, "no partial with links"},
		"more links": {func(db *pebble.DB, k row.PartialKey) error {
			return db.Set(row.AppendLinks(nil, k), row.AppendLinksValue(nil, make([]fold.Link, 2)), nil)
		}, "2 links, the partial has 1"},
		"child entry lost": {func(db *pebble.DB, k row.PartialKey) error {
			return db.Delete(row.AppendChild(nil, row.ChildKey{Stream: k.Stream, Parent: sessionID(4), Child: sessionID(2), Source: k.Source}), nil)
		}, "its child entry of"},
		"stray child": {func(db *pebble.DB, k row.PartialKey) error {
			return db.Set(row.AppendChild(nil, row.ChildKey{Stream: k.Stream, Parent: sessionID(9), Child: sessionID(2), Source: k.Source}), row.EntryMark(), nil)
		}, "does not follow from its partial"},
		"child of nobody": {func(db *pebble.DB, k row.PartialKey) error {
			return db.Set(row.AppendChild(nil, row.ChildKey{Stream: k.Stream, Parent: sessionID(1), Child: sessionID(8), Source: k.Source}), row.EntryMark(), nil)
		}, "no partial to follow from"},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, src := linkedWorld(t)
			if err := c.harm(s.db, row.PartialKey{Stream: src.StreamID, Session: sessionID(1), Source: src.Key()}); err != nil {
				t.Fatal(err)
			}
			r, err := s.Check(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if r.Total == 0 || !strings.Contains(r.Problems[0].Why, c.want) {
				t.Errorf("found %v, want %q", r.Problems, c.want)
			}
		})
	}
}

// TestRestoreBringsLinksBack: from the changelog alone, links, child entries and
// a session that is only linked to are as they were.
func TestRestoreBringsLinksBack(t *testing.T) {
	_, s, src := linkedWorld(t)
	again := open(t, vfs.NewMem())
	t.Cleanup(func() { closeStore(t, again) })
	r := again.NewRestorer(src.Source)
	for _, op := range src.changelog {
		if err := r.Put(op.Key, op.Value); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Commit(9); err != nil {
		t.Fatal(err)
	}
	check(t, again)
	if got, want := digest(t, again).Partials, digest(t, s).Partials; got != want {
		t.Error("the restored partials and links differ")
	}
	rd := reader(t, again)
	defer rd.Close()
	if ids, _, err := rd.ChildIDs(stream, sessionID(4), 5); err != nil || len(ids) != 1 {
		t.Errorf("children %v, %v", ids, err)
	}
	walk, err := rd.List(stream, Cursor{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for walk.Next() {
		n++
	}
	if err := walk.Close(); err != nil || n != 3 {
		t.Errorf("%d sessions are listed, %v", n, err)
	}
}

// A link that is not there any more is not taken for a session without links.
func TestLoadWithoutLinksFails(t *testing.T) {
	_, s, src := linkedWorld(t)
	k := row.PartialKey{Stream: src.StreamID, Session: sessionID(1), Source: src.Key()}
	if err := s.db.Delete(row.AppendLinks(nil, k), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(src.Source, []wire.ID{sessionID(1)}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("loaded: %v", err)
	}
}
