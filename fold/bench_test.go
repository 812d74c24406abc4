package fold

import (
	"encoding/binary"
	"fmt"
	"testing"

	"sessionfold/wire"
)

// benchLog is n sessions of ten records, one after the other: a start, eight
// notes, an end.
func benchLog(sessions int) []wire.Record {
	recs := make([]wire.Record, 0, sessions*10)
	for s := range sessions {
		var id wire.ID
		binary.BigEndian.PutUint64(id[:], uint64(s)*0x9e3779b97f4a7c15)
		for i := range 10 {
			rec := wire.Record{
				Offset: uint64(len(recs)), Time: uint64(len(recs)) * 1000, Session: id, HasSession: true,
				Kind: wire.KindEvent, Display: wire.DisplayAgentMessage, Facts: wire.FactAuthor, Agent: []byte("planner"),
			}
			switch i {
			case 0:
				rec.Facts |= wire.FactLane
				rec.Lifecycle = &wire.Lifecycle{Status: wire.StatusActive, Start: &wire.Start{Label: []byte("a label"), HasLabel: true, Agent: rec.Agent}}
			case 9:
				rec.Facts |= wire.FactLane
				rec.Lifecycle = &wire.Lifecycle{Status: wire.StatusCompleted}
			}
			recs = append(recs, rec)
		}
	}
	return recs
}

// longLog is one session of model calls and tool calls by a few agents.
func longLog(n int) []wire.Record {
	recs := make([]wire.Record, n)
	for i := range recs {
		recs[i] = wire.Record{
			Offset: uint64(i), Time: uint64(i) * 1000, Session: wire.ID{1}, HasSession: true,
			Kind: wire.KindResponse, Display: wire.DisplayModelResponse, Facts: wire.FactAuthor | wire.FactUsage | wire.FactToolCall,
			Agent: fmt.Appendf(nil, "agent-%d", i%5), Usage: &wire.Usage{In: 100, Out: 10, CostNano: 5, Has: wire.HasCost},
		}
	}
	return recs
}

func BenchmarkApply(b *testing.B) {
	src := newFolded("s.agent.sessions", 0).src
	for _, bc := range []struct {
		name string
		recs []wire.Record
	}{
		{"sessions=100", benchLog(100)},
		{"sessions=10000", benchLog(10_000)},
		{"one-session=100000", longLog(100_000)},
		{"interleaved=10000", interleave(benchLog(10_000))},
	} {
		b.Run(bc.name, func(b *testing.B) {
			cfg := &Config{TimelineCap: 1 << 40}
			b.ReportAllocs()
			for b.Loop() {
				if s := Apply(cfg, src, Frontier{}, nil, bc.recs); len(s.Sessions) == 0 {
					b.Fatal("no sessions")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(bc.recs)), "ns/record")
		})
	}
}

// interleave deals ten records of each session out in turn, the worst order.
func interleave(recs []wire.Record) []wire.Record {
	out := make([]wire.Record, 0, len(recs))
	for i := range 10 {
		for j := i; j < len(recs); j += 10 {
			out = append(out, recs[j])
		}
	}
	for i := range out {
		out[i].Offset, out[i].Time = uint64(i), uint64(i)*1000
	}
	return out
}

func BenchmarkMergeView(b *testing.B) {
	sources := []*folded{newFolded("s.agent.sessions", 0), newFolded("s.agent.streams", 0), newFolded("s.agent.audit", 0)}
	for _, f := range sources {
		f.fold(&Config{}, longLog(100))
	}
	for n := 1; n <= 3; n++ {
		ks := keyed(wire.ID{1}, sources[:n])
		b.Run(fmt.Sprintf("sources=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := View(Merge(wire.ID{1}, ks), ViewInput{Now: 1}); v.Events == 0 {
					b.Fatal("no events")
				}
			}
		})
	}
}
