package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"sessionfold/index/row"
	"sessionfold/wire"
	"sessionfold/worker"
)

// buffer is a log that goroutines write to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts telemetry with no variables but those given.
func start(t *testing.T, env map[string]string) (*Telemetry, *buffer, *prometheus.Registry) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for name, v := range env {
		t.Setenv(name, v)
	}
	log, reg := &buffer{}, prometheus.NewRegistry()
	o := Options{Version: "v1", Instance: "w-0", Group: "g", ChangesTopic: "g-changes", Own: prometheus.NewRegistry(), Prometheus: reg,
		Log: slog.New(slog.NewTextHandler(log, nil))}
	told := Start(t.Context(), o)
	t.Cleanup(func() { _ = told.Shutdown(context.Background()) }) // nobody is there to take what is left
	return told, log, reg
}

// spanned is telemetry whose spans are kept in memory.
func spanned(t *testing.T) (*Telemetry, *tracetest.InMemoryExporter) {
	t.Helper()
	told, _, _ := start(t, nil)
	mem := tracetest.NewInMemoryExporter()
	told.traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(mem))
	told.tracer, told.links = told.traces.Tracer(scope), 128
	return told, mem
}

func TestNothingIsSentUnlessAsked(t *testing.T) {
	for name, c := range map[string]struct {
		env                   map[string]string
		traces, metrics, logs string
	}{
		"nothing":              {nil, "", "", ""},
		"an endpoint":          {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, "otlp", "otlp", ""},
		"endpoint of traces":   {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, "otlp", "", ""},
		"exporters":            {map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_LOGS_EXPORTER": "otlp"}, "console", "", "otlp"},
		"none wins":            {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_METRICS_EXPORTER": "none"}, "otlp", "", ""},
		"Prometheus is there":  {map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, "", "", ""},
		"a sampler alone":      {map[string]string{"OTEL_TRACES_SAMPLER": "always_on"}, "", "", ""},
		"the switch is thrown": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			told, log, reg := start(t, c.env)
			for signal, want := range map[string]string{"TRACES": c.traces, "METRICS": c.metrics, "LOGS": c.logs} {
				if got := destination(signal); got != want {
					t.Errorf("%s go to %q, want %q", signal, got, want)
				}
			}
			if told.Tracing() != (c.traces != "") || (told.logs != nil) != (c.logs != "") {
				t.Errorf("spans %v, logs %v", told.Tracing(), told.logs != nil)
			}
			told.Polled([]wire.Fetched{{TopicPartition: wire.TopicPartition{Topic: "t"}, Records: make([]wire.Raw, 3)}}, time.Second)
			families, err := reg.Gather()
			if off := c.env["OTEL_SDK_DISABLED"] != ""; err != nil || (len(families) == 0) != off {
				t.Errorf("Prometheus shows %d metrics (%v)", len(families), err)
			}
			if log.String() != "" {
				t.Errorf("logged: %s", log)
			}
		})
	}
}

