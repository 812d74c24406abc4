package serve

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// group is a stream that lies on several workers, who answer for each other,
// beside a world that has all of it.
type group struct {
	*world  // that has everything
	workers []*member

	// A request that its sender gave up may be answered still, at any later time.
	mu    sync.Mutex                  // guards what follows, and that of the members
	owner map[wire.TopicPartition]int // by default one after the other
	parts map[wire.TopicPartition]bool
}

// member is a worker of a group: a store of its own behind a real listener.
type member struct {
	*world
	url       string
	restoring []wire.TopicPartition // guarded by the group
	claims    []wire.TopicPartition // beside its own; guarded by the group
}

func newGroup(t testing.TB, n int) *group {
	g := &group{world: newWorld(t), owner: map[wire.TopicPartition]int{}, parts: map[wire.TopicPartition]bool{}}
	servers := make([]*httptest.Server, n)
	urls := make([]string, n)
	for i := range n {
		m := &member{world: newWorld(t)}
		servers[i] = httptest.NewServer(m)
		t.Cleanup(servers[i].Close)
		m.url, urls[i] = servers[i].URL, servers[i].URL
		g.workers = append(g.workers, m)
	}
	for i, m := range g.workers {
		m.opt.Heads, m.opt.Now = g.opt.Heads, g.opt.Now
		m.opt.Peers = g.peers(PeersOptions{URLs: urls})
		m.opt.Holding = func(string) Holding { return g.holding(i) }
		m.opt.Partitions = func(string) ([]wire.TopicPartition, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			return slices.Collect(maps.Keys(g.parts)), nil
		}
		m.serve()
	}
	return g
}

func (g *group) peers(o PeersOptions) *Peers {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second // of a loaded machine
	}
	p, err := NewPeers(o)
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

// ownerOf is called under the lock.
func (g *group) ownerOf(tp wire.TopicPartition) int {
	i, ok := g.owner[tp]
	if !ok {
		i = len(g.owner) % len(g.workers)
		g.owner[tp] = i
	}
	return i
}

// own gives partitions to a worker; they are in the stream from now on.
func (g *group) own(i int, of ...wire.TopicPartition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, tp := range of {
		g.owner[tp], g.parts[tp] = i, true
	}
}

// change changes what members say.
func (g *group) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// ownedBy is the worker that has a partition.
func (g *group) ownedBy(tp wire.TopicPartition) *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parts[tp] = true
	return g.workers[g.ownerOf(tp)]
}

// holding is what a worker says that it has.
func (g *group) holding(i int) Holding {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.workers[i]
	h := Holding{Restoring: m.restoring}
	for tp := range g.parts {
		if slices.Contains(m.restoring, tp) {
			continue
		}
		if g.ownerOf(tp) == i || slices.Contains(m.claims, tp) {
			h.Sources = append(h.Sources, wire.NewSource(stream, tp.Topic, generation, uint32(tp.Partition), wire.RoleOf(stream, tp.Topic), wire.DialectAGDX))
		}
	}
	return h
}

// commit folds what the log holds twice: by the world that has everything, and
// by the workers that own it.
func (g *group) commit() {
	g.t.Helper()
	order, batches := g.batches()
	for _, tp := range order {
		g.fold(tp, batches[tp]...)
		g.ownedBy(tp).fold(tp, batches[tp]...)
	}
}

// write takes records of a generator.
func (g *group) write(gen *agdxgen.Generator, n int) {
	for range n {
		e, ok := gen.Next()
		if !ok {
			break
		}
		if wire.RoleOf(stream, e.Topic).Folded() {
			g.log.Add(e.Record)
		}
	}
	g.commit()
}

// same wants one answer of all workers and of the world that has everything; a
// cursor is another one in each. It gives the answer and, per worker, the page's
// cursor.
func (g *group) same(path string) (answer map[string]any, cursors []string) {
	g.t.Helper()
	want, _ := g.body(g.world, path, "")
	for _, m := range g.workers {
		got, cursor := g.body(m.world, path, "")
		cursors = append(cursors, cursor)
		if got != want {
			g.t.Fatalf("GET %s:\n%s\nwant\n%s", path, got, want)
		}
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(want, "200 ")), &answer); err != nil {
		g.t.Fatal(err)
	}
	return answer, cursors
}

// body reads an answer without its cursor, which it gives apart.
func (g *group) body(w *world, path, cursor string) (body, next string) {
	g.t.Helper()
	if cursor != "" {
		path += "&cursor=" + cursor
	}
	rec := w.request("GET", path, nil)
	var v map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		g.t.Fatalf("GET %s: %v", path, err)
	}
	next, _ = v["cursor"].(string)
	if len(next) > MaxCursorBytes {
		g.t.Fatalf("cursor of %d bytes", len(next))
	}
	if next != "" {
		v["cursor"] = "more"
	}
	b, err := json.Marshal(v)
	if err != nil {
		g.t.Fatal(err)
	}
	return fmt.Sprint(rec.Code, " ", string(b)), next
}

