package serve

import (
	"fmt"
	"testing"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// TestSubtree: sums over a tree stand beside the session's own numbers; a
// session counts once, whoever names it as a parent, also in a ring.
func TestSubtree(t *testing.T) {
	w := newWorld(t)
	top := w.session("top", "planner")
	top.Model("m", agdxlog.Tokens{In: 10, Out: 1, CostMicros: 1})
	left := top.Child(agdxlog.NameID(stream, "left"), "helper")
	left.Start(agdxlog.Start{Label: "left"})
	left.Model("m", agdxlog.Tokens{In: 100, Out: 2, CostMicros: 2})
	left.Error("no")
	leaf := left.Child(agdxlog.NameID(stream, "leaf"), "helper")
	leaf.Start(agdxlog.Start{Label: "leaf"})
	leaf.Tool("search", `{"q":1}`, `{}`)
	right := top.Child(agdxlog.NameID(stream, "right"), "helper") // implicit
	right.Note("hello")
	// It names left as its parent in one record, and starts under top.
	also := top.Child(agdxlog.NameID(stream, "also"), "helper")
	also.Start(agdxlog.Start{Label: "also"})
	stray := *also
	stray.Parent = &left.ID
	stray.Note("from the left")
	w.commit()

	own := get[wire.SessionInfo](w, sessionPath(top.ID, ""))
	if own.Subtree != nil || own.Children != 3 || own.TokensIn != 10 {
		t.Errorf("own: %+v", own)
	}
	info := get[wire.SessionInfo](w, sessionPath(top.ID, "?subtree=true"))
	want := wire.SubtreeSums{Sessions: 5, Events: 3 + 4 + 3 + 1 + 2, ModelCalls: 2, ToolCalls: 1, TokensIn: 110, TokensOut: 3, CostMicros: 3, Errors: 1}
	if info.Subtree == nil || *info.Subtree != want {
		t.Errorf("subtree %+v, want %+v", info.Subtree, want)
	}
	info.Subtree = nil
	if fmt.Sprint(info.TokensIn, info.Events, info.Errors) != fmt.Sprint(own.TokensIn, own.Events, own.Errors) {
		t.Errorf("own numbers beside the sums: %+v", info)
	}
	// left has two child links: to leaf, and to the one that named it once.
	if info := get[wire.SessionInfo](w, sessionPath(left.ID, "?subtree=true")); info.Children != 2 || info.Subtree.Sessions != 2 {
		t.Errorf("left: %d children, %+v", info.Children, info.Subtree)
	}
	if info := get[wire.SessionInfo](w, sessionPath(leaf.ID, "?subtree=true")); info.Children != 0 || info.Subtree.Sessions != 1 {
		t.Errorf("leaf: %+v", info.Subtree)
	}
	if labels := w.walk("root="+top.ID.String(), nil); len(labels) != 5 {
		t.Errorf("the tree by its root: %v", labels)
	}
	w.fails(400, "invalid_argument", sessionPath(top.ID, "?subtree=yes"))
}

// TestSubtreeRing: sessions that are each other's parents are each counted once.
func TestSubtreeRing(t *testing.T) {
	w := newWorld(t)
	a, b := w.log.Session("a", "x"), w.log.Session("b", "x")
	a.Parent, b.Parent = &b.ID, &a.ID
	a.Note("hello")
	b.Note("hello")
	w.commit()
	if info := get[wire.SessionInfo](w, sessionPath(a.ID, "?subtree=true")); info.Subtree.Sessions != 2 || info.Subtree.Events != 2 {
		t.Errorf("%+v", info.Subtree)
	}
}

// TestSubtreeBudget: a tree that is too large gives a lower bound that says so.
func TestSubtreeBudget(t *testing.T) {
	w := newWorld(t)
	top := w.session("top", "planner")
	for i := range 6 {
		top.Child(agdxlog.NameID(stream, fmt.Sprint(i)), "helper").Note("x")
	}
	w.commit()
	for budget, truncated := range map[int]bool{3: true, 5: true, 6: false, 7: false} {
		w.opt.SubtreeBudget = budget
		w.serve()
		sums := get[wire.SessionInfo](w, sessionPath(top.ID, "?subtree=true")).Subtree
		if sums.Truncated != truncated || sums.Sessions != uint64(min(budget, 6)+1) {
			t.Errorf("budget %d: %+v", budget, sums)
		}
	}
}
