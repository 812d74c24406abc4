package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/agdxgen"
	"sessionfold/wire"
)

// Generator gives the records of a log one by one; false at the end
// (agdxgen.Generator, nativegen.Generator).
type Generator interface {
	Next() (agdxgen.Event, bool)
}

// Feed is a producer of generated logs. Several may run at one time.
type Feed struct {
	cl  *kgo.Client
	adm *kadm.Client
}

// New makes a feed for a broker.
func New(addrs []string) (*Feed, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerLinger(2*time.Millisecond),
		kgo.MetadataMinAge(250*time.Millisecond), kgo.RecordDeliveryTimeout(30*time.Second))
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return &Feed{cl, kadm.NewClient(cl)}, nil
}

// Close ends the feed.
func (f *Feed) Close() { f.cl.Close() }

// Prepare creates the topics that are missing and gives the number of records
// that all of them hold already. A broker that crashed may have written markers
// into them, which count too: a feed that goes on leaves out as many records.
func (f *Feed) Prepare(ctx context.Context, topics []wire.TopicRole, partitions int32) (uint64, error) {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Topic
	}
	size := "8388608"
	res, err := f.adm.CreateTopics(ctx, partitions, 1, map[string]*string{"max.message.bytes": &size}, names...)
	if err != nil {
		return 0, fmt.Errorf("feed: create topics: %w", err)
	}
	for _, r := range res {
		if r.Err != nil && !errors.Is(r.Err, kerr.TopicAlreadyExists) {
			return 0, fmt.Errorf("feed: create topic %s: %w", r.Topic, r.Err)
		}
	}
	ends, err := f.adm.ListEndOffsets(ctx, names...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("feed: list offsets: %w", err)
	}
	var n uint64
	ends.Each(func(o kadm.ListedOffset) { n += uint64(o.Offset) })
	return n, nil
}

// Run writes the log until its end or until ctx ends, then waits for what is
// under way. The first skip records are passed over: they were written by an
// earlier run. rate is in records per second, 0 is as fast as the broker takes.
func (f *Feed) Run(ctx context.Context, g Generator, skip uint64, rate float64) (written uint64, err error) {
	for range skip {
		if _, ok := g.Next(); !ok {
			return 0, nil
		}
	}
	// A record that fails ends the feed: the log must stay a beginning of what
	// the generator makes.
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for more := true; more && ctx.Err() == nil; {
		due := written + 1000
		if rate > 0 {
			due = uint64(time.Since(began).Seconds() * rate)
		}
		for written < due && ctx.Err() == nil {
			e, ok := g.Next()
			if !ok {
				more = false
				break
			}
			f.produce(ctx, &e, fail)
			written++
		}
		if more && rate > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := f.cl.Flush(flush); err != nil {
		return written, fmt.Errorf("feed: %w", err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return written, cause
	}
	return written, nil
}

func (f *Feed) produce(ctx context.Context, e *agdxgen.Event, fail context.CancelCauseFunc) {
	r := &kgo.Record{Topic: e.Topic, Key: e.Key, Value: e.Value}
	for _, h := range e.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	// What was handed over is written also when the feed is told to stop.
	f.cl.Produce(context.WithoutCancel(ctx), r, func(r *kgo.Record, err error) {
		if err != nil {
			fail(fmt.Errorf("feed: write to %s: %w", r.Topic, err))
		}
	})
}
