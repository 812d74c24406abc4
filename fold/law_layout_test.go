package fold

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// spread folds the log under a layout, each source in batches of its own, and
// gives each session's view without positions, and its merged timeline.
func spread(log []wire.Record, l layout, batch int) ([]wire.SessionInfo, [][]string) {
	sources, logs := map[string]*folded{}, map[string][]wire.Record{}
	var all []*folded
	for i := range log {
		rec := log[i]
		topic, partition := l(&rec)
		key := fmt.Sprint(topic, partition)
		if sources[key] == nil {
			sources[key] = newFolded(topic, partition)
			all = append(all, sources[key])
		}
		rec.Offset = uint64(len(logs[key]))
		logs[key] = append(logs[key], rec)
	}
	rows := map[wire.ID][]Row{}
	for key, f := range sources {
		for part := range slices.Chunk(logs[key], batch) {
			for _, ss := range f.fold(&Config{}, part).Sessions {
				rows[ss.ID] = append(rows[ss.ID], ss.Rows...)
			}
		}
	}
	var views []wire.SessionInfo
	var timelines [][]string
	for i := range 4 {
		s := Merge(sessionID(i), keyed(sessionID(i), all))
		if s == nil {
			continue
		}
		v := View(s, ViewInput{Now: 1_000_000_000, Liveness: Liveness{Known: true}})
		v.Frontier = nil
		views = append(views, v)
		rs := rows[sessionID(i)]
		slices.SortFunc(rs, func(a, b Row) int { return cmp.Compare(a.Time, b.Time) })
		var tl []string
		for _, r := range rs {
			// after_end is asked with an address of the right time: the order of
			// different times needs no more.
			tl = append(tl, fmt.Sprint(r.Time, r.Rec.Display, s.AfterEnd(wire.Address{Time: r.Time, Topic: "~"})))
		}
		timelines = append(timelines, tl)
	}
	return views, timelines
}

// TestLawLayouts: any spread of one log over topics and partitions that keeps
// each session's lifecycle records together in order gives the same views, up
// to positions (law 2). Times ascend, no two records of a session share one.
func TestLawLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := make([]wire.Record, rapid.IntRange(1, 60).Draw(t, "records"))
		time := uint64(0)
		for i := range log {
			log[i] = genContent(t, 4)
			if l := log[i].Lifecycle; l != nil && l.Status == wire.StatusCanceled && rapid.Bool().Draw(t, "forced") {
				l.Forced = true // on the control topic: not a record of the lane
				log[i].Facts &^= wire.FactLane
			}
			time += uint64(rapid.IntRange(1, 400).Draw(t, "ms")) * 1000
			log[i].Time = time
		}
		views, timelines := spread(log, func(*wire.Record) (string, uint32) { return "s.agent.sessions", 0 }, len(log))
		same := func(name string, l layout) {
			v, tl := spread(log, l, rapid.IntRange(1, 10).Draw(t, "batch"))
			if d := gocmp.Diff(views, v); d != "" {
				t.Fatalf("%s: views differ (one partition -, spread +):\n%s", name, d)
			}
			if d := gocmp.Diff(timelines, tl); d != "" {
				t.Fatalf("%s: timelines differ (one partition -, spread +):\n%s", name, d)
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
