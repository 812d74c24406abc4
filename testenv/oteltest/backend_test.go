package oteltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"sessionfold/testenv"
	"sessionfold/testenv/proc"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testenv.StopCluster()
	proc.Clean()
	os.Exit(code)
}

// backend is a collector's OTLP receiver with sinks behind it.
type backend struct {
	grpc, http string // host:port
	traces     consumertest.TracesSink
	metrics    consumertest.MetricsSink
	logs       consumertest.LogsSink
}

// listen starts a receiver of both protocols, configured as a collector's file
// would be.
func listen(t *testing.T) *backend {
	t.Helper()
	ports, err := proc.Ports(2)
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{grpc: fmt.Sprintf("127.0.0.1:%d", ports[0]), http: fmt.Sprintf("127.0.0.1:%d", ports[1])}
	f := otlpreceiver.NewFactory()
	cfg := f.CreateDefaultConfig()
	err = confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"endpoint": b.grpc}, "http": map[string]any{"endpoint": b.http},
	}}).Unmarshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	set := receivertest.NewNopSettings(f.Type())
	// All before the first start: one server serves the three.
	traces, e1 := f.CreateTraces(t.Context(), set, cfg, &b.traces)
	metrics, e2 := f.CreateMetrics(t.Context(), set, cfg, &b.metrics)
	logs, e3 := f.CreateLogs(t.Context(), set, cfg, &b.logs)
	if err := errors.Join(e1, e2, e3); err != nil {
		t.Fatal(err)
	}
	for _, c := range []component.Component{traces, metrics, logs} {
		if err := c.Start(context.Background(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := c.Shutdown(ctx); err != nil {
				t.Errorf("receiver: %v", err)
			}
		})
	}
	return b
}

// span is one that was received, with the name of the service that sent it.
type span struct {
	ptrace.Span
	service string
}

func (b *backend) spans() (out []span) {
	for _, td := range b.traces.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					out = append(out, span{s, text(rs.Resource().Attributes(), "service.name")})
				}
			}
		}
	}
	return out
}

// find gives the first span that is as wanted.
func (b *backend) find(ok func(span) bool) (span, bool) {
	all := b.spans()
	if i := slices.IndexFunc(all, ok); i >= 0 {
		return all[i], true
	}
	return span{}, false
}

// meters gives the metrics that were received last, by name.
func (b *backend) meters() map[string]pmetric.Metric {
	out := map[string]pmetric.Metric{}
	for _, md := range b.metrics.AllMetrics() {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					out[m.Name()] = m
				}
			}
		}
	}
	return out
}

// line gives the first line of a log that was received with a text in a trace.
func (b *backend) line(message string, trace pcommon.TraceID) (plog.LogRecord, bool) {
	for _, ld := range b.logs.AllLogs() {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, l := range sl.LogRecords().All() {
					if l.Body().AsString() == message && l.TraceID() == trace {
						return l, true
					}
				}
			}
		}
	}
	return plog.LogRecord{}, false
}

// everything is all that was received, as JSON.
func (b *backend) everything(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	add := func(j []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out.Write(j)
		out.WriteByte('\n')
	}
	for _, td := range b.traces.AllTraces() {
		add((&ptrace.JSONMarshaler{}).MarshalTraces(td))
	}
	for _, md := range b.metrics.AllMetrics() {
		add((&pmetric.JSONMarshaler{}).MarshalMetrics(md))
	}
	for _, ld := range b.logs.AllLogs() {
		add((&plog.JSONMarshaler{}).MarshalLogs(ld))
	}
	return out.String()
}

func text(m pcommon.Map, key string) string {
	v, ok := m.Get(key)
	if !ok {
		return ""
	}
	return v.AsString()
}