// pages walks a read on the whole world and, with each cursor handed on to a
// worker that pick chooses, on the group; between does something between two
// pages.
func (g *group) pages(path string, pick func() int, between func()) (items int) {
	g.t.Helper()
	var a, b string
	for range 1000 {
		want, nextA := g.body(g.world, path, a)
		i := pick()
		got, nextB := g.body(g.workers[i].world, path, b)
		if got != want {
			g.t.Fatalf("GET %s of worker %d:\n%s\nwant\n%s", path, i, got, want)
		}
		items++
		if a, b = nextA, nextB; a == "" {
			return items
		}
		between()
	}
	g.t.Fatal("a walk without end")
	return 0
}

// checks makes rapid draw less often than it does by default: a group is three
// stores and three listeners.
func checks(t *testing.T, n int) {
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) }) // it was set to that before
}

// Whatever the records are and however they are spread, a group answers like a
// store that has everything, also when a client goes from worker to worker
// with a cursor and sessions move meanwhile.
func TestGroupAnswersLikeOne(t *testing.T) {
	checks(t, 20)
	rapid.Check(t, func(rt *rapid.T) {
		g := newGroup(t, rapid.IntRange(2, 3).Draw(rt, "workers"))
		gen := agdxgen.New(agdxgen.Options{
			Stream: stream, Seed: rapid.Uint64Range(0, 1<<20).Draw(rt, "seed"), Sessions: rapid.IntRange(1, 14).Draw(rt, "sessions"), Live: 6,
		})
		for _, topic := range gen.Topics() {
			for p := range g.spread {
				if topic.Role.Folded() {
					tp := wire.TopicPartition{Topic: topic.Topic, Partition: int32(p)}
					g.own(rapid.IntRange(0, len(g.workers)-1).Draw(rt, "owner"), tp)
				}
			}
		}
		pick := func() int { return rapid.IntRange(0, len(g.workers)-1).Draw(rt, "worker") }
		g.write(gen, rapid.IntRange(1, 200).Draw(rt, "first"))
		more := func() { g.write(gen, rapid.IntRange(0, 60).Draw(rt, "more")) }
		base := "/agdx/sessions/" + stream
		limit := rapid.IntRange(1, 6).Draw(rt, "limit")
		g.pages(fmt.Sprintf("%s?total=true&limit=%d", base, limit), pick, more)
		g.pages(fmt.Sprintf("%s?status=active&limit=%d", base, limit), pick, more)
		list := get[wire.SessionPage](g.world, base)
		for range 2 {
			i := rapid.IntRange(0, len(list.Items)-1).Draw(rt, "session")
			id := base + "/" + list.Items[i].ID.String()
			for _, path := range []string{id + "?subtree=true", id + "/links", id + "/state", id + "/sources"} {
				want, _ := g.body(g.world, path, "")
				if got, _ := g.body(g.workers[pick()].world, path, ""); got != want {
					rt.Fatalf("GET %s:\n%s\nwant\n%s", path, got, want)
				}
			}
			fixed, collapse := rapid.Bool().Draw(rt, "fixed"), rapid.Bool().Draw(rt, "collapse")
			events := fmt.Sprintf("%s/events?limit=%d&fixed_frontier=%v&collapse=%v", id, 3*limit, fixed, collapse)
			if rapid.Bool().Draw(rt, "back") {
				events += "&order=desc"
			}
			if rapid.Bool().Draw(rt, "display") {
				events += "&display=tool.call,tool.result,error"
			}
			if info := list.Items[i]; rapid.Bool().Draw(rt, "around") && info.LastEventAt != nil {
				events += fmt.Sprint("&around=", rapid.Uint64Range(*info.FirstEventAt-1000, *info.LastEventAt+1000).Draw(rt, "time"))
			}
			g.pages(events, pick, more)
		}
	})
}

