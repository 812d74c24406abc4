package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

func TestGet(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	s.Model("m", agdxlog.Tokens{In: 10, Out: 5})
	s.Tool("search", `{"q":"secret words"}`, "found")
	s.End(wire.TaskCompleted, "done")
	w.commit()
	info := get[wire.SessionInfo](w, "/agdx/sessions/agents/"+s.ID.String())
	if *info.Label != "first" || info.Status != "completed" || info.Agent != "planner" || info.Events != 6 ||
		info.ModelCalls != 1 || info.ToolCalls != 1 || info.TokensIn != 10 || info.TokensOut != 5 {
		t.Errorf("%+v", info)
	}
	if len(info.Frontier) != 1 || *info.Frontier[0].Folded != 5 || *info.Frontier[0].Head != 6 ||
		info.Frontier[0].TopicGenerationText != "9223372036854775813" || *info.Frontier[0].RetainedFrom != 0 {
		t.Errorf("frontier %+v", info.Frontier)
	}
	// Ids are taken in lower case too.
	if lower := get[wire.SessionInfo](w, "/agdx/sessions/agents/"+strings.ToLower(s.ID.String())); lower.ID != s.ID {
		t.Errorf("lower case gave %s", lower.ID)
	}
	if body := w.request("GET", "/agdx/sessions/agents/"+s.ID.String()+"/events", nil).Body.String(); strings.Contains(body, "secret words") {
		t.Error("argument values reached a reply")
	}
}

func TestSources(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	s.Pause("planner")
	w.commit()
	v := get[wire.SessionSources](w, "/agdx/sessions/agents/"+s.ID.String()+"/sources")
	if len(v.Sources) != 2 || v.Sources[0].Topic != "agents.agent.control" || v.Sources[1].Topic != "agents.agent.sessions" {
		t.Errorf("sources %+v", v.Sources)
	}
	want := wire.Lane{TopicID: wire.NameID("agents.agent.sessions"), TopicGeneration: generation, Partitions: 2}
	if v.Lane == nil || *v.Lane != want {
		t.Errorf("lane %+v", v.Lane)
	}
	// A writer asks for the lane before its session exists.
	fresh := agdxlog.NameID("none").String()
	if v := get[wire.SessionSources](w, "/agdx/sessions/agents/"+fresh+"/sources?lane_only=true"); len(v.Sources) != 0 || v.Lane == nil {
		t.Errorf("lane only %+v", v)
	}
	w.fails(404, "not_found", "/agdx/sessions/agents/"+fresh+"/sources")
	w.opt.Heads = nil
	w.serve()
	if v := get[wire.SessionSources](w, "/agdx/sessions/agents/"+s.ID.String()+"/sources"); v.Lane != nil || v.Sources[0].Head != nil {
		t.Errorf("without the broker nothing of it is known: %+v", v)
	}
	w.fails(503, "unavailable", "/agdx/sessions/agents/"+fresh+"/sources?lane_only=true")
}

// The head of a topic that was made anew is not that of the source it replaced.
func TestHeadOfAnotherGeneration(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	w.commit()
	heads, err := w.opt.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for tp, h := range heads {
		h.Generation++
		heads[tp] = h
	}
	w.opt.Heads = func(context.Context) (map[wire.TopicPartition]Head, error) { return heads, nil }
	w.serve()
	if f := get[wire.SessionInfo](w, "/agdx/sessions/agents/"+s.ID.String()).Frontier; f[0].Head != nil || f[0].RetainedFrom != nil {
		t.Errorf("frontier %+v", f)
	}
}

