package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

func TestListOrderAndPages(t *testing.T) {
	w := newWorld(t)
	want := w.many(25)
	for _, limit := range []int{1, 7, 24, 25, 26, 1000} {
		pages := 0
		got := w.walk(fmt.Sprintf("limit=%d", limit), func(p wire.SessionPage) {
			pages++
			if len(p.Items) > limit || p.Truncated || p.Total != nil {
				t.Errorf("limit %d: %d items, truncated %v, total %v", limit, len(p.Items), p.Truncated, p.Total)
			}
			if p.Searched == nil || *p.Searched != uint64(len(p.Items)) {
				t.Errorf("limit %d: searched %v for %d items", limit, p.Searched, len(p.Items))
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %v", limit, got)
		}
		if full := (25 + limit - 1) / limit; pages != full {
			t.Errorf("limit %d: %d pages, want %d", limit, pages, full)
		}
	}
	if p := get[wire.SessionPage](w, "/agdx/sessions/agents"); len(p.Items) != 25 || p.Cursor != "" {
		t.Errorf("no limit: %d items, cursor %q", len(p.Items), p.Cursor)
	}
}

func TestListDefaultLimit(t *testing.T) {
	w := newWorld(t)
	w.many(DefaultLimit + 1)
	for _, q := range []string{"", "?limit=0"} {
		if p := get[wire.SessionPage](w, "/agdx/sessions/agents"+q); len(p.Items) != DefaultLimit || p.Cursor == "" {
			t.Errorf("%q: %d items, cursor %q", q, len(p.Items), p.Cursor)
		}
	}
}

func TestListFilters(t *testing.T) {
	w := newWorld(t)
	root := w.session("Root Ärger", "planner")
	child := root.Child(agdxlog.NameID("child"), "coder")
	child.Start(agdxlog.Start{Label: "child"})
	grand := child.Child(agdxlog.NameID("grand"), "coder")
	grand.Start(agdxlog.Start{Label: "grand"})
	grand.By("reviewer").Note("hm")
	done := w.session("done", "planner")
	done.End(wire.TaskFailed, "broke")
	bare := w.log.Session("bare", "stray")
	bare.Note("no start")
	w.commit()
	for query, want := range map[string]string{
		"":                          bare.ID.String() + " done grand child Root Ärger",
		"status=failed":             "done",
		"status=active":             bare.ID.String() + " grand child Root Ärger",
		"status=paused":             "",
		"agent=planner":             "done Root Ärger",
		"agent=coder":               "grand child",
		"agent=reviewer":            "grand", // wrote, does not own
		"agent=Planner":             "",
		"root=" + root.ID.String():  "grand child Root Ärger",
		"root=" + child.ID.String(): "child",
		"label_prefix=Root":         "Root Ärger",
		"label_prefix=root":         "",
		"label_prefix=":             bare.ID.String() + " done grand child Root Ärger",
		"text=ROOT+%C3%A4RG":        "Root Ärger",
		"text=" + strings.ToLower(bare.ID.String()[3:20]): bare.ID.String(),
		"text=nothing":                        "",
		"agent=planner&status=active&text=oo": "Root Ärger",
	} {
		if got := strings.Join(w.walk(query, nil), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
		n := uint64(0)
		if want != "" {
			n = uint64(len(w.walk(query, nil)))
		}
		if p := get[wire.SessionPage](w, "/agdx/sessions/agents?total=true&limit=1&"+query); p.Total == nil || *p.Total != n {
			t.Errorf("%s: total %v, want %d", query, p.Total, n)
		}
	}
}

// A session is listed by its activity when the time between its first record and
// its last has a part of the time that is asked for.
func TestListByActivity(t *testing.T) {
	w := newWorld(t)
	long := w.session("long", "planner")
	w.commit()
	w.session("short", "planner")
	w.commit()
	other := w.session("other", "planner")
	other.Note("x")
	other.Remember("m", "fact", "x")
	unseen := agdxlog.NameID("unseen") // no record, so no activity
	other.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: "r", Item: "i", Relation: "wrote", Session: &agdxlog.SessionRef{Stream: stream, Session: unseen}})
	long.Note("x")
	w.commit()
	first, last := map[string]uint64{}, map[string]uint64{}
	for _, s := range get[wire.SessionPage](w, "/agdx/sessions/agents").Items {
		if s.FirstEventAt != nil {
			first[*s.Label], last[*s.Label] = *s.FirstEventAt, *s.LastEventAt
		}
	}
	for query, want := range map[string]string{
		"active_from=0":                                                              "other short long",
		"active_to=0":                                                                "",
		fmt.Sprint("active_to=", first["long"]):                                      "long",
		fmt.Sprint("active_to=", first["long"]-1):                                    "",
		fmt.Sprint("active_from=", last["long"]):                                     "long",
		fmt.Sprint("active_from=", last["long"]+1):                                   "",
		fmt.Sprint("active_from=", last["short"]+1):                                  "other long",
		fmt.Sprint("active_from=", last["short"], "&active_to=", last["short"]):      "short long",
		fmt.Sprint("active_from=", first["short"], "&active_to=", first["other"]):    "other short long",
		fmt.Sprint("active_from=", first["long"]+1, "&active_to=", first["short"]-1): "long",
		fmt.Sprint("status=completed&active_from=", first["long"]):                   "",
		"active_from=1970-01-01T00:00:00Z&active_to=1970-01-01T01:00:00%2B01:00":     "",
		"active_from=1970-01-01T00:00:00Z&active_to=2100-01-01T00:00:00.5%2B01:00":   "other short long",
	} {
		if got := strings.Join(w.walk("limit=1&"+query, nil), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	p := get[wire.SessionPage](w, "/agdx/sessions/agents?limit=1&active_from=0&total=true")
	if p.Total == nil || *p.Total != 3 {
		t.Errorf("total %v", p.Total)
	}
	w.fails(400, "invalid_argument", "/agdx/sessions/agents?active_from=1&cursor="+p.Cursor)
	w.fails(400, "invalid_argument", "/agdx/sessions/agents?active_to=0&cursor="+p.Cursor)
}

// The total is that of the walk, on every page of it.
func TestTotalOfLaterPages(t *testing.T) {
	w := newWorld(t)
	w.many(7)
	n := 0
	w.walk("limit=3&total=true", func(p wire.SessionPage) {
		if n++; n == 1 {
			w.session("later", "worker")
			w.commit()
		}
		if p.Total == nil || *p.Total != 7 {
			t.Errorf("page %d: total %d", n, *p.Total)
		}
	})
}

// The owner counts as an agent of the session even where the bounded list of
// agents turned it away.
func TestOwnerIsAnAgent(t *testing.T) {
	s := &fold.Session{Start: &fold.Start{Agent: "owner"}, Agents: []string{"author"}}
	for agent, want := range map[string]bool{"owner": true, "author": true, "other": false} {
		if hasAgent(s, agent) != want {
			t.Errorf("%s: %v", agent, !want)
		}
	}
}

// A page that spent its budget says so and goes on with the next one.
func TestListSearchBudget(t *testing.T) {
	w := newWorld(t)
	want := w.many(30)
	w.opt.SearchBudget, w.opt.CountBudget = 4, 10
	w.serve()
	truncated := 0
	got := w.walk("text=s00", func(p wire.SessionPage) {
		if p.Truncated {
			truncated++
			if p.Cursor == "" || *p.Searched > 4 {
				t.Errorf("a truncated page has a cursor and stays in its budget: %q, searched %d", p.Cursor, *p.Searched)
			}
		}
	})
	if !slices.Equal(got, want[20:]) || truncated < 5 {
		t.Errorf("%d truncated pages gave %v", truncated, got)
	}
	if p := get[wire.SessionPage](w, "/agdx/sessions/agents?total=true"); p.Total != nil {
		t.Errorf("total %d was not counted to its end", *p.Total)
	}
}

// Every session that existed when a walk began comes exactly once, whatever is
// committed meanwhile: new sessions, starts of implicit ones, earlier starts
// from another source.
func TestWalkWhileSessionsMove(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var sessions []*agdxlog.Session
		for i := range rapid.IntRange(1, 12).Draw(rt, "sessions") {
			s := w.log.Session(fmt.Sprint(i), "a")
			if rapid.Bool().Draw(rt, "started") {
				s.Start(agdxlog.Start{Label: s.ID.String()})
			} else {
				s.Note("implicit")
			}
			sessions = append(sessions, s)
		}
		w.commit()
		want := map[string]bool{}
		for _, s := range sessions {
			want[s.ID.String()] = true
		}
		path, cursor := "/agdx/sessions/agents?limit=2", ""
		seen := map[string]int{}
		for page := 0; ; page++ {
			p := get[wire.SessionPage](w, path+cursor)
			for i := range p.Items {
				seen[p.Items[i].ID.String()]++
			}
			if p.Cursor == "" {
				break
			}
			cursor = "&cursor=" + p.Cursor
			for range rapid.IntRange(0, 4).Draw(rt, "moves") {
				s := sessions[rapid.IntRange(0, len(sessions)-1).Draw(rt, "which")]
				switch rapid.IntRange(0, 2).Draw(rt, "move") {
				case 0:
					s.Start(agdxlog.Start{Label: s.ID.String()})
				case 1:
					s.Pause("a")
				case 2:
					w.session(fmt.Sprint("new", page, s.ID), "a")
				}
			}
			w.commit()
		}
		for id := range want {
			if seen[id] != 1 {
				rt.Errorf("session %s came %d times", id, seen[id])
			}
		}
		for id, n := range seen {
			if n > 1 {
				rt.Errorf("session %s came %d times", id, n)
			}
		}
	})
}

func TestListCursorIsBound(t *testing.T) {
	w := newWorld(t)
	w.opt.Streams = append(w.opt.Streams, Stream{Name: "other"})
	w.serve()
	w.many(5)
	p := get[wire.SessionPage](w, "/agdx/sessions/agents?limit=2&agent=worker")
	for _, path := range []string{
		"/agdx/sessions/agents?limit=2&cursor=",
		"/agdx/sessions/agents?agent=work&cursor=",
		"/agdx/sessions/agents?agent=worker&text=s&cursor=",
		"/agdx/sessions/other?agent=worker&cursor=",
		"/agdx/sessions/agents/" + agdxlog.NameID("x").String() + "/events?cursor=",
	} {
		w.fails(400, "invalid_argument", path+p.Cursor)
	}
	// Another page size is no other use.
	if next := get[wire.SessionPage](w, "/agdx/sessions/agents?limit=9&agent=worker&cursor="+p.Cursor); len(next.Items) != 3 {
		t.Errorf("%d items", len(next.Items))
	}
	for i := range len(p.Cursor) {
		c := []byte(p.Cursor)
		c[i] ^= 1
		rec := w.request("GET", "/agdx/sessions/agents?agent=worker&cursor="+string(c), nil)
		if rec.Code != 400 {
			t.Fatalf("byte %d changed: %d", i, rec.Code)
		}
	}
	// Another store, though it holds the same.
	o := newWorld(t)
	o.many(5)
	o.fails(409, "stale_generation", "/agdx/sessions/agents?agent=worker&cursor="+p.Cursor)
}

// TestEmptyCursor: a cursor parameter without a value asks for the first page.
func TestEmptyCursor(t *testing.T) {
	w := newWorld(t)
	w.many(3)
	if p := get[wire.SessionPage](w, "/agdx/sessions/agents?limit=2&cursor="); len(p.Items) != 2 || p.Cursor == "" {
		t.Errorf("%d items, cursor %q", len(p.Items), p.Cursor)
	}
	if p := get[wire.SessionEventsPage](w, "/agdx/sessions/agents/"+agdxlog.NameID("agents", "s000").String()+"/events?cursor=&limit=1"); len(p.Items) != 1 {
		t.Errorf("%d rows", len(p.Items))
	}
}
