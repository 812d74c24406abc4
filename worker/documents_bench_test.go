package worker_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index/row"
	"sessionfold/wire"
	"sessionfold/worker"
)

// benchLog makes deltas to one session; key names each one's member.
func benchLog(n, size int, key func(i int) string) []wire.Raw {
	out := make([]wire.Raw, n)
	for i := range out {
		e := wire.Envelope{Kind: wire.KindEvent, Conversation: wire.ID{15: 1}, Source: []byte("planner"), Operation: []byte(wire.OpStateDelta)}
		e.SetRecord(wire.ID{0: 1, 14: byte(i >> 8), 15: byte(i)})
		value := fmt.Sprintf("%0*d", size, i)
		e.Body = fmt.Appendf(nil, `{"base_revision":%d,"op_id":"01J%023d","patch":[{"op":"add","path":"/%s","value":%q}]}`, i, i, key(i), value)
		out[i] = wire.Raw{Offset: uint64(i), Timestamp: 1_700_000_000_000 + int64(i), Value: e.Append(nil), Headers: e.Headers(wire.ContentJSON)}
	}
	return out
}

// benchFold folds a log in batches and weighs what goes to the changelog.
func benchFold(b *testing.B, log []wire.Raw, batch int) (durable map[byte]int, heap uint64) {
	src := wire.NewSource("agents", "agents.agent.sessions", 7, 0, wire.RoleLane, wire.DialectAGDX)
	p := worker.NewPart(worker.PartConfig{
		Source: src, Fold: &fold.Config{}, Memory: worker.NewMemory(func(*wire.Source) wire.Decoder { return wire.NewAGDXDecoder() }),
		Load:      func(*wire.Source, []wire.ID) (map[wire.ID]*fold.Partial, error) { return nil, nil },
		LoadState: func(*wire.Source, wire.ID) (*state.State, error) { return nil, nil },
	}, fold.Frontier{})
	durable = map[byte]int{}
	for n := 0; len(log) > 0; n++ {
		k := min(batch, len(log))
		step, err := p.Fold(log[:k])
		if err != nil {
			b.Fatal(err)
		}
		p.Applied()
		log = log[k:]
		for _, op := range step.Ops {
			if op.Durable {
				durable[op.Key[0]] += len(op.Key) + len(op.Value)
			}
		}
		if n%16 == 0 && testing.Verbose() {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapAlloc)
		}
	}
	return durable, heap
}

// BenchmarkState is the case "1,000 deltas to one session, 64-byte values".
func BenchmarkState(b *testing.B) {
	for name, key := range map[string]func(int) string{
		"distinct keys": func(i int) string { return fmt.Sprintf("key%05d", i*7919%1000) },
		"one key":       func(int) string { return "key" },
	} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			log := benchLog(1000, 64, key)
			var durable map[byte]int
			b.ReportAllocs()
			for b.Loop() {
				durable, _ = benchFold(b, log, 1000)
			}
			state := durable[row.TagBase] + durable[row.TagLog] + durable[row.TagHistory]
			b.ReportMetric(float64(state)/1000, "B/history-row")
			b.ReportMetric(float64(durable[row.TagHistory])/1000, "B/outcome")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/delta")
		})
	}
}

// BenchmarkRising is a document that rises to 8 MiB, at three lengths: a linear
// fold has the same cost per delta at each.
func BenchmarkRising(b *testing.B) {
	for name, key := range map[string]func(int) string{
		"append":     func(i int) string { return fmt.Sprintf("key%06d", i) },
		"list":       func(int) string { return "list/-" },
		"everywhere": func(i int) string { return fmt.Sprintf("key%06d", i*7919%10_007) },
	} {
		for _, n := range []int{2_500, 5_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				log := benchLog(n, 820, key)
				if name == "list" { // it begins with a list
					first := benchLog(1, 1, func(int) string { return "list" })[0]
					log[0] = first
					log[0].Value = []byte(strings.Replace(string(first.Value), `"0"`, `[0]`, 1))
				}
				var durable map[byte]int
				var heap uint64
				for b.Loop() {
					durable, heap = benchFold(b, log, 100)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delta")
				b.ReportMetric(float64(durable[row.TagBase]+durable[row.TagLog])/(1<<20), "MiB-base+log")
				b.ReportMetric(float64(durable[row.TagBase])/(1<<20), "MiB-base")
				if heap > 0 {
					b.ReportMetric(float64(heap)/(1<<20), "MiB-heap")
				}
			})
		}
	}
}
