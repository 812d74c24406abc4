package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/otlptranslator"
	prombridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"

	"sessionfold/wire"
)

// buckets of durations in seconds: those of the conventions, which the
// instruments made after them do not set.
var buckets = []float64{.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10}

// The operations of the conventions' messaging metrics and spans.
const (
	opReceive = "receive"
	opProcess = "process"
	opSend    = "send"
	opCommit  = "commit"
)

// instruments are the metrics that are made here, with the names of the
// conventions; the program's own keep theirs.
type instruments struct {
	consumed  messagingconv.ClientConsumedMessages
	process   messagingconv.ProcessDuration
	operation messagingconv.ClientOperationDuration
	sent      messagingconv.ClientSentMessages

	group string
	mu    sync.Mutex
	sets  map[series]attribute.Set // made once each: a set is sorted
}

// series is what one set of attributes is made from; a partition below 0 is none.
type series struct {
	operation, topic string
	partition        int32
	failure          string
}

func (t *Telemetry) beginMetrics(ctx context.Context, res *resource.Resource) error {
	opts := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithView(views)}
	var errs []error
	if t.opt.Prometheus != nil {
		r, err := otelprom.New(otelprom.WithRegisterer(t.opt.Prometheus), otelprom.WithoutScopeInfo(), otelprom.WithoutTargetInfo(),
			otelprom.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
		if err != nil {
			errs = append(errs, fmt.Errorf("telemetry: metrics for Prometheus: %w", err))
		} else {
			opts = append(opts, sdkmetric.WithReader(r))
		}
	}
	if destination("METRICS") != "" {
		// The program's own metrics go the same way; OTEL_METRICS_PRODUCERS=none leaves them out.
		autoexport.WithFallbackMetricProducer(func(context.Context) (sdkmetric.Producer, error) {
			return prombridge.NewMetricProducer(prombridge.WithGatherer(t.opt.Own)), nil
		})
		r, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("telemetry: exporter of metrics: %w", err))
		} else {
			opts = append(opts, sdkmetric.WithReader(r))
		}
	}
	if t.opt.reader != nil {
		opts = append(opts, sdkmetric.WithReader(t.opt.reader))
	}
	t.meters = sdkmetric.NewMeterProvider(opts...)
	var err error
	if t.metrics, err = newInstruments(t.meters.Meter(scope, metric.WithInstrumentationVersion(t.opt.Version)), t.opt.Group); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func newInstruments(m metric.Meter, group string) (*instruments, error) {
	i := &instruments{group: group, sets: map[series]attribute.Set{}}
	bounds := metric.WithExplicitBucketBoundaries(buckets...)
	var errs [4]error
	i.consumed, errs[0] = messagingconv.NewClientConsumedMessages(m)
	i.process, errs[1] = messagingconv.NewProcessDuration(m, bounds)
	i.operation, errs[2] = messagingconv.NewClientOperationDuration(m, bounds)
	i.sent, errs[3] = messagingconv.NewClientSentMessages(m)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return i, nil
}

// attributesOf are those that a series' spans and metrics share.
func attributesOf(s series, group string) []attribute.KeyValue {
	kind := map[string]attribute.KeyValue{
		opReceive: semconv.MessagingOperationTypeReceive, opProcess: semconv.MessagingOperationTypeProcess,
		opSend: semconv.MessagingOperationTypeSend, opCommit: semconv.MessagingOperationTypeSettle,
	}[s.operation]
	attrs := []attribute.KeyValue{semconv.MessagingSystemKafka, semconv.MessagingOperationName(s.operation), kind}
	if s.topic != "" {
		attrs = append(attrs, semconv.MessagingDestinationName(s.topic))
	}
	if s.partition >= 0 {
		attrs = append(attrs, semconv.MessagingDestinationPartitionID(strconv.Itoa(int(s.partition))))
	}
	if s.operation != opSend {
		attrs = append(attrs, semconv.MessagingConsumerGroupName(group))
	}
	if s.failure != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(s.failure))
	}
	return attrs
}

// of gives the set of a series.
func (i *instruments) of(s series) attribute.Set {
	i.mu.Lock()
	defer i.mu.Unlock()
	set, ok := i.sets[s]
	if !ok {
		set = attribute.NewSet(attributesOf(s, i.group)...)
		i.sets[s] = set
	}
	return set
}

// Polled counts what a poll brought; took includes the wait for it.
func (t *Telemetry) Polled(fetched []wire.Fetched, took time.Duration) {
	if t == nil || t.metrics == nil {
		return
	}
	m, ctx, any := t.metrics, context.Background(), false
	for i := range fetched {
		if f := &fetched[i]; len(f.Records) > 0 {
			any = true
			m.consumed.AddSet(ctx, int64(len(f.Records)), m.of(series{opReceive, f.Topic, f.Partition, ""}))
		}
	}
	if any {
		m.operation.RecordSet(ctx, took.Seconds(), m.of(series{operation: opReceive, partition: -1}))
	}
}

// Folded notes how long the fold of a source's records took.
func (t *Telemetry) Folded(tp wire.TopicPartition, took time.Duration, err error) {
	if t == nil || t.metrics == nil {
		return
	}
	failure := ""
	if err != nil {
		failure = failedFold
	}
	t.metrics.process.RecordSet(context.Background(), took.Seconds(), t.metrics.of(series{opProcess, tp.Topic, -1, failure}))
}

// views bound what is kept of the HTTP metrics: of the attributes only those
// that the program chooses (a client chooses the host that it names), and no
// sizes of bodies.
func views(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	s := sdkmetric.Stream{Name: i.Name, Description: i.Description, Unit: i.Unit}
	switch i.Name {
	case "http.server.request.duration":
		s.Aggregation = sdkmetric.AggregationExplicitBucketHistogram{Boundaries: buckets}
		s.AttributeFilter = attribute.NewAllowKeysFilter(semconv.HTTPRequestMethodKey, semconv.HTTPRouteKey,
			semconv.HTTPResponseStatusCodeKey, semconv.URLSchemeKey, semconv.ErrorTypeKey)
	case "http.server.request.body.size", "http.server.response.body.size":
		s.Aggregation = sdkmetric.AggregationDrop{}
	default:
		return s, false
	}
	return s, true
}
