package telemetry

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"sessionfold/wire"
)

// carrying is a record with headers as producers write them, and a context.
func carrying(traceparent string) wire.Raw {
	return wire.Raw{Headers: []wire.Header{{Key: wire.HeaderVersion, Value: []byte{0, 0, 0, 1}}, {Key: headerTrace, Value: []byte(traceparent)}}}
}

func contextOf(n, flags int) string { return fmt.Sprintf("00-%032x-%016x-%02x", n, n, flags) }

func TestLinksAreCapped(t *testing.T) {
	const limit = 128
	var raw []wire.Raw
	for n := range 500 {
		raw = append(raw, carrying(contextOf(1+n, 0)), carrying(contextOf(1+n, 0)), wire.Raw{})
	}
	for n := range 100 {
		raw = append(raw, carrying(contextOf(1000+n, 1)))
	}
	links := linksOf(raw, limit)
	if len(links) != limit {
		t.Fatalf("%d links, want %d", len(links), limit)
	}
	seen := map[trace.TraceID]bool{}
	for i, l := range links {
		if seen[l.SpanContext.TraceID()] {
			t.Errorf("trace %s is linked twice", l.SpanContext.TraceID())
		}
		seen[l.SpanContext.TraceID()] = true
		if sampled := i < 100; l.SpanContext.IsSampled() != sampled || !l.SpanContext.IsRemote() {
			t.Errorf("link %d: sampled %v, remote %v; sampled ones come first", i, l.SpanContext.IsSampled(), l.SpanContext.IsRemote())
		}
	}
	if n := len(linksOf(raw, 0)); n != 0 {
		t.Errorf("%d links where none are allowed", n)
	}
	if n := len(linksOf(raw[1500:], limit)); n != 100 {
		t.Errorf("%d links of 100 traces", n)
	}
}

// A trace of which only some records say that it is sampled is linked once, as sampled.
func TestLinkOfATraceThatIsSampledLater(t *testing.T) {
	links := linksOf([]wire.Raw{carrying(contextOf(7, 0)), carrying(contextOf(8, 0)), carrying(contextOf(7, 1)), carrying(contextOf(8, 0))}, 128)
	if len(links) != 2 || !links[0].SpanContext.IsSampled() || links[1].SpanContext.IsSampled() {
		t.Errorf("links %v", links)
	}
}

func TestOnlyContextsAreLinked(t *testing.T) {
	good := contextOf(0xab, 1)
	for text, ok := range map[string]bool{
		good:                       true,
		contextOf(0xab, 0xff):      true, // flags of later versions
		good[:54]:                  false,
		good + "-":                 false, // version 0 has no more
		"01" + good[2:]:            true,
		"01" + good[2:] + "-later": true,
		"01" + good[2:] + "later":  false,
		"ff" + good[2:]:            false,
		contextOf(0, 1):            false,
		"00-000000000000000000000000000000AB-00000000000000ab-01": false,
		"00-000000000000000000000000000000zb-00000000000000ab-01": false,
		"00_000000000000000000000000000000ab-00000000000000ab-01": false,
		"": false,
		"a secret of somebody's, which is longer than any context would be": false,
	} {
		c, got := parse([]byte(text))
		if got != ok {
			t.Errorf("%q is taken: %v, want %v", text, got, ok)
		}
		if got && c.SpanID() != (trace.SpanID{7: 0xab}) {
			t.Errorf("%q: span %s", text, c.SpanID())
		}
		if n := len(linksOf([]wire.Raw{carrying(text)}, 128)); (n == 1) != ok {
			t.Errorf("%q: %d links", text, n)
		}
	}
}

// What a record costs a batch that is followed: nothing is allocated for it.
func BenchmarkLinks(b *testing.B) {
	raw := make([]wire.Raw, 8192)
	for i := range raw {
		raw[i] = carrying(contextOf(1+i/10, 0))
	}
	for b.Loop() {
		linksOf(raw, 128)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(raw)), "ns/record")
}

// What a batch of 1,000 records costs at 1 %: polls, fold and commit, told to
// nobody who would slow them.
func BenchmarkOnePercent(b *testing.B) {
	told := Start(b.Context(), Options{Group: "g", ChangesTopic: "g-changes", Prometheus: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	told.traces = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(.01))))
	told.tracer, told.links = told.traces.Tracer(scope), 128
	raw := make([]wire.Raw, 1000)
	for i := range raw {
		raw[i] = carrying(contextOf(1+i/10, 1))
	}
	b.ReportAllocs()
	for b.Loop() {
		commitOne(told, raw, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(raw)), "ns/record")
}
