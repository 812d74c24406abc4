package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// Floors are the figures below which (above which, for latency and memory) the
// benchmark fails. They hold for the first case.
type Floors struct {
	Rate  float64
	Ratio float64
	P99   time.Duration
	RSS   int64
}

// Median gives the middle of a figure over runs; of an even number the lower.
func Median[T cmp.Ordered](runs []Run, f func(*Run) T) T {
	vs := make([]T, len(runs))
	for i := range runs {
		vs[i] = f(&runs[i])
	}
	slices.Sort(vs)
	return vs[(len(vs)-1)/2]
}

// PrintRuns writes the medians of a case.
func PrintRuns(w io.Writer, l *Load, runs []Run) {
	n := float64(len(l.Records))
	fmt.Fprintln(w, l.title(len(runs)))
	printRate(w, runs)
	line(w, "a consumer that only drains", "%s records/s", thousands(Median(runs, (*Run).DrainRate)))
	line(w, "ratio", "%.2f", Median(runs, (*Run).Ratio))
	printCost(w, l, runs)
	line(w, "store", "%.0f bytes/record", float64(Median(runs, func(r *Run) int64 { return r.Store }))/n)
	line(w, "changelog", "%.0f bytes/record", float64(Median(runs, func(r *Run) int64 { return r.Changelog }))/n)
}

// PrintRunning writes the medians of a load that a running worker caught up with.
func PrintRunning(w io.Writer, l *Load, runs []Run) {
	fmt.Fprintln(w, "at once, before a worker that has folded as much already: "+l.title(len(runs)))
	printRate(w, runs)
	printCost(w, l, runs)
	fmt.Fprintln(w)
}

func (l *Load) title(runs int) string {
	return fmt.Sprintf("%s, %d records of %.0f bytes on %d partitions, medians of %d runs", l.Name, len(l.Records), float64(l.Bytes)/float64(len(l.Records)), l.Partitions, runs)
}

func line(w io.Writer, what, format string, args ...any) {
	fmt.Fprintf(w, "  %-34s %s\n", what, fmt.Sprintf(format, args...))
}

func printRate(w io.Writer, runs []Run) {
	rates := make([]string, len(runs))
	for i := range runs {
		rates[i] = thousands(runs[i].Rate())
	}
	line(w, "end to end, exactly once", "%s records/s  %v", thousands(Median(runs, (*Run).Rate)), rates)
}

func printCost(w io.Writer, l *Load, runs []Run) {
	line(w, "processor time of the worker", "%.1f µs/record", float64(Median(runs, func(r *Run) time.Duration { return r.CPU }).Nanoseconds())/1000/float64(len(l.Records)))
	line(w, "peak memory of the worker", "%.0f MiB", mib(Median(runs, func(r *Run) int64 { return r.RSS })))
}

// PrintLatency writes the figures of the latency case.
func PrintLatency(w io.Writer, l Latency) {
	fmt.Fprintf(w, "produce to readable, %d records at %s records/s\n", l.Records, thousands(l.Rate))
	fmt.Fprintf(w, "  %-34s %v\n  %-34s %v\n  %-34s %v\n  %-34s %.0f MiB\n", "p50", l.P50.Round(time.Millisecond), "p99", l.P99.Round(time.Millisecond),
		"longest", l.Max.Round(time.Millisecond), "peak memory of the worker", mib(l.RSS))
}

// Check lists the floors that do not hold. A floor of 0 is none; runs or l may
// be empty when that case was not asked for.
func (f Floors) Check(runs []Run, l *Latency) (bad []string) {
	miss := func(is bool, format string, args ...any) {
		if is {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	if len(runs) > 0 {
		rate, ratio, rss := Median(runs, (*Run).Rate), Median(runs, (*Run).Ratio), Median(runs, func(r *Run) int64 { return r.RSS })
		miss(f.Rate > 0 && rate < f.Rate, "%s records/s, the floor is %s", thousands(rate), thousands(f.Rate))
		miss(f.Ratio > 0 && runs[0].Drain > 0 && ratio < f.Ratio, "ratio %.2f, the floor is %.2f", ratio, f.Ratio)
		miss(f.RSS > 0 && rss > f.RSS, "%.0f MiB of memory, the bound is %.0f", mib(rss), mib(f.RSS))
	}
	if l != nil {
		miss(f.P99 > 0 && l.P99 > f.P99, "p99 %v, the bound is %v", l.P99.Round(time.Millisecond), f.P99)
		miss(f.RSS > 0 && l.RSS > f.RSS, "%.0f MiB of memory at a steady rate, the bound is %.0f", mib(l.RSS), mib(f.RSS))
	}
	return bad
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func thousands(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
