package serve

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// timeline walks a session's events and gives their displays.
func (w *world) timeline(path string, each func(p wire.SessionEventsPage)) []string {
	w.t.Helper()
	var out []string
	cursor := ""
	for range 1000 {
		p := get[wire.SessionEventsPage](w, path+cursor)
		for i := range p.Items {
			out = append(out, p.Items[i].Display)
		}
		if each != nil {
			each(p)
		}
		if p.Cursor == "" {
			return out
		}
		if len(p.Cursor) > MaxCursorBytes {
			w.t.Fatalf("cursor of %d bytes", len(p.Cursor))
		}
		cursor = "&cursor=" + p.Cursor
	}
	w.t.Fatal("a timeline without end")
	return nil
}

func TestEvents(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	s.User("hello")
	s.Model("m", agdxlog.Tokens{In: 10, Out: 5, CostMicros: 7})
	s.Pause("planner") // on the control topic
	s.Tool("search", `{"b":1,"a":2}`, "found")
	s.End(wire.TaskCompleted, "done")
	s.Note("late")
	w.commit()
	path := "/agdx/sessions/agents/" + s.ID.String() + "/events?"
	want := []string{
		"session.started", "user.message", "model.request", "model.response", "session.control",
		"tool.call", "tool.result", "session.completed", "agent.message",
	}
	for _, limit := range []string{"limit=1", "limit=4", "limit=0", "limit=3&fixed_frontier=true"} {
		if got := w.timeline(path+limit, nil); !slices.Equal(got, want) {
			t.Errorf("%s: %v", limit, got)
		}
	}
	p := get[wire.SessionEventsPage](w, path)
	call, last := p.Items[5], p.Items[8]
	if *call.Tool != "search" || !slices.Equal(call.Summary["argument_keys"].([]string), []string{"a", "b"}) || call.AfterEnd || !last.AfterEnd {
		t.Errorf("call %+v, last %+v", call, last)
	}
	if u := p.Items[3].Usage; u == nil || u.InputTokens != 10 || *u.CostMicros != 7 {
		t.Errorf("usage %+v", u)
	}
	m := last.At.Message
	if m.Offset != 7 || *m.Generation != generation || m.Topic != wire.NameID("agents.agent.sessions") || *m.Conversation != s.ID || last.Session != s.ID {
		t.Errorf("position %+v", m)
	}
	if last.AtText != w.lane(s).PositionText(7) || last.Topic != "agents.agent.sessions" {
		t.Errorf("texts %q %q", last.AtText, last.Topic)
	}
	if len(p.Ranges) != 2 || p.Ranges[0].First != 0 || p.Ranges[0].Last != 0 || p.Ranges[1].First != 0 || p.Ranges[1].Last != 7 {
		t.Errorf("ranges %+v", p.Ranges)
	}
	if len(p.Frontier) != 2 || *p.Frontier[1].Folded != 7 || len(p.Gaps) != 0 {
		t.Errorf("frontier %+v, gaps %+v", p.Frontier, p.Gaps)
	}
}

// lane is the lane source of a session.
func (w *world) lane(s *agdxlog.Session) *wire.Source {
	return wire.NewSource(stream, stream+".agent.sessions", generation, uint32(s.ID[15])%w.spread, wire.RoleLane, wire.DialectAGDX)
}

