package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"sessionfold/wire"
)

// ErrForeign is the error of a topic that a Reader was not told of.
var ErrForeign = errors.New("belongs to no configured stream")

// Gone says that an error is that of a topic or partition which does not exist.
func Gone(err error) bool { return errors.Is(err, kerr.UnknownTopicOrPartition) }

// Identify says which source a partition is now, and where its log begins and
// ends. A topic that was deleted and created anew gives another generation.
// Brokers that have no topic UUIDs give generation 0.
func (r *Reader) Identify(ctx context.Context, tp wire.TopicPartition) (wire.Identity, error) {
	t, ok := r.topics[tp.Topic]
	if !ok {
		return wire.Identity{}, fmt.Errorf("source: %s %w", tp, ErrForeign)
	}
	where, err := r.locate(ctx, tp)
	if err != nil {
		return wire.Identity{}, err
	}
	if t.auto {
		if t.dialect, err = r.dialect(ctx, tp.Topic, where.partitions); err != nil {
			return wire.Identity{}, err
		}
	}
	start, high, err := r.Bounds(ctx, tp)
	if err != nil {
		return wire.Identity{}, err
	}
	return wire.Identity{
		Source:    wire.NewSource(t.stream, tp.Topic, wire.GenerationOf(where.uuid), uint32(tp.Partition), t.role, t.dialect),
		TopicUUID: where.uuid, Partitions: where.partitions, LogStart: uint64(start), High: uint64(high),
	}, nil
}
