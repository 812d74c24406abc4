package source

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// Scan hands out the committed records of the offsets [from, to) of a source
// once more, at most batch of them at a time; the slice is valid during the
// call. What the broker holds no more is left out.
func (r *Reader) Scan(ctx context.Context, tp wire.TopicPartition, from, to uint64, batch int, put func([]wire.Raw) error) error {
	start, high, err := r.Bounds(ctx, tp)
	if err != nil {
		return err
	}
	from, to = max(from, uint64(start)), min(to, uint64(high))
	var raw []wire.Raw
	flush := func() error {
		if len(raw) == 0 {
			return nil
		}
		err := put(raw)
		clear(raw)
		raw = raw[:0]
		return err
	}
	if _, err := r.readTo(ctx, tp, int64(from), int64(to), func(rec *kgo.Record) error {
		if uint64(rec.Offset) >= to {
			return nil
		}
		raw = append(raw, rawOf(rec))
		if len(raw) < batch {
			return nil
		}
		return flush()
	}); err != nil {
		return err
	}
	if err := flush(); err != nil {
		return fmt.Errorf("source: %s before offset %d: %w", tp, to, err)
	}
	return nil
}
