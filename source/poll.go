package source

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// Poll waits for records, at most max of them, until ctx ends. The slices are
// valid until the next Poll, the bytes behind them until Release. notes are troubles that the client works on by
// itself, such as a rejoin; err is one that it cannot heal: ErrFenced, ErrClosed.
func (c *Consumer) Poll(ctx context.Context, max int) (fetched []wire.Fetched, notes []error, err error) {
	fs := c.cl.PollRecords(ctx, max)
	if fs.IsClientClosed() {
		return nil, nil, ErrClosed
	}
	clear(c.out)
	clear(c.raw) // so that the last poll's bytes can go
	c.out, c.raw = c.out[:0], c.raw[:0]
	if n := fs.NumRecords(); n > cap(c.raw) {
		c.raw = make([]wire.Raw, 0, n)
	}
	fs.EachTopic(func(t kgo.FetchTopic) {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			switch {
			case p.Err == nil || t.Topic != "" && p.Partition >= 0:
				c.add(t.Topic, p)
			case errors.Is(p.Err, kerr.FencedInstanceID):
				err = ErrFenced
			case errors.Is(p.Err, context.DeadlineExceeded) || errors.Is(p.Err, context.Canceled):
			default:
				about := "group " + c.cfg.Group
				if t.Topic != "" {
					about = "topic " + t.Topic
				}
				notes = append(notes, fmt.Errorf("source: %s: %w", about, p.Err))
			}
		}
	})
	return c.out, notes, err
}

func (c *Consumer) add(topic string, p *kgo.FetchPartition) {
	f := wire.Fetched{
		TopicPartition: wire.TopicPartition{Topic: topic, Partition: p.Partition},
		LogStart:       p.LogStartOffset, High: p.HighWatermark, Epoch: -1,
	}
	if p.Err != nil {
		f.Err = fmt.Errorf("source: %s: %w", f.TopicPartition, p.Err)
		f.LogStart, f.High, f.Former = -1, -1, errors.Is(p.Err, kerr.UnknownTopicID)
	}
	from := len(c.raw)
	for _, r := range p.Records {
		c.raw = append(c.raw, rawOf(r))
		f.Bytes += len(r.Key) + len(r.Value)
		f.Epoch = r.LeaderEpoch
	}
	f.Records = c.raw[from:len(c.raw):len(c.raw)]
	if recs := p.Records; len(recs) > 0 {
		f.Release = func() {
			for _, r := range recs {
				r.Recycle()
			}
		}
	}
	c.out = append(c.out, f)
}

func rawOf(r *kgo.Record) wire.Raw {
	return wire.Raw{
		Offset: uint64(r.Offset), Timestamp: r.Timestamp.UnixMilli(),
		Key: r.Key, Value: r.Value, Headers: headers(r.Headers),
	}
}

// headers views the client's headers as ours: both are a text and bytes, in
// this order. The two lines below do not compile when one of them changes size.
func headers(h []kgo.RecordHeader) []wire.Header {
	return unsafe.Slice((*wire.Header)(unsafe.Pointer(unsafe.SliceData(h))), len(h))
}

var (
	_ [unsafe.Sizeof(wire.Header{}) - unsafe.Sizeof(kgo.RecordHeader{})]struct{}
	_ = kgo.RecordHeader(wire.Header{}) // same fields in the same order
)
