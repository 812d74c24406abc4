package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// ErrChangelogBehind says that a changelog ends before the position that the
// index has applied.
var ErrChangelogBehind = errors.New("source: the changelog ends before what the index holds: it was truncated or created anew. Stop the workers of the group and remove their data directories, so that the sources are folded again from what the brokers still hold")

// ReadChangelog hands every committed record of a changelog partition to put,
// from a position to the high watermark as it is when the call is made. It
// gives the position reached: markers and aborted records are behind it, and
// records that came meanwhile may have been handed out too.
func (r *Reader) ReadChangelog(ctx context.Context, tp wire.TopicPartition, from int64, put func(offset int64, key, value []byte) error) (int64, error) {
	start, high, err := r.Bounds(ctx, tp)
	if err != nil {
		return from, err
	}
	if from > high {
		return from, fmt.Errorf("%w (%s ends at %d, the index stands at %d)", ErrChangelogBehind, tp, high, from)
	}
	return r.readTo(ctx, tp, max(from, start), high, func(rec *kgo.Record) error { return put(rec.Offset, rec.Key, rec.Value) })
}

// Quiet says whether the offsets [from, to) of a partition hold no committed
// record, only markers, aborted records or holes.
func (r *Reader) Quiet(ctx context.Context, tp wire.TopicPartition, from, to int64) (bool, error) {
	quiet := true
	_, err := r.readTo(ctx, tp, from, to, func(rec *kgo.Record) error {
		if rec.Offset >= from && rec.Offset < to {
			quiet = false
		}
		return nil
	})
	return quiet, err
}
