package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"sessionfold/wire"
	"sessionfold/worker"
)

// Commit is one transaction as it is told of. A nil *Commit tells nobody.
type Commit struct {
	t     *Telemetry
	txn   *worker.Txn
	topic func(source string) string // of a changelog
	began time.Time
	sent  time.Time // zero: not everything is written yet
	span  trace.Span
	send  trace.Span // nil: nobody follows
	ctx   context.Context
}

// Commit begins to tell of a transaction: the span "commit" until its end, and
// below it "send" until the brokers have everything that it writes. When several
// batches are committed at once it belongs to the first and is linked to the others.
// changelog names the changelog topic of a source's.
func (t *Telemetry) Commit(ctx context.Context, txn *worker.Txn, changelog func(topic string) string) *Commit {
	if t == nil || t.metrics == nil && t.traces == nil {
		return nil
	}
	c := &Commit{t: t, txn: txn, topic: changelog, began: time.Now()}
	if len(txn.Batches) == 0 || !t.Tracing() {
		return c
	}
	var links []trace.Link
	for _, b := range txn.Batches[1:] {
		if b, ok := b.(*batch); ok {
			links = append(links, trace.Link{SpanContext: b.root.SpanContext()})
		}
	}
	group := t.opt.Group
	ctx, c.span = t.tracer.Start(txn.Batches[0].Context(ctx), opCommit+" "+group, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributesOf(series{operation: opCommit, partition: -1}, group)...), trace.WithLinks(links...))
	c.ctx, c.send = t.tracer.Start(ctx, opSend+" "+t.opt.ChangesTopic, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attributesOf(series{operation: opSend, topic: t.opt.ChangesTopic, partition: -1}, group)...),
		trace.WithAttributes(semconv.MessagingBatchMessageCount(int(c.rows()))))
	return c
}

// Headers are those that change rows carry on, so that their readers can link to
// this trace: none when nobody follows it, so that rows do not grow then.
func (c *Commit) Headers() []wire.Header {
	if c == nil || c.send == nil || !c.send.SpanContext().IsSampled() {
		return nil
	}
	var hs headers
	propagation.TraceContext{}.Inject(c.ctx, &hs)
	return hs
}

// Sent says that the brokers have everything that the transaction writes.
func (c *Commit) Sent() {
	if c == nil || !c.sent.IsZero() {
		return
	}
	c.sent = time.Now()
	if c.send != nil {
		c.send.End(trace.WithTimestamp(c.sent))
	}
}

// End says how the transaction ended.
func (c *Commit) End(err error) {
	if c == nil {
		return
	}
	end, kind, sendKind := time.Now(), "", ""
	if err != nil {
		kind = kindOf(err)
	}
	if c.sent.IsZero() { // it failed before
		c.sent, sendKind = end, kind
		if c.send != nil {
			fail(c.send, kind)
			c.send.End(trace.WithTimestamp(end))
		}
	}
	if c.span != nil {
		if err != nil {
			fail(c.span, kind)
		}
		c.span.End(trace.WithTimestamp(end))
	}
	m := c.t.metrics
	if m == nil {
		return
	}
	ctx, changes := context.Background(), c.t.opt.ChangesTopic
	m.sent.AddSet(ctx, c.rows(), m.of(series{opSend, changes, -1, kind}))
	for i := range c.txn.Steps {
		b := c.txn.Steps[i].Batch
		n := int64(0)
		for j := range b.Ops {
			if b.Ops[j].Durable {
				n++
			}
		}
		m.sent.AddSet(ctx, n, m.of(series{opSend, c.topic(b.Source.Topic), -1, kind}))
	}
	m.operation.RecordSet(ctx, c.sent.Sub(c.began).Seconds(), m.of(series{opSend, changes, -1, sendKind}))
	m.operation.RecordSet(ctx, end.Sub(c.began).Seconds(), m.of(series{opCommit, "", -1, kind}))
}

// rows is how many change rows the transaction writes.
func (c *Commit) rows() (n int64) {
	for i := range c.txn.Steps {
		n += int64(len(c.txn.Steps[i].Batch.Changes))
	}
	return n
}

// kindOf is an error in a word.
func kindOf(err error) string {
	var f *worker.Failure
	if errors.As(err, &f) {
		return f.Where
	}
	return "_OTHER"
}

// headers takes what the propagator sets.
type headers []wire.Header

func (h *headers) Get(key string) string {
	for _, x := range *h {
		if x.Key == key {
			return string(x.Value)
		}
	}
	return ""
}

func (h *headers) Set(key, value string) {
	*h = append(*h, wire.Header{Key: key, Value: []byte(value)})
}

func (h *headers) Keys() (keys []string) {
	for _, x := range *h {
		keys = append(keys, x.Key)
	}
	return keys
}
