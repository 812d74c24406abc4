// Command bench measures throughput, latency, memory and size on disk of the
// worker (package testenv/bench says how) and fails when a floor is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"sessionfold/testenv/bench"
	"sessionfold/testenv/proc"
	"sessionfold/wire"
)

type options struct {
	cases      map[string]bool
	runs       int
	sessions   int
	long       int
	mixed      int
	deep       int
	ever       int
	native     float64
	deltas     int
	row        float64
	partitions int
	rate       float64
	seconds    float64
	folder     string
	profile    string
	profileFor time.Duration
	within     time.Duration
	floors     bench.Floors
	partials   int
	restore    time.Duration
	sampled    float64
	left       float64
}

func main() {
	var o options
	var cases string
	var rss float64
	flag.StringVar(&cases, "cases", "short,running,headers,long,mixed,deepstrike,everruns,deltas,latency", "which cases to run; there are also restore and telemetry")
	flag.IntVar(&o.partials, "partials", 1_000_000, "sessions of the restore case")
	flag.DurationVar(&o.restore, "max-restore", 15*time.Second, "start to ready in the restore case; 0: no bound")
	flag.Float64Var(&o.sampled, "sampled", 0.01, "part of the batches that the telemetry case makes spans of")
	flag.Float64Var(&o.left, "floor-telemetry", 0.97, "records per second with telemetry, of those without; 0: no floor")
	flag.IntVar(&o.runs, "runs", 5, "runs per throughput case; medians are shown")
	flag.IntVar(&o.sessions, "sessions", 20_000, "sessions of the short case, 10 records each")
	flag.IntVar(&o.long, "long", 2_000, "sessions of the long case, 98 records each")
	flag.IntVar(&o.mixed, "mixed", 4_000, "sessions of the mixed case, of all kinds on all topics")
	flag.IntVar(&o.deep, "deepstrike", 8_000, "sessions of the deepstrike case, about 25 records each")
	flag.IntVar(&o.ever, "everruns", 5_000, "sessions of the everruns case, about 40 records each")
	flag.Float64Var(&o.native, "floor-native", 150_000, "records per second of the deepstrike and the everruns case; 0: no floor")
	flag.IntVar(&o.deltas, "deltas", 1_000, "state deltas of the deltas case")
	flag.Float64Var(&o.row, "max-row", 310, "bytes per history row of the deltas case; 0: no bound")
	flag.IntVar(&o.partitions, "partitions", 4, "partitions of the lane topic")
	flag.Float64Var(&o.rate, "rate", 20_000, "records per second of the latency case")
	flag.Float64Var(&o.seconds, "seconds", 10, "length of the latency case, 2 s of warming up included")
	flag.StringVar(&o.folder, "folder", "", "binary of the worker; empty: build ./cmd/folder")
	flag.StringVar(&o.profile, "cpuprofile", "", "directory for CPU profiles of the worker")
	flag.DurationVar(&o.profileFor, "profile-for", time.Second, "length of each profile, whole seconds; give it a load that lasts longer (--sessions)")
	flag.DurationVar(&o.within, "within", 2*time.Minute, "longest time of one catch-up")
	flag.Float64Var(&o.floors.Rate, "floor-rate", 500_000, "records per second of the running case; 0: no floor")
	flag.Float64Var(&o.floors.Ratio, "floor-ratio", 0.2, "of the draining consumer, short case; 0: no floor")
	flag.DurationVar(&o.floors.P99, "max-p99", 300*time.Millisecond, "produce to readable; 0: no bound")
	flag.Float64Var(&rss, "max-rss", 512, "peak memory of the worker in MiB; 0: no bound")
	flag.Parse()
	o.floors.RSS = int64(rss * (1 << 20))
	o.cases = map[string]bool{}
	for c := range strings.SplitSeq(cases, ",") {
		o.cases[c] = true
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	proc.Clean()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "folder-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.folder == "" {
		if o.folder, err = proc.Build("./cmd/folder", false); err != nil {
			return err
		}
	}
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o755); err != nil {
			return err
		}
	}
	fmt.Printf("%s %s/%s, %d CPUs\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	b := bench.Bench{Folder: o.folder, Dir: dir, Within: o.within, Profile: o.profile, ProfileFor: o.profileFor}

	var short, warm []bench.Run
	var latency *bench.Latency
	if o.cases["short"] {
		if short, err = throughput(ctx, b, "short", bench.Short("short", 0, o.sessions, int32(o.partitions)).FewHeaders(), o.runs); err != nil {
			return err
		}
	}
	if o.cases["running"] {
		if warm, err = running(ctx, b, o, "running", (*bench.Load).FewHeaders); err != nil {
			return err
		}
	}
	if o.cases["headers"] {
		if _, err := running(ctx, b, o, "headers", func(l *bench.Load) *bench.Load { return l }); err != nil {
			return err
		}
	}
	if o.cases["long"] {
		runs, err := throughput(ctx, b, "long", bench.Long("long", o.long, int32(o.partitions), 12), o.runs)
		if err != nil {
			return err
		}
		long := o.floors
		long.Rate, long.Ratio = 0, 0 // floors of the short case
		if bad := long.Check(runs, nil); len(bad) > 0 {
			return errors.New("bench: long case: " + strings.Join(bad, "; "))
		}
	}
	if o.cases["mixed"] {
		if _, err := throughput(ctx, b, "mixed", bench.Mixed("mixed", o.mixed, int32(o.partitions)), o.runs); err != nil {
			return err
		}
	}
	if err := native(ctx, b, o); err != nil {
		return err
	}
	if o.cases["deltas"] {
		if err := deltas(ctx, b, o); err != nil {
			return err
		}
	}
	if o.cases["latency"] {
		l, err := steady(ctx, b, o)
		if err != nil {
			return err
		}
		latency = &l
	}
	if o.cases["restore"] {
		if err := restore(ctx, b, o); err != nil {
			return err
		}
	}
	if o.cases["telemetry"] {
		if err := telemetry(ctx, b, o); err != nil {
			return err
		}
	}
	cold := o.floors
	cold.Rate = 0 // decision 0015: of a worker that runs
	if bad := append(o.floors.Check(warm, nil), cold.Check(short, latency)...); len(bad) > 0 {
		return errors.New("bench: " + strings.Join(bad, "; "))
	}
	return nil
}

