package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"sessionfold/wire"
)

// Traced gives every record the context of its producer in a header, as an
// instrumented one does: a trace per session, all of them sampled.
func (l *Load) Traced() {
	for i := range l.Records {
		r := &l.Records[i]
		h := wire.Header{Key: "traceparent", Value: fmt.Appendf(nil, "00-%x-%016x-01", r.Session[:], i+1)}
		r.Headers = append(slices.Clip(r.Headers), h)
		l.Bytes += int64(len(h.Key) + len(h.Value))
	}
}

// Collector takes what workers send by OTLP over HTTP, and throws it away.
type Collector struct {
	URL    string
	Traces atomic.Int64 // requests with spans
	Others atomic.Int64
	srv    http.Server
}

// StartCollector listens on a free port.
func StartCollector() (*Collector, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("bench: collector: %w", err)
	}
	c := &Collector{URL: "http://" + ln.Addr().String()}
	c.srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a worker that was ended cuts it off
		if r.URL.Path == "/v1/traces" {
			c.Traces.Add(1)
		} else {
			c.Others.Add(1)
		}
		w.Header().Set("Content-Type", "application/x-protobuf") // an empty message: all of it was taken
	})
	go func() { _ = c.srv.Serve(ln) }() // ends with Close
	return c, nil
}

// Close ends it.
func (c *Collector) Close() { _ = c.srv.Close() }

// Pair is one load folded with and without telemetry, one run after the other.
type Pair struct{ Without, With Run }

// Rate is how much of the records per second is left with telemetry.
func (p *Pair) Rate() float64 { return p.With.Rate() / p.Without.Rate() }

// CPU is how much more processor time it takes.
func (p *Pair) CPU() float64 { return float64(p.With.CPU) / float64(p.Without.CPU) }

// Telemetry folds a preloaded stream by turns with telemetry switched off and
// with all of it, spans of ratio of the batches; which comes first changes.
func (b *Bench) Telemetry(ctx context.Context, stream string, l *Load, c *Collector, ratio float64, pairs int) ([]Pair, error) {
	out := make([]Pair, pairs)
	for i := range out {
		for turn := range 2 {
			run, on := &out[i].Without, turn != i%2
			b.Env = []string{"OTEL_SDK_DISABLED=true"}
			if on {
				run = &out[i].With
				b.Env = []string{
					"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_TRACES_SAMPLER=parentbased_traceidratio",
					fmt.Sprint("OTEL_TRACES_SAMPLER_ARG=", ratio),
				}
			}
			var err error
			if *run, err = b.Throughput(ctx, stream, fmt.Sprintf("%s-%d-%d", stream, i, turn), l); err != nil {
				return nil, err
			}
		}
	}
	if c.Others.Load() == 0 || ratio == 1 && c.Traces.Load() == 0 {
		return nil, errors.New("bench: the workers told the collector nothing")
	}
	return out, nil
}

// PrintTelemetry writes what the pairs show.
func PrintTelemetry(w io.Writer, l *Load, pairs []Pair, c *Collector, ratio float64) {
	fmt.Fprintf(w, "%s, %d records with traceparent, with and without telemetry by turns, %g of the batches as spans, %d pairs\n", l.Name, len(l.Records), ratio, len(pairs))
	var with, without []Run
	for _, p := range pairs {
		with, without = append(with, p.With), append(without, p.Without)
	}
	cpu := func(r *Run) time.Duration { return r.CPU }
	fmt.Fprintf(w, "  %-34s %s and %s records/s\n", "without and with", thousands(Median(without, (*Run).Rate)), thousands(Median(with, (*Run).Rate)))
	fmt.Fprintf(w, "  %-34s %v and %v\n", "processor time of the worker", Median(without, cpu).Round(time.Millisecond), Median(with, cpu).Round(time.Millisecond))
	rss := func(r *Run) int64 { return r.RSS }
	fmt.Fprintf(w, "  %-34s %.0f and %.0f MiB\n", "peak memory of the worker", mib(Median(without, rss)), mib(Median(with, rss)))
	fmt.Fprintf(w, "  %-34s %.3f  %.3f\n", "rate left, median of pairs", MedianPair(pairs, (*Pair).Rate), each(pairs, (*Pair).Rate))
	fmt.Fprintf(w, "  %-34s %.3f  %.3f\n", "processor time, median of pairs", MedianPair(pairs, (*Pair).CPU), each(pairs, (*Pair).CPU))
	fmt.Fprintf(w, "  %-34s %d with spans, %d others\n", "requests to the collector", c.Traces.Load(), c.Others.Load())
}

func each(pairs []Pair, f func(*Pair) float64) []float64 {
	out := make([]float64, len(pairs))
	for i := range pairs {
		out[i] = f(&pairs[i])
	}
	return out
}

// MedianPair gives the middle of a figure over pairs; of an even number the lower.
func MedianPair(pairs []Pair, f func(*Pair) float64) float64 {
	vs := each(pairs, f)
	slices.SortFunc(vs, cmp.Compare[float64])
	return vs[(len(vs)-1)/2]
}
