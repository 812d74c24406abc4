package fold

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessionfold/testenv/reach"
	"sessionfold/wire"
)

// A layout says which topic and partition a record of the log lies in.
type layout func(rec *wire.Record) (topic string, partition uint32)

func bySession(rec *wire.Record) uint32 { return uint32(rec.Session[0]) % 3 }

func byAgent(rec *wire.Record) uint32 {
	if len(rec.Agent) == 0 {
		return 0
	}
	return uint32(rec.Agent[len(rec.Agent)-1]) % 4
}

// isLane says that a record must stay on its session's lane, in order.
func isLane(rec *wire.Record) bool { return rec.Facts&wire.FactLane != 0 }

// isControl says that a record is a request of the control topic.
func isControl(rec *wire.Record) bool { return rec.Rare != nil && rec.Rare.Control != nil }

// The layouts that AGDX allows, on top of one partition for everything.
var layouts = map[string]layout{
	"shared": func(rec *wire.Record) (string, uint32) {
		if rec.Lifecycle != nil && rec.Lifecycle.Forced {
			return "s.agent.control", bySession(rec)
		}
		return "s.agent.sessions", bySession(rec)
	},
	"per-agent-topic": func(rec *wire.Record) (string, uint32) {
		if isLane(rec) {
			return "s.agent.sessions", bySession(rec)
		}
		return fmt.Sprintf("inbox.%d", byAgent(rec)), 0
	},
	"per-agent-partition": func(rec *wire.Record) (string, uint32) {
		if isLane(rec) {
			return "s.agent.sessions", bySession(rec)
		}
		return "s.agent.sessions", byAgent(rec)
	},
}

// told is what reads tell of one session, without positions.
type told struct {
	View     wire.SessionInfo
	Timeline []string
	Links    []string
	Children []string
	State    string
	Signed   Signatures // of the whole stream, in the first
}

// placed is a log over sources: each record where the layout puts it, with the
// acknowledgments naming the places of the requests.
func placed(log []wire.Record, l layout) (sources []*folded, logs [][]wire.Record) {
	at := make([]wire.Pos, len(log))
	index := map[string]int{}
	homes := make([]int, len(log))
	for i := range log {
		topic, partition := l(&log[i])
		if isControl(&log[i]) {
			topic, partition = "s.agent.control", bySession(&log[i]) // in every layout
		}
		key := fmt.Sprint(topic, partition)
		home, known := index[key]
		if !known {
			home = len(sources)
			index[key] = home
			sources, logs = append(sources, newFolded(topic, partition)), append(logs, nil)
		}
		rec := log[i]
		rec.Offset = uint64(len(logs[home]))
		at[i], homes[i] = sources[home].src.At(rec.Offset), home
		logs[home] = append(logs[home], rec)
	}
	for i := range log {
		life := log[i].Lifecycle
		if life == nil || life.Acknowledge == nil {
			continue
		}
		n := life.Acknowledge.Offset
		if n >= uint64(len(log)) || !isControl(&log[n]) || log[n].Session != log[i].Session {
			continue // no request of this session: it matches nothing
		}
		named := *life
		pos := at[n]
		named.Acknowledge = &pos
		logs[homes[i]][at[i].Offset].Lifecycle = &named
	}
	return sources, logs
}

// spread folds the log under a layout, each source in batches of its own, and
// gives what is told of each session.
func spread(log []wire.Record, l layout, batch int) []told {
	sources, logs := placed(log, l)
	rows := map[wire.ID][]Row{}
	var refused uint64
	var signed Signatures
	for i, f := range sources {
		for part := range slices.Chunk(logs[i], batch) {
			for _, ss := range f.fold(&Config{}, part).Sessions {
				rows[ss.ID] = append(rows[ss.ID], ss.Rows...)
			}
		}
		refused += f.front.LinksRefused
		signed.Verified += f.front.Signatures.Verified
		signed.Unknown += f.front.Signatures.Unknown
		signed.Wrong += f.front.Signatures.Wrong
	}
	out := []told{{View: wire.SessionInfo{Events: refused}, Signed: signed}}
	for i := range 43 {
		id := sessionID(i)
		one := told{Children: childrenOf(id, sources)}
		s := Merge(id, keyed(id, sources))
		if s == nil {
			out = append(out, one)
			continue
		}
		if k := s.State; k != nil {
			i := slices.IndexFunc(sources, func(f *folded) bool { return f.src == k.Source })
			at := k.Partial.State
			one.State = fmt.Sprint(at.Revision, at.Applied, at.StaleCount, at.Rejected, at.Duplicates, sources[i].states[id].Doc.Text())
		}
		one.View = View(s, ViewInput{Now: 1_000_000_000, Liveness: Liveness{Known: true}})
		one.View.Frontier = nil
		one.View.ActiveTime = nil // of the lane's source, outside the law (spec settled.md)
		if p := one.View.Pause; p != nil {
			p.Position, p.PositionText = wire.Locator{}, ""
		}
		rs := rows[id]
		slices.SortFunc(rs, func(a, b Row) int { return cmp.Compare(a.Time, b.Time) })
		for _, r := range rs {
			// after_end is asked with an address of the right time: the order of
			// different times needs no more.
			one.Timeline = append(one.Timeline, fmt.Sprint(r.Time, r.Rec.Display, s.AfterEnd(wire.Address{Time: r.Time, Topic: "~"})))
		}
		var links LinkSet
		for _, k := range s.Sources {
			if k.Partial.Links != nil {
				links.Add(k.Source, k.Partial.Links)
			}
		}
		for _, l := range links.Sorted(0) {
			one.Links = append(one.Links, fmt.Sprint(l.LinkKey, l.First.Time, l.Last.Time))
		}
		out = append(out, one)
	}
	return out
}