func throughput(ctx context.Context, b bench.Bench, stream string, l *bench.Load, n int) (runs []bench.Run, err error) {
	if b.Kafka, err = bench.StartKafka(); err != nil {
		return nil, err
	}
	defer b.Kafka.Close()
	if err := b.Preload(ctx, stream, l); err != nil {
		return nil, err
	}
	for i := range n {
		r, err := b.Throughput(ctx, stream, fmt.Sprintf("%s-%d", stream, i), l)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	bench.PrintRuns(os.Stdout, l, runs)
	fmt.Println()
	return runs, nil
}

// running runs the short case on a worker that has had as much before.
func running(ctx context.Context, b bench.Bench, o options, name string, as func(*bench.Load) *bench.Load) (runs []bench.Run, err error) {
	if b.Kafka, err = bench.StartKafka(); err != nil {
		return nil, err
	}
	defer b.Kafka.Close()
	var l *bench.Load
	for i := range o.runs {
		stream := fmt.Sprintf("%s-%d", name, i)
		first := as(bench.Short(stream, 0, o.sessions, int32(o.partitions)))
		l = as(bench.Short(stream, o.sessions, o.sessions, int32(o.partitions)))
		r, err := b.Running(ctx, stream, first, l)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	bench.PrintRunning(os.Stdout, l, runs)
	return runs, nil
}

// native runs the cases of the foreign dialects.
func native(ctx context.Context, b bench.Bench, o options) error {
	sessions := map[wire.Dialect]int{wire.DialectDeepStrike: o.deep, wire.DialectEverruns: o.ever}
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		if !o.cases[d.String()] {
			continue
		}
		runs, err := throughput(ctx, b, d.String(), bench.Native(d, d.String(), sessions[d], int32(o.partitions), 12), o.runs)
		if err != nil {
			return err
		}
		floors := o.floors
		floors.Rate, floors.Ratio = o.native, 0
		if bad := floors.Check(runs, nil); len(bad) > 0 {
			return fmt.Errorf("bench: %s case: %s", d, strings.Join(bad, "; "))
		}
	}
	return nil
}

// deltas folds the state deltas of one session and weighs what the changelog
// holds of them.
func deltas(ctx context.Context, b bench.Bench, o options) (err error) {
	if b.Kafka, err = bench.StartKafka(); err != nil {
		return err
	}
	defer b.Kafka.Close()
	var bad []string
	for i, c := range bench.DeltaCases {
		stream := fmt.Sprintf("deltas-%d", i)
		l := bench.Deltas(stream, c.Name, o.deltas, c.Member)
		if err := b.Preload(ctx, stream, l); err != nil {
			return err
		}
		if _, err := b.Throughput(ctx, stream, stream, l); err != nil {
			return err
		}
		s, err := b.StateBytes(ctx, stream, l.Records[0].Topic, o.deltas)
		if err != nil {
			return err
		}
		bench.PrintDeltas(os.Stdout, l, s)
		bad = append(bad, bench.CheckDeltas(l, &s, o.row)...)
	}
	fmt.Println()
	if len(bad) > 0 {
		return errors.New("bench: " + strings.Join(bad, "; "))
	}
	return nil
}

func steady(ctx context.Context, b bench.Bench, o options) (l bench.Latency, err error) {
	if b.Kafka, err = bench.StartKafka(); err != nil {
		return l, err
	}
	defer b.Kafka.Close()
	load := bench.Short("steady", 0, int(o.rate*o.seconds/10), int32(o.partitions)).WithProbe("steady")
	if l, err = b.Latency(ctx, "steady", "steady", load, o.rate); err != nil {
		return l, err
	}
	bench.PrintLatency(os.Stdout, l)
	return l, nil
}

func restore(ctx context.Context, b bench.Bench, o options) (err error) {
	if b.Kafka, err = bench.StartKafka(); err != nil {
		return err
	}
	defer b.Kafka.Close()
	load := bench.Starts("restore", o.partials, int32(o.partitions))
	if err := b.Preload(ctx, "restore", load); err != nil {
		return err
	}
	load.Records = nil // their memory
	runtime.GC()
	r, err := b.Restore(ctx, "restore", "restore", load)
	if err != nil {
		return err
	}
	bench.PrintRestore(os.Stdout, r)
	if bad := o.floors.CheckRestore(&r, o.restore); len(bad) > 0 {
		return errors.New("bench: " + strings.Join(bad, "; "))
	}
	return nil
}