func TestWrongVariablesStopNothing(t *testing.T) {
	told, log, reg := start(t, map[string]string{
		"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "smoke", "OTEL_RESOURCE_ATTRIBUTES": "a",
	})
	told.Polled([]wire.Fetched{{Records: make([]wire.Raw, 3)}}, time.Second)
	if families, err := reg.Gather(); err != nil || len(families) == 0 {
		t.Errorf("Prometheus shows %d metrics (%v)", len(families), err)
	}
	for _, want := range []string{"signal=traces", "signal=metrics", "OTEL_RESOURCE_ATTRIBUTES"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// commitOne takes a batch of one record from its poll to the end of its commit.
func commitOne(told *Telemetry, raw []wire.Raw, failed error) []wire.Header {
	tp := wire.TopicPartition{Topic: "s.agent.sessions", Partition: 3}
	since := time.Now()
	told.Polled([]wire.Fetched{{TopicPartition: tp, Records: raw}}, time.Millisecond)
	txn := &worker.Txn{Steps: []worker.Step{{Batch: &row.Batch{
		Source: &wire.Source{Topic: tp.Topic}, Changes: make([]wire.ChangeRow, 2), Ops: []row.Op{{Durable: true}, {}},
	}}}}
	b := told.Follow(since)
	ctx := context.Background()
	if b != nil {
		b.Fold(tp, since, raw)(nil)
		txn.Batches = []worker.Batch{b}
		ctx = b.Context(ctx)
	}
	told.Folded(tp, time.Millisecond, nil)
	c := told.Commit(ctx, txn, func(topic string) string { return topic + "-changelog" })
	hs := c.Headers()
	if failed == nil {
		c.Sent()
	}
	c.End(failed)
	if b != nil {
		b.End(failed)
	}
	return hs
}

// A backend that takes connections and answers nothing, in front of a worker
// that commits as fast as it can.
func TestABackendThatHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told, log, _ := start(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + l.Addr().String(), "OTEL_BSP_SCHEDULE_DELAY": "1", "OTEL_METRIC_EXPORT_INTERVAL": "1",
	})
	raw := []wire.Raw{carrying(contextOf(5, 1))}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2_000 { // their spans are far more than the queue holds
			commitOne(told, raw, nil)
		}
	}()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		t.Fatal("the worker waits for the backend")
	}
	began := time.Now()
	err = told.Shutdown(t.Context())
	if took := time.Since(began); took > FlushBound+10*time.Second {
		t.Errorf("the end took %v, its bound is %v", took, FlushBound)
	}
	if err == nil {
		t.Error("nobody took the last spans, and that is not said")
	}
	if n := strings.Count(log.String(), "cannot be handed over"); n > 1 {
		t.Errorf("%d lines within a minute", n)
	}
}

func TestTroublesAreLoggedOnceInAWhile(t *testing.T) {
	log, now := &buffer{}, time.Unix(1000, 0)
	tr := &troubles{log: slog.New(slog.NewTextHandler(log, nil)), now: func() time.Time { return now }}
	for range 100 {
		tr.Handle(errors.New("refused"))
		now = now.Add(time.Second)
	}
	if text := log.String(); strings.Count(text, "err=refused") != 2 || !strings.Contains(text, "not_logged=59") {
		t.Errorf("logged:\n%s", text)
	}
}

// A batch is one trace, and the producer's is linked from its fold.
func TestSpansOfABatch(t *testing.T) {
	told, mem := spanned(t)
	hs := commitOne(told, []wire.Raw{carrying(contextOf(0x77, 1))}, nil)
	by := map[string]tracetest.SpanStub{}
	for _, s := range mem.GetSpans() {
		by[s.Name] = s
		if s.SpanContext.TraceID() != mem.GetSpans()[0].SpanContext.TraceID() {
			t.Errorf("span %q is of another trace", s.Name)
		}
	}
	for name, parent := range map[string]string{
		"batch g": "", "receive s.agent.sessions": "batch g", "process s.agent.sessions": "batch g", "commit g": "batch g", "send g-changes": "commit g",
	} {
		if s, ok := by[name]; !ok || s.Parent.SpanID() != by[parent].SpanContext.SpanID() {
			t.Errorf("span %q (there: %v) is not below %q", name, ok, parent)
		}
	}
	if l := by["process s.agent.sessions"].Links; len(l) != 1 || l[0].SpanContext.TraceID() != ([16]byte{15: 0x77}) {
		t.Errorf("links %v", l)
	}
	send := by["send g-changes"].SpanContext
	if want := "00-" + send.TraceID().String() + "-" + send.SpanID().String() + "-01"; len(hs) != 1 || hs[0].Key != headerTrace || string(hs[0].Value) != want {
		t.Errorf("change rows carry %s, want %s", hs, want)
	}
}

// A failure is told by a word; texts of errors stay in the log.
func TestSpansOfAFailure(t *testing.T) {
	told, mem := spanned(t)
	commitOne(told, nil, &worker.Failure{Err: errors.New("secret"), Where: "produce"})
	failed := 0
	for _, s := range mem.GetSpans() {
		for _, a := range s.Attributes {
			if a.Key == "error.type" && a.Value.AsString() == "produce" {
				failed++
			}
			if strings.Contains(a.Value.String(), "secret") {
				t.Errorf("span %q: %v", s.Name, a)
			}
		}
		if s.Status.Description != "" || len(s.Events) > 0 {
			t.Errorf("span %q: %v %v", s.Name, s.Status, s.Events)
		}
	}
	if failed != 3 {
		t.Errorf("%d spans say what failed, want those of the batch, its commit and what it sends", failed)
	}
}

