package app

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv"
	"sessionfold/testenv/bench"
	"sessionfold/worker"
)

// BenchmarkCatchUp folds a full log of short sessions from the start to the
// end, exactly once, with the broker in a process of its own. One iteration is
// one log of 400,000 records.
func BenchmarkCatchUp(b *testing.B) {
	const partitions = 4
	k := testenv.StartProcess(b)
	load := bench.Short("agents", 0, 40_000, partitions)
	lane := "agents.agent.sessions"
	k.Create(b, lane, partitions)
	cl := k.Client(b, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(50_000))
	for i := range load.Records {
		r := &load.Records[i]
		hs := make([]kgo.RecordHeader, len(r.Headers))
		for j, h := range r.Headers {
			hs[j] = kgo.RecordHeader(h)
		}
		cl.Produce(context.Background(), &kgo.Record{Topic: lane, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: hs}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := cl.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	ends, err := k.Admin.ListEndOffsets(context.Background(), lane)
	if err != nil {
		b.Fatal(err)
	}
	records := len(load.Records)
	cl.Close()
	load = nil // else the collector scans it in every round
	r := &rig{k: k, stream: "agents", lane: lane}
	for b.Loop() {
		r.group = testenv.Name(b)
		cfg := r.config(b.TempDir(), "a")
		cfg.BatchInterval, cfg.CacheBytes = 0, 0
		a, err := New(cfg)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		begin, cpu := time.Now(), cpuTime()
		go func() { done <- a.Run(ctx) }()
		var first time.Time
		testenv.Eventually(b, 60*time.Second, func() error {
			n := 0
			for _, s := range a.Sources() {
				if s.State == worker.Active && first.IsZero() {
					first = time.Now()
				}
				if end, _ := ends.Lookup(s.Topic, s.Partition); s.Next == uint64(end.Offset) && end.Offset > 0 {
					n++
				}
			}
			if n < partitions {
				return errNotYet
			}
			return nil
		})
		took := time.Since(first)
		s := a.Stats()
		b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(records), "cpu-ns/record")
		b.ReportMetric(float64(records)/took.Seconds(), "records/s")
		b.ReportMetric(float64(first.Sub(begin).Milliseconds()), "ms-start")
		b.ReportMetric(float64(s.Commits), "commits")
		b.ReportMetric(s.FoldSeconds*1000, "ms-fold")
		b.ReportMetric(s.CommitSeconds*1000, "ms-commit")
		b.ReportMetric(s.ApplySeconds*1000, "ms-apply")
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// cpuTime is the processor time of this process, which tells more than the
// clock when other programs run beside it.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
