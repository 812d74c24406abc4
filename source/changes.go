package source

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// ChangeReader reads the changes topic for the read `changes`. Every worker
// gives the same answer, because the topic's offsets are the order.
type ChangeReader struct {
	r     *Reader
	topic string
	// partition places a stream's rows among n partitions, as the producer does.
	partition func(stream string, n int32) int32
}

// NewChangeReader reads through r.
func NewChangeReader(r *Reader, topic string, partition func(stream string, n int32) int32) *ChangeReader {
	return &ChangeReader{r: r, topic: topic, partition: partition}
}

// Read gives at most limit rows of the stream whose seq is greater than after.
// The seq of a row is its offset + 1. When rows behind after are gone already,
// Resync is set, Floor says where the topic begins, and there are no rows. It
// does not wait for rows to come. Behind the end, Next says where rows come.
func (c *ChangeReader) Read(ctx context.Context, stream string, after uint64, limit int) (wire.SessionChanges, error) {
	md, err := c.r.adm.Metadata(ctx, c.topic)
	if err == nil {
		err = md.Topics[c.topic].Err
	}
	n := int32(len(md.Topics[c.topic].Partitions))
	if err != nil || n == 0 {
		return wire.SessionChanges{}, fmt.Errorf("source: changes topic %s: %w", c.topic, orMissing(err))
	}
	tp := wire.TopicPartition{Topic: c.topic, Partition: c.partition(stream, n)}
	start, high, err := c.r.Bounds(ctx, tp)
	if err != nil {
		return wire.SessionChanges{}, err
	}
	out := wire.SessionChanges{Floor: uint64(start), Next: after}
	if after < out.Floor {
		out.Resync = true
		return out, nil
	}
	if after >= uint64(high) {
		if after > uint64(high) {
			// Rows of a transaction that is open are still to come.
			stable, err := c.r.listOffset(ctx, tp, logEnd, readCommitted)
			out.Next = uint64(stable)
			return out, err
		}
		return out, nil
	}
	where, err := c.r.locate(ctx, tp)
	if err != nil {
		return out, err
	}
	for pos := int64(after); pos < high && len(out.Rows) < limit; {
		p, next, err := c.r.fetch(ctx, where, tp, pos)
		if err != nil {
			return out, fmt.Errorf("source: read %s at offset %d: %w", tp, pos, err)
		}
		for _, rec := range p.Records {
			if len(out.Rows) == limit {
				return out, nil
			}
			out.Next = uint64(rec.Offset) + 1
			if string(rec.Key) != stream {
				continue // streams may share a partition
			}
			row, err := changeRow(rec)
			if err != nil {
				return out, fmt.Errorf("source: %s at offset %d: %w", tp, rec.Offset, err)
			}
			out.Rows = append(out.Rows, row)
		}
		if next <= pos {
			break // the rest is not committed yet
		}
		pos, out.Next = next, uint64(next)
	}
	return out, nil
}

func changeRow(rec *kgo.Record) (wire.SessionChangeRow, error) {
	c, err := wire.DecodeChangeRow(rec.Value)
	if err != nil {
		return wire.SessionChangeRow{}, err
	}
	return c.View(uint64(rec.Offset)), nil
}

func orMissing(err error) error {
	if err == nil {
		return fmt.Errorf("it has no partitions")
	}
	return err
}