// childrenOf gives the derived child links of a session.
func childrenOf(parent wire.ID, sources []*folded) (out []string) {
	var links LinkSet
	for _, f := range sources {
		for id, p := range f.partials {
			k := Keyed{Source: f.src, Partial: p}
			if c, ok := k.ChildOf(parent, id); ok {
				links.AddChild(&c)
			}
		}
	}
	for _, l := range links.Sorted(wire.SurfaceChild) {
		out = append(out, fmt.Sprint(l.Item, l.First.Time, l.Last.Time))
	}
	return out
}

// TestLawLayouts: any spread of one log over topics and partitions that keeps
// each session's lifecycle records together in order gives the same views, up
// to positions (law 2). Times ascend, no two records of a session share one.
func TestLawLayouts(t *testing.T) {
	var paused, acknowledged, held, linked, children, states int
	cases := map[string]*int{"a pause": &paused, "an acknowledgment": &acknowledged, "held work": &held, "a link": &linked, "a child": &children, "a state document": &states}
	reach.Check(t, cases, func(t *rapid.T) {
		asked := map[wire.ID]int{} // the last pause of a session, in the log
		log := make([]wire.Record, rapid.IntRange(1, 90).Draw(t, "records"))
		time := uint64(0)
		for i := range log {
			log[i] = genContent(t, 4)
			if l := log[i].Lifecycle; l != nil && l.Status == wire.StatusCanceled && rapid.Bool().Draw(t, "forced") {
				l.Forced = true // on the control topic: not a record of the lane
				log[i].Facts &^= wire.FactLane
			}
			if r := log[i].Rare; r != nil && r.Control != nil && r.Control.Op == wire.ControlPause {
				asked[log[i].Session] = i
			}
			if n, ok := asked[log[i].Session]; ok && rapid.IntRange(0, 2).Draw(t, "exactly") == 0 {
				log[i].Facts |= wire.FactLane
				log[i].Lifecycle = &wire.Lifecycle{Status: wire.StatusPaused, Acknowledge: &wire.Pos{Stream: wire.NameID("s"), Offset: uint64(n)}}
			}
			time += uint64(rapid.IntRange(1, 400).Draw(t, "ms")) * 1000
			log[i].Time = time
		}
		whole := spread(log, func(*wire.Record) (string, uint32) { return "s.agent.sessions", 0 }, len(log))
		for i := range whole {
			w := &whole[i]
			held, linked, children = held+int(w.View.Held), linked+len(w.Links), children+len(w.Children)
			if w.State != "" {
				states++
			}
			if w.View.Pause != nil {
				paused++
				acknowledged += len(w.View.Pause.Acknowledged)
			}
		}
		same := func(name string, l layout) {
			if d := gocmp.Diff(whole, spread(log, l, rapid.IntRange(1, 10).Draw(t, "batch"))); d != "" {
				t.Fatalf("%s: what is told differs (one partition -, spread +):\n%s", name, d)
			}
		}
		for _, name := range []string{"shared", "per-agent-topic", "per-agent-partition"} {
			same(name, layouts[name])
		}
		same("at random", func(rec *wire.Record) (string, uint32) {
			if isLane(rec) {
				return "s.agent.sessions", bySession(rec)
			}
			return rapid.SampledFrom([]string{"s.agent.sessions", "s.agent.audit", "inbox"}).Draw(t, "topic"), rapid.Uint32Range(0, 4).Draw(t, "partition")
		})
	})
}
