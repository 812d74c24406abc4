package oteltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// rig is a backend, a broker, a worker that tells the backend, and an agent with
// telemetry of its own.
type rig struct {
	*testing.T
	back   *backend
	kafka  *testenv.Kafka
	stream string
	writer *testenv.Writer
	worker *folder.Worker
	agent  trace.Tracer
	sent   func() // hands over what the agent has told
}

// newRig starts all of it; the worker gets these variables beside those that say
// where to and how often.
func newRig(t *testing.T, protocol string, env ...string) *rig {
	t.Helper()
	r := &rig{T: t, back: listen(t), kafka: testenv.Start(t), stream: testenv.Name(t)}
	r.writer = r.kafka.NewWriter(t, r.stream, map[wire.Role]int32{wire.RoleLane: 2})
	bin, err := folder.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := r.back.http
	if protocol == "grpc" {
		endpoint = r.back.grpc
	}
	r.worker, err = folder.New(folder.Options{
		Bin: bin, Brokers: r.kafka.Addrs, Group: r.stream, Instance: "w-0", Stream: r.stream, Dir: t.TempDir(),
		Extra: []string{"log: {level: info, format: json}"},
		Env: append([]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_LOGS_EXPORTER=otlp",
			"OTEL_METRIC_EXPORT_INTERVAL=200", "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_BLRP_SCHEDULE_DELAY=50",
		}, env...),
	})
	if err == nil {
		err = r.worker.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.worker.Kill()
		if t.Failed() {
			t.Logf("the worker's last words:\n%s", r.worker.Log())
		}
	})
	r.eventually(func() error {
		_, err := r.worker.Get(t.Context(), r.worker.Admin+"/readyz")
		return err
	})

	exp, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(r.back.http), otlptracehttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exp), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(resource.NewSchemaless(semconv.ServiceName("agent"))))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) }) // everything was sent as it ended
	r.agent = p.Tracer("oteltest")
	return r
}

// eventually waits for a condition while the worker runs.
func (r *rig) eventually(f func() error) {
	r.Helper()
	testenv.Eventually(r, 60*time.Second, func() error {
		if err := r.worker.Ended(); err != nil {
			r.Fatal(err)
		}
		return f()
	})
}

// produce writes records as an instrumented agent does: within a span, with its
// context in their headers.
func (r *rig) produce(rs []agdxlog.Record) trace.SpanContext {
	r.Helper()
	ctx, s := r.agent.Start(r.Context(), "send "+rs[0].Topic, trace.WithSpanKind(trace.SpanKindProducer))
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	for i := range rs {
		for k, v := range carrier {
			rs[i].Headers = append(rs[i].Headers, wire.Header{Key: k, Value: []byte(v)})
		}
	}
	r.writer.Put(rs...)
	r.writer.Flush()
	s.End()
	return s.SpanContext()
}

// folded waits until a read shows a session with its last record.
func (r *rig) folded(id wire.ID, events uint64) {
	r.Helper()
	r.eventually(func() error {
		var s wire.SessionInfo
		if err := r.worker.JSON(r.Context(), "/sessions/"+r.stream+"/"+id.String(), &s); err != nil {
			return err
		}
		if s.Events != events {
			return fmt.Errorf("%d of %d events of session %s are folded", s.Events, events, id)
		}
		return nil
	})
}

// ask sends a request within a span of a client, whose context it carries.
func (r *rig) ask(method, url string, want int) trace.SpanContext {
	r.Helper()
	ctx, s := r.agent.Start(r.Context(), "ask", trace.WithSpanKind(trace.SpanKindClient))
	defer s.End()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		r.Fatal(err)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		r.Fatalf("%s %s: %s: %s (%v)", method, url, res.Status, body, err)
	}
	return s.SpanContext()
}

// rows reads the records of the changes topic that are there now.
func (r *rig) rows() []*kgo.Record {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	topic := r.stream + "-changes"
	ends, err := r.kafka.Admin.ListEndOffsets(ctx, topic)
	if err != nil || ends.Error() != nil {
		r.Fatalf("ends of %s: %v, %v", topic, err, ends.Error())
	}
	end, _ := ends.Lookup(topic, 0)
	cl := r.kafka.Client(r, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	defer cl.Close()
	var out []*kgo.Record
	for at := int64(0); at < end.Offset; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			r.Fatal(err)
		}
		fs.EachRecord(func(rec *kgo.Record) {
			at = rec.Offset + 1
			if !rec.Attrs.IsControl() {
				out = append(out, rec)
			}
		})
	}
	return out
}

// traceparent is the context that a record carries; "" for none.
func traceparent(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == "traceparent" {
			return string(h.Value)
		}
	}
	return ""
}
