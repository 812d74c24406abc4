package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// scope is the name of what makes spans and metrics here.
const scope = "sessionfold"

// FlushBound is how long Shutdown may take to hand over what is left.
const FlushBound = 3 * time.Second

// Options say who tells.
type Options struct {
	Version      string
	Instance     string // service.instance.id, unless OTEL_RESOURCE_ATTRIBUTES names one
	Group        string // consumer group
	ChangesTopic string

	// Own is the registry of the program's own metrics, which go to OTLP as they
	// are; Prometheus gets the metrics made here, for the same endpoint.
	Own        prometheus.Gatherer
	Prometheus prometheus.Registerer

	Log   *slog.Logger // for troubles of exporters
	Level slog.Leveler // least level of logs over OTLP

	reader sdkmetric.Reader // tests look at metrics with it
}

// Telemetry is what a worker tells to. A nil *Telemetry tells nobody.
type Telemetry struct {
	opt       Options
	tracer    trace.Tracer // makes no spans when traces go nowhere
	traces    *sdktrace.TracerProvider
	meters    *sdkmetric.MeterProvider
	logs      *sdklog.LoggerProvider
	propagate propagation.TextMapPropagator
	links     int // most links of a span
	metrics   *instruments
}

// setUp is held while the process's own handlers are set.
var setUp sync.Mutex

// Start sets up what the environment asks for. What cannot be set up is logged
// and left out: a worker without telemetry is better than none.
func Start(ctx context.Context, o Options) *Telemetry {
	t := &Telemetry{
		opt: o, tracer: tracenoop.NewTracerProvider().Tracer(scope),
		propagate: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
	if disabled() {
		return t
	}
	setUp.Lock()
	defer setUp.Unlock()
	otel.SetErrorHandler(&troubles{log: o.Log, now: time.Now})
	otel.SetLogger(logr.FromSlogHandler(o.Log.Handler()))
	res := t.resource(ctx)
	for _, s := range []struct {
		signal string
		begin  func(context.Context, *resource.Resource) error
	}{{"traces", t.beginTraces}, {"metrics", t.beginMetrics}, {"logs", t.beginLogs}} {
		if err := s.begin(ctx, res); err != nil {
			o.Log.Error("telemetry of a signal is off", "signal", s.signal, "err", err,
				"hint", "see the variables OTEL_* in docs/telemetry.md")
		}
	}
	return t
}

// resource is who we are; what the environment says wins.
func (t *Telemetry) resource(ctx context.Context) *resource.Resource {
	attrs := []attribute.KeyValue{semconv.ServiceName("sessionfold"), semconv.ServiceVersion(t.opt.Version)}
	if t.opt.Instance != "" {
		attrs = append(attrs, semconv.ServiceInstanceID(t.opt.Instance))
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...), resource.WithFromEnv())
	if err != nil {
		t.opt.Log.Warn("a part of OTEL_RESOURCE_ATTRIBUTES is not used", "err", err)
	}
	return res
}

func (t *Telemetry) beginTraces(ctx context.Context, res *resource.Resource) error {
	if destination("TRACES") == "" {
		return nil
	}
	exp, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return fmt.Errorf("telemetry: exporter of traces: %w", err)
	}
	limits := sdktrace.NewSpanLimits() // with the environment's
	t.links = sdktrace.DefaultLinkCountLimit
	if n := limits.LinkCountLimit; n >= 0 {
		t.links = min(t.links, n)
	}
	// The sampler is the environment's too.
	t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exp), sdktrace.WithResource(res), sdktrace.WithRawSpanLimits(limits))
	t.tracer = t.traces.Tracer(scope, trace.WithInstrumentationVersion(t.opt.Version), trace.WithSchemaURL(semconv.SchemaURL))
	return nil
}

// tracerProvider is where spans of others' code come from.
func (t *Telemetry) tracerProvider() trace.TracerProvider {
	if t.traces == nil {
		return tracenoop.NewTracerProvider()
	}
	return t.traces
}

// Tracing says that spans go somewhere.
func (t *Telemetry) Tracing() bool { return t != nil && t.traces != nil }

// Shutdown hands over what is left, for FlushBound at most. It comes last: what
// is closed before may still tell something.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, FlushBound)
	defer cancel()
	// Beside each other: a backend that hangs for one must not cost the others theirs.
	var ends []func(context.Context) error
	if t.traces != nil {
		ends = append(ends, t.traces.Shutdown)
	}
	if t.meters != nil {
		ends = append(ends, t.meters.Shutdown)
	}
	if t.logs != nil {
		ends = append(ends, t.logs.Shutdown)
	}
	errs := make([]error, len(ends))
	var wg sync.WaitGroup
	for i, end := range ends {
		wg.Go(func() { errs[i] = end(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("telemetry: the last of it is lost: %w", err)
	}
	return nil
}
