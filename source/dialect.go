package source

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"sessionfold/wire"
)

// sniffed is how many records of a partition are looked at for a dialect.
const sniffed = 1_000

// dialects remembers what the records of topics told.
type dialects struct {
	mu   sync.Mutex
	by   map[string]wire.Dialect
	tell func(topic string, d wire.Dialect)
}

// OnDialect sets who is told, once per topic, which dialect its records have.
func (r *Reader) OnDialect(tell func(topic string, d wire.Dialect)) {
	r.told.mu.Lock()
	defer r.told.mu.Unlock()
	r.told.tell = tell
}

// ErrNoDialect says that no record of a topic tells its dialect yet.
var ErrNoDialect = errors.New("its dialect is auto, and no record tells it yet: write one, or configure the dialect")

// dialect gives the dialect of a topic whose records tell it: that of the first
// record, partition by partition, which only one dialect can have written. It
// stays for the life of the process.
func (r *Reader) dialect(ctx context.Context, topic string, partitions int32) (wire.Dialect, error) {
	r.told.mu.Lock()
	defer r.told.mu.Unlock()
	if d, known := r.told.by[topic]; known {
		return d, nil
	}
	for p := range partitions {
		d, ok, err := r.sniff(ctx, wire.TopicPartition{Topic: topic, Partition: p})
		if err != nil {
			return 0, fmt.Errorf("source: look for the dialect of %s: %w", topic, err)
		}
		if ok {
			if r.told.by == nil {
				r.told.by = make(map[string]wire.Dialect)
			}
			r.told.by[topic] = d
			if r.told.tell != nil {
				r.told.tell(topic, d)
			}
			return d, nil
		}
	}
	return 0, fmt.Errorf("source: topic %s: %w", topic, ErrNoDialect)
}

// errFound ends a scan early.
var errFound = errors.New("found")

func (r *Reader) sniff(ctx context.Context, tp wire.TopicPartition) (d wire.Dialect, ok bool, err error) {
	start, high, err := r.Bounds(ctx, tp)
	if err != nil {
		return 0, false, err
	}
	from, to := uint64(start), uint64(min(high, start+sniffed))
	err = r.Scan(ctx, tp, from, to, 1, func(raw []wire.Raw) error {
		if d, ok = wire.Sniff(&raw[0]); ok {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return d, ok, err
}
