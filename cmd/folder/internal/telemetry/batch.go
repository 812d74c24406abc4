package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"sessionfold/wire"
	"sessionfold/worker"
)

// failedFold is the kind of error that ends a fold: the store could not be read.
const failedFold = "store"

// lastOffset is beside messaging.kafka.offset, which is the first of a batch.
const lastOffset = attribute.Key("sessionfold.last_offset")

// batch is the trace of what is folded at one time: its root lasts from the poll
// that brought the first record to the moment at which reads show the last.
type batch struct {
	t    *Telemetry
	ctx  context.Context // with the root
	root trace.Span
}

// Follow begins the trace of a batch whose first record came at since. Nil: the
// sampler leaves it out, and nothing more is done for it.
func (t *Telemetry) Follow(since time.Time) worker.Batch {
	if !t.Tracing() {
		return nil
	}
	ctx, root := t.tracer.Start(context.Background(), "batch "+t.opt.Group, trace.WithNewRoot(), trace.WithTimestamp(since),
		trace.WithAttributes(semconv.MessagingSystemKafka, semconv.MessagingConsumerGroupName(t.opt.Group)))
	if !root.IsRecording() {
		return nil
	}
	return &batch{t: t, ctx: ctx, root: root}
}

// Fold makes the spans of a source's part: "receive", from the poll that brought
// its first record until now, and "process", the fold itself, with links to the
// contexts of its producers.
func (b *batch) Fold(tp wire.TopicPartition, since time.Time, raw []wire.Raw) func(error) {
	of := func(operation string) trace.SpanStartEventOption {
		attrs := attributesOf(series{operation, tp.Topic, tp.Partition, ""}, b.t.opt.Group)
		attrs = append(attrs, semconv.MessagingBatchMessageCount(len(raw)))
		if len(raw) > 0 {
			attrs = append(attrs, semconv.MessagingKafkaOffset(int(raw[0].Offset)), lastOffset.Int64(int64(raw[len(raw)-1].Offset)))
		}
		return trace.WithAttributes(attrs...)
	}
	now := time.Now()
	if len(raw) > 0 {
		_, s := b.t.tracer.Start(b.ctx, opReceive+" "+tp.Topic, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(since), of(opReceive))
		s.End(trace.WithTimestamp(now))
	}
	_, s := b.t.tracer.Start(b.ctx, opProcess+" "+tp.Topic, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(now),
		of(opProcess), trace.WithLinks(linksOf(raw, b.t.links)...))
	return func(err error) {
		if err != nil {
			fail(s, failedFold)
		}
		s.End()
	}
}

// Context gives a context below which the batch's commit is told.
func (b *batch) Context(ctx context.Context) context.Context {
	return trace.ContextWithSpan(ctx, b.root)
}

// End ends the trace.
func (b *batch) End(err error) {
	if err != nil {
		fail(b.root, kindOf(err))
	}
	b.root.End()
}

// fail marks a span with a kind of error. Its text is left to the log: it names
// what the operator of the worker may read, and a backend of traces is another's.
func fail(s trace.Span, kind string) {
	s.SetStatus(codes.Error, "")
	s.SetAttributes(semconv.ErrorTypeKey.String(kind))
}
