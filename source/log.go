package source

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// ReadLog hands the committed records of a partition to put, from the log start
// to the high watermark as both are when the call is made; begin is told of them
// before. Open transactions are waited for until ctx ends.
func (r *Reader) ReadLog(ctx context.Context, tp wire.TopicPartition, begin func(start, high int64) error, put func(wire.Raw) error) error {
	start, high, err := r.Bounds(ctx, tp)
	if err != nil {
		return err
	}
	if err := begin(start, high); err != nil {
		return err
	}
	_, err = r.readTo(ctx, tp, start, high, func(rec *kgo.Record) error {
		if rec.Offset >= high {
			return nil // came meanwhile
		}
		return put(wire.Raw{
			Offset: uint64(rec.Offset), Timestamp: rec.Timestamp.UnixMilli(),
			Key: rec.Key, Value: rec.Value, Headers: headers(rec.Headers),
		})
	})
	return err
}