func TestErrors(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	w.commit()
	base := "/agdx/sessions/agents/" + s.ID.String()
	for _, c := range []struct {
		status           int
		code, path, says string
	}{
		{404, "not_found", "/", "/agdx"},
		{404, "not_found", "/agdx/sessions", "/agdx"},
		{404, "not_found", "/agdx/sessions/other", "other"},
		{404, "not_found", "/agdx/sessions/agents/" + agdxlog.NameID("none").String(), "no record"},
		{400, "invalid_argument", "/agdx/sessions/agents/short", "26 characters"},
		{400, "invalid_argument", "/agdx/sessions/agents/8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "at most 7"},
		{400, "invalid_argument", base + "?x=1", "takes subtree"},
		{400, "invalid_argument", "/agdx/capabilities?x=1", "takes none"},
		{400, "invalid_argument", base + "/events?limit=1001", "1000"},
		{400, "invalid_argument", base + "/events?limit=-1", "limit"},
		{400, "invalid_argument", base + "/events?limit=1&limit=2", "at most once"},
		{400, "invalid_argument", base + "/events?sort=desc", "cursor, limit, fixed_frontier"},
		{400, "invalid_argument", base + "/events?order=newest", "asc, desc"},
		{400, "invalid_argument", base + "/events?around=yesterday", "RFC 3339"},
		{400, "invalid_argument", base + "/events?around=1969-01-01T00:00:00Z", "since 1970"},
		{400, "invalid_argument", base + "/events?display=error,", "undecodable, invalid, session.submitted"},
		{400, "invalid_argument", base + "/events?fixed_frontier=yes", "true and false"},
		{400, "invalid_argument", base + "/events?cursor=AAAA", "cursor"},
		{400, "invalid_argument", base + "/events?cursor=" + strings.Repeat("A", 513), "at most 512"},
		{400, "invalid_argument", "/agdx/sessions/agents?status=sleeping", "submitted, active, paused"},
		{400, "invalid_argument", "/agdx/sessions/agents?agent=", "agent"},
		{400, "invalid_argument", "/agdx/sessions/agents?root=x", "root"},
		{400, "invalid_argument", "/agdx/sessions/agents?limit=", "limit"},
		{400, "invalid_argument", "/agdx/sessions/agents?total=1", "true and false"},
		{400, "invalid_argument", "/agdx/sessions/agents?text=" + strings.Repeat("x", 257), "at most 256"},
		{400, "invalid_argument", "/agdx/sessions/agents?%zz", "percent"},
		{400, "invalid_argument", "/agdx/sessions/agents?active_from=-1", "active_from"},
		{400, "invalid_argument", "/agdx/sessions/agents?active_from=2&active_to=1", "later than active_to"},
		{400, "invalid_argument", base + "/state?history_limit=1001", "history_limit"},
		{400, "invalid_argument", base + "/state?limit=1", "history_limit"},
		{400, "invalid_argument", base + "/links?limit=1", "takes surface"},
		{400, "invalid_argument", base + "/links?surface=disk", "memory, kv, graph_node"},
		{501, "unsupported", base + "/audit", "capabilities"},
		{501, "unsupported", "/agdx/sessions/agents/live", "no changes topic"},
		{501, "unsupported", "/agdx/sessions/agents/changes", "changes"},
	} {
		if msg := w.fails(c.status, c.code, c.path); !strings.Contains(msg, c.says) {
			t.Errorf("GET %s: message %q does not say %q", c.path, msg, c.says)
		}
	}
	if rec := w.request("DELETE", base, nil); rec.Code != http.StatusMethodNotAllowed || rec.Header().Get("Allow") != "GET" {
		t.Errorf("DELETE: %d, Allow %q", rec.Code, rec.Header().Get("Allow"))
	}
}

// A worker that does not own every source gives no silent part.
func TestCoverage(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	w.commit()
	w.opt.Coverage = func(name string) error { return errors.New(name + ".agent.control[1] is not here") }
	w.serve()
	for _, path := range []string{"", "/" + s.ID.String(), "/" + s.ID.String() + "/events", "/" + s.ID.String() + "/sources"} {
		if msg := w.fails(503, "unavailable", "/agdx/sessions/agents"+path); !strings.Contains(msg, "agents.agent.control[1]") {
			t.Errorf("%q does not name what is missing", msg)
		}
	}
}

func TestClosedStore(t *testing.T) {
	w := newWorld(t)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.fails(503, "unavailable", "/agdx/sessions/agents")
}

func TestCapabilities(t *testing.T) {
	w := newWorld(t)
	x := w.session("x", "planner")
	w.commit()
	c := get[capabilities](w, "/agdx/capabilities")
	if !c.Managed || !c.Sessions || !c.Reads["state"] || c.Reads["changes"] || !c.Reads["events"] || c.Versions.Agent != 1 {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(c.Streams, []streamCaps{{Name: "agents", Dialect: "agdx"}}) {
		t.Errorf("streams %+v", c.Streams)
	}
	// Every read that is offered answers, every other one is unsupported.
	paths := map[string]string{"list": "", "state": "/" + x.ID.String() + "/state", "live": "/live", "changes": "/changes"}
	for read, path := range paths {
		code := w.request("GET", "/agdx/sessions/agents"+path, nil).Code
		if c.Reads[read] != (code == 200) || !c.Reads[read] && code != 501 {
			t.Errorf("%s: offered %v, answered %d", read, c.Reads[read], code)
		}
	}
}

// TestIdle: a session is idle after the timeout of its start, else its stream's,
// else 300 s.
func TestIdle(t *testing.T) {
	for _, c := range []struct {
		stream, start time.Duration
		silent        time.Duration
		want          bool
	}{
		{0, 0, 300 * time.Second, false}, {0, 0, 301 * time.Second, true},
		{time.Minute, 0, 60 * time.Second, false}, {time.Minute, 0, 61 * time.Second, true},
		{time.Minute, time.Hour, 61 * time.Second, false}, {time.Hour, time.Minute, 61 * time.Second, true},
	} {
		w := newWorld(t)
		w.opt.Streams[0].Idle = c.stream
		w.serve()
		s := w.log.Session("quiet", "planner")
		s.Start(agdxlog.Start{IdleTimeout: uint64(c.start.Microseconds())})
		w.commit()
		last := *get[wire.SessionInfo](w, sessionPath(s.ID, "")).LastEventAt
		w.clock = int64(last)/1000 + c.silent.Milliseconds()
		if got := get[wire.SessionInfo](w, sessionPath(s.ID, "")).Idle; got != c.want {
			t.Errorf("stream %s, start %s, silent for %s: idle %v", c.stream, c.start, c.silent, got)
		}
	}
}