// Every worker of a quiet group answers the same, in every read.
func TestGroupOfThree(t *testing.T) {
	g := newGroup(t, 3)
	g.write(agdxgen.New(agdxgen.Options{Stream: stream, Seed: 7, Sessions: 50}), 4000)
	s := g.session("stateful", "worker")
	s.Patch(0, "a", `[{"op":"add","path":"/n","value":1}]`)
	s.Patch(1, "b", `[{"op":"add","path":"/m","value":2}]`)
	s.Link(wire.RoleWork, agdxlog.Resource{Surface: "kv", Resource: "r", Item: "i", Relation: "wrote"})
	g.commit()
	base := "/agdx/sessions/" + stream
	page, _ := g.same(base + "?limit=1000&total=true")
	items := page["items"].([]any)
	if len(items) < 40 {
		t.Fatalf("%d sessions", len(items))
	}
	for i := 0; i < len(items); i += 4 {
		it := items[i]
		id := base + "/" + it.(map[string]any)["id"].(string)
		for _, path := range []string{"?subtree=true", "/events?limit=1000", "/events?limit=1000&collapse=true", "/state", "/links", "/sources"} {
			g.same(id + path)
		}
	}
	g.same(base + "/" + s.ID.String() + "/events")
	g.same(base + "/" + s.ID.String() + "/links")
	if doc, _ := g.same(base + "/" + s.ID.String() + "/state"); fmt.Sprint(doc["revision"]) != "2" {
		t.Errorf("state %v", doc)
	}
	// What the brokers do not retain any more is not shown, pruned yet or not.
	tp := wire.TopicPartition{Topic: g.log.Topic(wire.RoleLane), Partition: int32(uint32(s.ID[15]) % g.spread)}
	for _, w := range []*world{g.world, g.ownedBy(tp).world} {
		if err := w.store.SetRetained(w.parts[tp].Source(), g.offsets[tp]-1); err != nil {
			t.Fatal(err)
		}
	}
	events, _ := g.same(base + "/" + s.ID.String() + "/events?limit=1")
	if gaps, _ := events["gaps"].([]any); len(gaps) == 0 {
		t.Errorf("no gap: %v", events)
	}
	g.same(base + "?limit=5&text=a&status=completed")
	turn := 0
	if n := g.pages(base+"?limit=3", func() int { turn++; return turn % 3 }, func() {}); n < 15 {
		t.Errorf("%d pages", n)
	}
	_, cursors := g.same(base + "?limit=10")
	for i, c := range cursors { // any worker goes on with the cursor of any other
		next, _ := g.body(g.workers[(i+1)%3].world, base+"?limit=10", c)
		if want, _ := g.body(g.workers[i].world, base+"?limit=10", c); next != want {
			t.Errorf("worker %d goes on otherwise:\n%s\nwant\n%s", i, next, want)
		}
	}
	g.workers[0].fails(400, "invalid_argument", base+"?limit=10&agent=x&cursor="+cursors[0])
	g.world.fails(409, "stale_generation", base+"?limit=10&cursor="+cursors[0])
	_, own := g.body(g.world, base+"?limit=10", "")
	g.workers[0].fails(409, "stale_generation", base+"?limit=10&cursor="+own)
	g.workers[1].fails(404, "not_found", base+"/"+agdxlog.NameID("nobody").String())
}

// A worker that has all of a stream beside others that have nothing: all give
// the same answers and take each other's cursors.
func TestGroupWithOneHolder(t *testing.T) {
	g := newGroup(t, 2)
	lanes := []wire.TopicPartition{{Topic: stream + ".agent.sessions"}, {Topic: stream + ".agent.sessions", Partition: 1}}
	g.own(1, lanes...)
	for i := range 8 {
		g.session(fmt.Sprint("s", i), "worker")
	}
	g.commit()
	for _, first := range []int{0, 1} {
		turn := first
		if n := g.pages("/agdx/sessions/agents?limit=2&total=true", func() int { turn++; return turn % 2 }, func() {
			g.session(fmt.Sprint("new", turn, first), "worker")
			g.commit()
		}); n < 4 {
			t.Errorf("%d pages", n)
		}
	}
	// All of it goes to the other one: its store did not see the walk begin.
	_, cursors := g.same("/agdx/sessions/agents?limit=2")
	g.own(0, lanes...)
	for i := range 40 { // so that it has come as far as the other one
		g.session(fmt.Sprint("moved", i), "worker")
		g.commit()
	}
	for _, m := range g.workers {
		m.fails(409, "stale_generation", "/agdx/sessions/agents?limit=2&cursor="+cursors[0])
	}
}

// Sessions that begin while a walk goes on keep the place that they had.
func TestGroupWalkWhileSessionsBegin(t *testing.T) {
	g := newGroup(t, 2)
	var all []*agdxlog.Session
	for i := range 9 {
		s := g.log.Session(fmt.Sprint("s", i), "worker")
		s.Note("implicit")
		s.Remember("m", "fact", "x")
		all = append(all, s)
	}
	g.commit()
	turn := 0
	n := g.pages("/agdx/sessions/agents?limit=2", func() int { turn++; return turn % 2 }, func() {
		for _, s := range all {
			s.Start(agdxlog.Start{Label: "begun"})
		}
		g.commit()
	})
	if n != 5 {
		t.Errorf("%d pages of 9 sessions", n)
	}
}