// Batches that the sampler leaves out make no spans and no rows longer.
func TestBatchesThatAreNotSampled(t *testing.T) {
	told, mem := spanned(t)
	told.traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(mem), sdktrace.WithSampler(sdktrace.NeverSample()))
	told.tracer = told.traces.Tracer(scope)
	if hs := commitOne(told, []wire.Raw{carrying(contextOf(0x77, 1))}, nil); hs != nil || len(mem.GetSpans()) > 0 {
		t.Errorf("headers %v, %d spans", hs, len(mem.GetSpans()))
	}
	if b := told.Follow(time.Now()); b != nil {
		t.Error("a batch that is left out is followed, and its records' headers are read")
	}
	for _, off := range []*Telemetry{nil, {}} {
		if hs := commitOne(off, nil, nil); hs != nil {
			t.Errorf("headers %v without telemetry", hs)
		}
	}
}

// A path names a session; spans and metrics have the route instead.
func TestRequestsAreToldByRoute(t *testing.T) {
	told, mem := spanned(t)
	reg := prometheus.NewRegistry()
	told.opt.Prometheus = reg
	if err := told.beginMetrics(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/sessions/{stream}/{id}", func(w http.ResponseWriter, r *http.Request) {
		var log buffer
		slog.New(Traced(slog.NewTextHandler(&log, nil))).InfoContext(r.Context(), "here")
		if !strings.Contains(log.String(), "trace_id=000000000000000000000000000000aa span_id=") {
			t.Errorf("a line of a request: %s", &log)
		}
	})
	mux.HandleFunc("/", http.NotFound)
	for _, path := range []string{"/sessions/shop/SECRET", "/elsewhere/SECRET"} {
		r := httptest.NewRequest(http.MethodGet, path+"?cursor=SECRET", nil)
		r.Header.Set(headerTrace, contextOf(0xaa, 1))
		r.Host = "SECRET"
		told.Handler(mux, "127.0.0.1:8080").ServeHTTP(httptest.NewRecorder(), r)
	}
	spans := mem.GetSpans()
	if len(spans) != 2 || spans[0].Name != "GET /sessions/{stream}/{id}" || spans[0].Parent.SpanID() != ([8]byte{7: 0xaa}) || !spans[0].Parent.IsRemote() {
		t.Fatalf("spans %v", spans)
	}
	if a := attribute.NewSet(spans[0].Attributes...); !a.HasValue("http.route") {
		t.Errorf("the route is missing: %v", spans[0].Attributes)
	}
	for _, s := range spans {
		for _, a := range append(s.Attributes, attribute.String("name", s.Name)) {
			if strings.Contains(a.Value.String(), "SECRET") {
				t.Errorf("span %q: %v", s.Name, a)
			}
		}
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]bool{}
	for _, f := range families {
		if f.GetName() != "http_server_request_duration_seconds" {
			t.Errorf("metric %s", f.GetName())
			continue
		}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if strings.Contains(l.GetValue(), "SECRET") {
					t.Errorf("label %s", l)
				}
				if l.GetName() == "http_route" {
					routes[l.GetValue()] = true
				}
			}
			if n := len(m.Histogram.Bucket); n != len(buckets) {
				t.Errorf("%d buckets, want %d", n, len(buckets))
			}
		}
	}
	if !routes["/sessions/{stream}/{id}"] {
		t.Errorf("routes %v", routes)
	}
}

// A reply without an end goes out piece by piece, and moves the server's bound
// on writing, also where requests are told of.
func TestRepliesWithoutEnd(t *testing.T) {
	told, _ := spanned(t)
	told.opt.Prometheus = prometheus.NewRegistry()
	if err := told.beginMetrics(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/live", func(w http.ResponseWriter, r *http.Request) {
		out := http.NewResponseController(w)
		for range 3 {
			err := out.SetWriteDeadline(time.Now().Add(time.Minute))
			if _, e := io.WriteString(w, "x"); err != nil || e != nil {
				t.Error(err, e)
			}
			if err := out.Flush(); err != nil {
				t.Error(err)
			}
		}
		<-r.Context().Done()
	})
	s := httptest.NewServer(told.Handler(mux, "127.0.0.1:8080"))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 3)); err != nil {
		t.Error(err)
	}
}
