package testenv

import (
	"context"
	"hash/crc32"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// Writer produces the records of a stream and counts them.
type Writer struct {
	tb     testing.TB
	k      *Kafka
	cl     *kgo.Client
	parts  map[string]int32
	failed atomic.Pointer[error]
}

// NewWriter creates the topics of a stream, with partitions by role (1 where the
// map says nothing), and the inboxes with one partition each.
func (k *Kafka) NewWriter(tb testing.TB, stream string, partitions map[wire.Role]int32, inboxes ...string) *Writer {
	tb.Helper()
	parts := map[string]int32{}
	for _, t := range wire.TopicsOf(stream) {
		parts[t.Topic] = max(1, partitions[t.Role])
	}
	for _, t := range inboxes {
		parts[t] = 1
	}
	return k.NewTopicWriter(tb, parts)
}

// NewTopicWriter creates topics with their partitions, those of a foreign stream
// for example.
func (k *Kafka) NewTopicWriter(tb testing.TB, parts map[string]int32) *Writer {
	tb.Helper()
	w := &Writer{tb: tb, k: k, parts: parts}
	for topic, n := range w.parts {
		k.Create(tb, topic, n)
	}
	w.cl = k.Client(tb, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000))
	return w
}

// Put produces records in order; Flush waits for them. A session's records of
// one topic lie in one partition.
func (w *Writer) Put(rs ...agdxlog.Record) {
	for _, r := range rs {
		n, ok := w.parts[r.Topic]
		if !ok {
			w.tb.Fatalf("no topic %q was made for a record of role %s", r.Topic, r.Role)
		}
		k := &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Partition: int32(crc32.ChecksumIEEE(r.Key) % uint32(n))}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		w.cl.Produce(context.Background(), k, func(_ *kgo.Record, err error) {
			if err != nil {
				w.failed.CompareAndSwap(nil, &err)
			}
		})
	}
}

// Flush waits until everything is on the broker.
func (w *Writer) Flush() {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := w.cl.Flush(ctx); err != nil {
		w.tb.Fatalf("produce: %v", err)
	}
	if err := w.failed.Load(); err != nil {
		w.tb.Fatalf("produce: %v", *err)
	}
}

// Topics lists the topics of the stream with their partition counts.
func (w *Writer) Topics() map[string]int32 { return w.parts }