// A page that goes backwards below a pinned frontier has all of its rows, also
// where a worker has folded many since that lie before it.
func TestGroupBackwardsBelowAPinnedFrontier(t *testing.T) {
	g := newGroup(t, 2)
	s := g.session("a", "planner")
	for i := range 4 {
		s.Remember(fmt.Sprint("m", i), "fact", "x")
	}
	for p := range g.spread {
		g.own(0, wire.TopicPartition{Topic: stream + ".agent.sessions", Partition: int32(p)})
		g.own(1, wire.TopicPartition{Topic: stream + ".agent.memory", Partition: int32(p)})
	}
	g.commit()
	early := g.clock
	g.clock += 1000
	for range 4 {
		s.Note("x")
	}
	g.commit()
	n := g.pages("/agdx/sessions/agents/"+s.ID.String()+"/events?limit=2&order=desc&fixed_frontier=true", func() int { return 0 }, func() {
		g.clock = early
		for i := range 10 {
			s.Remember(fmt.Sprint("late", i), "fact", "x")
		}
		g.commit()
	})
	if n != 5 { // of nine rows
		t.Errorf("%d pages", n)
	}
}

// Rows that are rare among many are found on another worker, and the page about a
// time, however small.
func TestGroupReadsAsAsked(t *testing.T) {
	g := newGroup(t, 2)
	s := g.session("a", "planner")
	for p := range g.spread {
		g.own(1, wire.TopicPartition{Topic: stream + ".agent.sessions", Partition: int32(p)})
	}
	g.own(0, wire.TopicPartition{Topic: stream + ".agent.memory"})
	for range 3 {
		for range 20 {
			s.Note("x")
			g.commit() // a pack of its own: what is in one comes along
		}
		s.Tool("search", `{}`, "found")
	}
	g.commit()
	events := "/agdx/sessions/agents/" + s.ID.String() + "/events?"
	for query, want := range map[string]int{
		"limit=1&display=tool.call":                                 3,
		"limit=1&display=tool.call&order=desc":                      3,
		fmt.Sprint("limit=1&around=", g.clock*1000-5000):            6,
		fmt.Sprint("limit=1&order=desc&around=", g.clock*1000-5000): 67 - 6,
	} {
		if n := g.pages(events+query, func() int { return 0 }, func() {}); n != want {
			t.Errorf("%s: %d pages, want %d", query, n, want)
		}
	}
}

// A stream of another dialect that lies on another worker: native ids are
// found, also where only the records tell the dialect.
func TestForeignStreamOfAnotherWorker(t *testing.T) {
	g := newGroup(t, 2)
	streams := []Stream{{Name: "deep", Dialect: wire.DialectDeepStrike}, {Name: "told", Auto: true}}
	dialects := map[string]wire.Dialect{"deep": wire.DialectDeepStrike, "told": wire.DialectEverruns}
	g.opt.Streams = streams
	g.serve()
	for i, m := range g.workers {
		m.opt.Streams = streams
		m.opt.Partitions = func(name string) ([]wire.TopicPartition, error) {
			return []wire.TopicPartition{{Topic: name + ".events"}}, nil
		}
		m.opt.Holding = func(name string) (h Holding) {
			if i == 1 {
				h.Sources = []*wire.Source{wire.NewSource(name, name+".events", generation, 0, wire.RoleLane, dialects[name])}
			}
			return h
		}
		m.serve()
	}
	for _, w := range []*world{g.world, g.workers[1].world} {
		w.clock = 1_000_000
		w.native("deep", wire.DialectDeepStrike, 1, [2]string{uuid, `{"kind":"run_started","run_id":"r","goal":"g","criteria":[]}`},
			[2]string{uuid, `{"seq":1,"event":{"kind":"page_in"}}`}, [2]string{"my run", `{"kind":"suspended","turn":1,"reason":"ask_user"}`})
		w.native("told", wire.DialectEverruns, 1, [2]string{"", `{"id":"e","type":"turn.started","session_id":"session_0123abcd0123456789ab0123456789ab","data":{}}`})
	}
	for _, path := range []string{"deep", "deep/" + uuid, "deep/my%20run/events", "deep/" + uuid + "/audit", "deep/" + uuid + "/audit?format=1", "deep/" + uuid + "/links",
		"told/" + uuid, "told", "told/" + uuid + "/events"} {
		if want, _ := g.body(g.world, "/agdx/sessions/"+path, ""); !strings.HasPrefix(want, "200") {
			t.Errorf("%s: %s", path, want)
		}
		g.same("/agdx/sessions/" + path)
	}
	g.workers[0].fails(400, "invalid_argument", "/agdx/sessions/told/"+uuid+"?x=1")
}

// The context of a client that went away ends the read.
func TestGroupReadIsGivenUp(t *testing.T) {
	g := newGroup(t, 2)
	g.session("a", "worker")
	g.session("b", "worker").Note("x")
	g.commit()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", "/agdx/sessions/agents", nil)
	rec := httptest.NewRecorder()
	g.workers[0].ServeHTTP(rec, r)
	if rec.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
