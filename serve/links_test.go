package serve

import (
	"fmt"
	"strings"
	"testing"

	"sessionfold/fold"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

func sessionPath(id wire.ID, rest string) string {
	return "/agdx/sessions/" + stream + "/" + id.String() + rest
}

func kv(item string) agdxlog.Resource {
	return agdxlog.Resource{Surface: "kv", Resource: "settings", Item: item, Relation: "wrote"}
}

// linkLines are links as text, without positions' sources.
func linkLines(v wire.SessionLinksView) string {
	var out []string
	for _, l := range v.Links {
		out = append(out, fmt.Sprintf("%s %s/%s %s", l.Surface, l.Resource, l.Item, l.Relation))
	}
	return strings.Join(out, "|")
}

// TestLinks: every surface, the filter, positions, a session that only others
// name, and both encodings.
func TestLinks(t *testing.T) {
	w := newWorld(t)
	s := w.session("flight", "planner")
	s.Remember("m1", "fact", "content")
	s.Retrieved("a question", "m1", "m2")
	s.Link(wire.RoleLane, kv("theme"))
	s.Link(wire.RoleAudit, kv("theme"))
	s.Link(wire.RoleLane, agdxlog.Resource{Surface: "graph_edge", Resource: "people", Item: "n1-n2", Relation: "touched"})
	kid := s.Child(agdxlog.NameID(stream, "kid"), "helper")
	kid.Start(agdxlog.Start{Label: "kid", Agent: "helper"})
	kid.Note("on it")
	unseen := agdxlog.NameID(stream, "unseen")
	s.Link(wire.RoleLane, agdxlog.Resource{Surface: "graph_node", Resource: "people", Item: "n1", Relation: "wrote", Session: &agdxlog.SessionRef{Stream: stream, Session: unseen}})
	s.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: "r", Item: "i", Relation: "wrote", Session: &agdxlog.SessionRef{Stream: "elsewhere", Session: unseen}})
	w.commit()

	all := get[wire.SessionLinksView](w, sessionPath(s.ID, "/links"))
	want := "child /" + kid.ID.String() + " wrote|graph_edge people/n1-n2 touched|kv settings/theme wrote|memory /m1 recalled|memory /m2 recalled|memory notes/m1 wrote"
	if got := linkLines(all); got != want || all.Truncated {
		t.Errorf("links\n%s, want\n%s (truncated %t)", got, want, all.Truncated)
	}
	if len(all.Frontier) != 3 {
		t.Errorf("frontier of %d sources", len(all.Frontier))
	}
	for _, l := range all.Links {
		first, last := "agents.agent.sessions[", "agents.agent.sessions["
		switch l.Surface + l.Relation {
		case "kvwrote":
			last = "agents.agent.audit["
		case "memorywrote":
			first, last = "agents.agent.memory[", "agents.agent.memory["
		}
		if !strings.HasPrefix(l.FirstText, first) || !strings.HasPrefix(l.LastText, last) {
			t.Errorf("%s: from %s to %s", l.Item, l.FirstText, l.LastText)
		}
	}
	for surface, want := range map[string]string{
		"memory": "memory /m1 recalled|memory /m2 recalled|memory notes/m1 wrote", "projection": "",
		"kv": "kv settings/theme wrote", "child": "child /" + kid.ID.String() + " wrote",
	} {
		if got := linkLines(get[wire.SessionLinksView](w, sessionPath(s.ID, "/links?surface="+surface))); got != want {
			t.Errorf("%s: %s, want %s", surface, got, want)
		}
		r, _ := w.op(wire.CodeSessionLinks, wire.SessionLinks{Stream: stream, ID: s.ID, Surface: &surface})
		if r.Ok == nil || r.Ok.Links == nil || linkLines(*r.Ok.Links) != want {
			t.Errorf("%s in CBOR: %+v", surface, r)
		}
	}
	if msg := w.fails(400, "invalid_argument", sessionPath(s.ID, "/links?surface=disk")); !strings.Contains(msg, "graph_node") {
		t.Errorf("message %q", msg)
	}
	w.fails(404, "not_found", sessionPath(agdxlog.NameID(stream, "nobody"), "/links"))

	// The session that nobody wrote to is there, implicitly and in the list.
	info := get[wire.SessionInfo](w, sessionPath(unseen, ""))
	if info.Status != "active" || info.Events != 0 || info.FirstEventAt != nil || *info.Label != unseen.String() {
		t.Errorf("a session that is only linked to: %+v", info)
	}
	if got := linkLines(get[wire.SessionLinksView](w, sessionPath(unseen, "/links"))); got != "graph_node people/n1 wrote" {
		t.Errorf("its links: %s", got)
	}
	if labels := w.walk("limit=1", nil); len(labels) != 3 || labels[0] != unseen.String() {
		t.Errorf("listed: %v", labels)
	}
	if page := get[wire.SessionEventsPage](w, sessionPath(unseen, "/events")); len(page.Items) != 0 {
		t.Errorf("its events: %+v", page.Items)
	}
}

// TestLinksTruncated: past the cap of one source links are counted as turned
// away, on the links read and on the session.
func TestLinksTruncated(t *testing.T) {
	w := newWorld(t)
	s := w.session("busy", "planner")
	for i := range fold.MaxSet {
		s.Link(wire.RoleLane, kv(fmt.Sprint(i)))
	}
	w.commit()
	v := get[wire.SessionLinksView](w, sessionPath(s.ID, "/links"))
	if len(v.Links) != fold.MaxSet || v.Truncated || get[wire.SessionInfo](w, sessionPath(s.ID, "")).Flags.Overflow {
		t.Errorf("at the cap: %d links, truncated %t", len(v.Links), v.Truncated)
	}
	s.Link(wire.RoleLane, kv("one too many"))
	s.Link(wire.RoleAudit, kv("in another source"))
	w.commit()
	v = get[wire.SessionLinksView](w, sessionPath(s.ID, "/links"))
	if len(v.Links) != fold.MaxSet+1 || !v.Truncated || !get[wire.SessionInfo](w, sessionPath(s.ID, "")).Flags.Overflow {
		t.Errorf("past the cap: %d links, truncated %t", len(v.Links), v.Truncated)
	}
}

// TestChildLinksTruncated: derived child links have the same cap per source.
func TestChildLinksTruncated(t *testing.T) {
	w := newWorld(t)
	w.spread = 1
	s := w.session("parent", "planner")
	for i := range fold.MaxSet + 1 {
		s.Child(agdxlog.NameID(stream, fmt.Sprint("kid", i)), "helper").Note("hello")
	}
	w.commit()
	v := get[wire.SessionLinksView](w, sessionPath(s.ID, "/links?surface=child"))
	if len(v.Links) != fold.MaxSet || !v.Truncated {
		t.Errorf("%d links, truncated %t", len(v.Links), v.Truncated)
	}
	if info := get[wire.SessionInfo](w, sessionPath(s.ID, "")); info.Children != fold.MaxSet+1 {
		t.Errorf("%d children", info.Children)
	}
}
