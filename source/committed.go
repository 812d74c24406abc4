package source

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// Topic is a partition as the brokers have it now.
type Topic struct {
	ID          uint64 // generation of the topic
	Start, High int64
}

// State says what a partition of any topic is now: a changelog's, for one.
func (r *Reader) State(ctx context.Context, tp wire.TopicPartition) (Topic, error) {
	where, err := r.locate(ctx, tp)
	if err != nil {
		return Topic{}, err
	}
	start, high, err := r.Bounds(ctx, tp)
	return Topic{ID: wire.GenerationOf(where.uuid), Start: start, High: high}, err
}

// Committed gives the next offset that a group has committed for a partition;
// false when it has none. Offsets of open transactions are waited for.
func (r *Reader) Committed(ctx context.Context, group string, tp wire.TopicPartition) (uint64, bool, error) {
	where, err := r.locate(ctx, tp)
	if err != nil {
		return 0, false, err
	}
	at, _, err := r.groupOffset(ctx, group, tp, where.uuid)
	return uint64(max(at, 0)), at >= 0, err
}

// lastSpan is how far before the end the first look for a change row begins.
const lastSpan = 2_000

// LastSeq gives the sequence of the last change row that the changes topic still
// holds of a source; 0 when it holds none. It reads backwards in growing steps,
// since an active source's last row is near the end.
func (r *Reader) LastSeq(ctx context.Context, src *wire.Source, topic string, partitionOf func(stream string, n int32) int32) (uint64, error) {
	tp := wire.TopicPartition{Topic: topic}
	where, err := r.locate(ctx, tp)
	if err != nil {
		return 0, err
	}
	tp.Partition = partitionOf(src.Stream, where.partitions)
	start, high, err := r.Bounds(ctx, tp)
	if err != nil {
		return 0, err
	}
	last := uint64(0)
	for span, to := int64(lastSpan), high; to > start && last == 0; span *= 8 {
		from := max(start, to-span)
		if _, err := r.readTo(ctx, tp, from, to, func(rec *kgo.Record) error {
			c, err := wire.DecodeChangeRow(rec.Value)
			if err == nil && c.Stream == src.Stream && c.Source.Topic == src.Topic && c.Source.Generation == src.Generation && c.Source.Partition == src.Partition {
				last = max(last, c.Seq)
			}
			return nil // rows of other programs are none of ours
		}); err != nil {
			return 0, err
		}
		to = from
	}
	return last, nil
}