// A pinned frontier hides what comes later; without it the walk sees it.
// The same rows the other way round, those about a time, and those of some
// displays.
func TestEventsAsAsked(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	for range 5 {
		s.Tool("search", `{"b":1}`, "found")
		s.Note("x")
	}
	s.Pause("planner") // on the control topic
	s.End(wire.TaskCompleted, "done")
	w.commit()
	path := "/agdx/sessions/agents/" + s.ID.String() + "/events?"
	all := get[wire.SessionEventsPage](w, path)
	at := func(i int) uint64 { return all.Items[i].BrokerTS }
	places := func(query string) (out []int) {
		t.Helper()
		w.timeline(path+query, func(p wire.SessionEventsPage) {
			for i := range p.Items {
				out = append(out, slices.IndexFunc(all.Items, func(e wire.SessionEvent) bool { return e.AtText == p.Items[i].AtText }))
			}
		})
		return out
	}
	down := func(from, to int) (out []int) {
		for ; from >= to; from-- {
			out = append(out, from)
		}
		return out
	}
	up := func(from, to int) []int { d := down(to, from); slices.Reverse(d); return d }
	end := len(all.Items) - 1
	for query, want := range map[string][]int{
		"order=asc&limit=4":                      up(0, end),
		"order=desc&limit=4":                     down(end, 0),
		"order=desc&limit=1&fixed_frontier=true": down(end, 0),
		"display=tool.call,session.started":      {0, 1, 4, 7, 10, 13},
		"display=tool.call&order=desc&limit=2":   {13, 10, 7, 4, 1},
		"display=error":                          nil,
		// Half before and half from there on, then onwards.
		fmt.Sprint("limit=4&around=", at(9)):                   up(7, end),
		fmt.Sprint("limit=4&around=", at(9)-1):                 up(7, end),
		fmt.Sprint("limit=4&around=", at(9)+1):                 up(8, end),
		fmt.Sprint("limit=4&order=desc&around=", at(9)):        down(10, 0),
		fmt.Sprint("limit=1&around=", at(9)):                   up(9, end),
		fmt.Sprint("limit=1&order=desc&around=", at(9)):        down(8, 0),
		fmt.Sprint("limit=6&display=tool.call&around=", at(9)): {1, 4, 7, 10, 13},
		"limit=4&around=0":                                     up(0, end),
		"limit=4&around=2100-01-01T00:00:00Z":                  up(end-1, end),
	} {
		if got := places(query); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	p := get[wire.SessionEventsPage](w, path+"limit=4&around="+time.UnixMicro(int64(at(9))).UTC().Format(time.RFC3339Nano))
	if len(p.Items) != 4 || p.Items[2].BrokerTS != at(9) || len(p.Ranges) != 1 || p.Ranges[0].First != 7 || p.Ranges[0].Last != 10 {
		t.Errorf("%+v", p)
	}
}

// Chunks that a collapsed timeline leaves out are counted on both sides of a
// time, and not those of another display.
func TestCollapsedAsAsked(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	s.Stream("llm", 4)
	w.commit()
	path := "/agdx/sessions/agents/" + s.ID.String() + "/events?"
	all := get[wire.SessionEventsPage](w, path)
	whole := get[wire.SessionEventsPage](w, path+"collapse=true")
	if whole.Collapsed == 0 {
		t.Fatalf("%+v", all)
	}
	for _, query := range []string{"order=desc", fmt.Sprint("around=", all.Items[3].BrokerTS), "display=model.stream,agent.message"} {
		if p := get[wire.SessionEventsPage](w, path+"collapse=true&"+query); p.Collapsed != whole.Collapsed {
			t.Errorf("%s: %d left out, want %d", query, p.Collapsed, whole.Collapsed)
		}
	}
	if p := get[wire.SessionEventsPage](w, path+"collapse=true&display=session.started"); p.Collapsed != 0 || len(p.Items) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestFixedFrontier(t *testing.T) {
	for fixed, want := range map[string]int{"true": 4, "false": 6} {
		w := newWorld(t)
		s := w.session("first", "planner")
		s.Note("1")
		s.Note("2")
		s.Note("3")
		w.commit()
		path := "/agdx/sessions/agents/" + s.ID.String() + "/events?limit=2&fixed_frontier=" + fixed
		n := 0
		got := w.timeline(path, func(p wire.SessionEventsPage) {
			if n++; n == 1 {
				s.Note("later")
				s.Pause("planner") // in a source of its own
				w.commit()
			}
			if fixed == "true" && (len(p.Frontier) != 1 || *p.Frontier[0].Folded != 3) {
				t.Errorf("frontier of page %d: %+v", n, p.Frontier)
			}
			if p.FixedFrontier != (fixed == "true") {
				t.Errorf("fixed_frontier %v", p.FixedFrontier)
			}
		})
		if len(got) != want {
			t.Errorf("fixed %s: %v", fixed, got)
		}
	}
}

func TestEventsCursorIsBound(t *testing.T) {
	w := newWorld(t)
	s, o := w.session("first", "planner"), w.session("second", "planner")
	for range 3 {
		s.Note("x")
		o.Note("x")
	}
	w.commit()
	path := "/agdx/sessions/agents/"
	p := get[wire.SessionEventsPage](w, path+s.ID.String()+"/events?limit=2")
	w.fails(400, "invalid_argument", path+o.ID.String()+"/events?cursor="+p.Cursor)
	for _, other := range []string{"fixed_frontier=true", "order=desc", "around=1", "display=agent.message", "collapse=true"} {
		w.fails(400, "invalid_argument", path+s.ID.String()+"/events?"+other+"&cursor="+p.Cursor)
	}
	if q := get[wire.SessionEventsPage](w, path+s.ID.String()+"/events?order=asc&cursor="+p.Cursor); len(q.Items) != 2 {
		t.Errorf("%d items", len(q.Items))
	}
	about := get[wire.SessionEventsPage](w, path+s.ID.String()+"/events?limit=1&around=1")
	w.fails(400, "invalid_argument", path+s.ID.String()+"/events?around=2&cursor="+about.Cursor)
	down := get[wire.SessionEventsPage](w, path+s.ID.String()+"/events?limit=1&order=desc&display=agent.message")
	for _, other := range []string{"order=desc", "display=agent.message", "order=desc&display=error"} {
		w.fails(400, "invalid_argument", path+s.ID.String()+"/events?"+other+"&cursor="+down.Cursor)
	}
	// The topic was made anew: the generation that the cursor names is gone.
	fresh := newWorld(t)
	src := *fresh.lane(s)
	src.Generation++
	tp := wire.TopicPartition{Topic: src.Topic, Partition: int32(src.Partition)}
	fresh.part(tp)
	fresh.useGeneration(tp, &src)
	fs := fresh.session("first", "planner")
	fresh.commit()
	fresh.fails(409, "stale_generation", path+fs.ID.String()+"/events?cursor="+p.Cursor)
}

// Whatever is missing is said: offsets that expired, rows past the cap, rows
// that the source does not hold any more.
func TestGaps(t *testing.T) {
	w := newWorld(t)
	s := w.log.Session("first", "planner")
	src := w.lane(s)
	tp := wire.TopicPartition{Topic: src.Topic, Partition: int32(src.Partition)}
	w.cap(src, 3)
	w.part(tp).Expire(5, fold.GapExpiredBeforeFold)
	w.offsets[tp] = 5
	for range 6 {
		s.Note("x")
	}
	w.commit()
	path := "/agdx/sessions/agents/" + s.ID.String()
	p := get[wire.SessionEventsPage](w, path+"/events")
	want := []wire.SourceGap{
		wire.NewSourceGap(src, 0, 4, "expired_before_fold"),
		wire.NewSourceGap(src, 8, 10, "truncated"),
	}
	if !slices.Equal(p.Gaps, want) || len(p.Items) != 3 {
		t.Errorf("%d items, gaps %+v", len(p.Items), p.Gaps)
	}
	if info := get[wire.SessionInfo](w, path); !info.Flags.EventsTruncated || info.Events != 6 {
		t.Errorf("%+v", info)
	}
	if err := w.store.SetRetained(src, 7); err != nil {
		t.Fatal(err)
	}
	p = get[wire.SessionEventsPage](w, path+"/events")
	if len(p.Items) != 1 || p.Items[0].At.Message.Offset != 7 || *p.Frontier[0].RetainedFrom != 7 {
		t.Errorf("after retention: %+v", p)
	}
	if !slices.Contains(p.Gaps, wire.NewSourceGap(src, 5, 6, "pruned")) {
		t.Errorf("gaps %+v", p.Gaps)
	}
}

// What is missing behind a pinned frontier is no gap of its pages.
func TestGapsStayBelowAPinnedFrontier(t *testing.T) {
	w := newWorld(t)
	s := w.log.Session("first", "planner")
	src := w.lane(s)
	w.cap(src, 4)
	for range 6 {
		s.Note("x")
	}
	w.commit()
	path := "/agdx/sessions/agents/" + s.ID.String() + "/events?limit=1&fixed_frontier=true"
	want, n := wire.NewSourceGap(src, 4, 5, "truncated"), 0
	w.timeline(path, func(p wire.SessionEventsPage) {
		if n++; n == 1 {
			s.Note("past the cap too")
			w.commit()
			tp := wire.TopicPartition{Topic: src.Topic, Partition: int32(src.Partition)}
			w.part(tp).Expire(20, fold.GapSourceLost)
			w.offsets[tp] = 20
			s.Note("behind a hole")
			w.commit()
		}
		if !slices.Equal(p.Gaps, []wire.SourceGap{want}) {
			t.Errorf("gaps of page %d: %+v", n, p.Gaps)
		}
	})
	if p := get[wire.SessionEventsPage](w, "/agdx/sessions/agents/"+s.ID.String()+"/events"); len(p.Gaps) != 2 {
		t.Errorf("gaps at the live frontier: %+v", p.Gaps)
	}
}

// A frontier that no cursor can hold is refused, not cut.
func TestFixedFrontierOfManySources(t *testing.T) {
	w := newWorld(t)
	s := w.log.Session("first", "planner")
	for i := range 60 {
		tp := wire.TopicPartition{Topic: stream + ".agent.control", Partition: int32(i)}
		w.clock++
		rec := w.controlRecord(s)
		b, err := w.part(tp).Fold([]wire.Raw{rec})
		if err == nil {
			err = w.store.Apply([]index.Applied{{Batch: b}})
		}
		if err != nil {
			t.Fatal(err)
		}
		w.part(tp).Applied()
	}
	path := "/agdx/sessions/agents/" + s.ID.String() + "/events?limit=7"
	w.fails(400, "invalid_argument", path+"&fixed_frontier=true")
	if got := w.timeline(path, nil); len(got) != 60 {
		t.Errorf("%d rows", len(got))
	}
}
