package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// follower keeps the table.
type follower struct {
	brokers       []string
	topic, stream string
	reads         *reads
	out           io.Writer

	table map[wire.ID]wire.SessionInfo
}

// overlap is how far back rows are read when the table is loaded: the list shows
// a commit moments after its row, so what the list did not show yet comes again.
const overlap = time.Minute

// follow loads the table and follows it until a row may have been missed. Rows
// of aborted transactions are no changes, so they are not read.
func (f *follower) follow(ctx context.Context) error {
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(f.brokers...), kgo.ConsumeTopics(f.topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// Without an explicit word a client that fell behind the retention would go
		// on somewhere else and say nothing.
		kgo.ConsumeResetOffset(kgo.NoResetOffset().AfterMilli(time.Now().Add(-overlap).UnixMilli())),
	)
	if err != nil {
		return err
	}
	defer cl.Close()
	if f.table, err = f.reads.list(ctx); err != nil {
		return err
	}
	f.show()
	rows := newLedger()
	for {
		fetches := cl.PollFetches(ctx)
		for _, e := range fetches.Errors() {
			if ctx.Err() == nil {
				return fmt.Errorf("%w: %s[%d]: %w", errResync, e.Topic, e.Partition, e.Err)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.take(rows, fetches); err != nil {
			return err
		}
		if err := f.update(ctx, rows.take()); err != nil {
			return err
		}
	}
}

// take adds the stream's rows; the key of a row is its stream.
func (f *follower) take(rows *ledger, fetches kgo.Fetches) error {
	for it := fetches.RecordIter(); !it.Done(); {
		r := it.Next()
		if string(r.Key) != f.stream {
			continue
		}
		row, err := wire.DecodeChangeRow(r.Value)
		if err != nil {
			return fmt.Errorf("%s[%d]@%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if err := rows.add(&row); err != nil {
			return err
		}
	}
	return nil
}

// update reads the sessions that changed.
func (f *follower) update(ctx context.Context, changed map[wire.ID]map[wire.ChangeSource]uint64) error {
	for id, want := range changed {
		info, err := f.reads.get(ctx, id, want)
		if err != nil {
			return err
		}
		if s, ok := wire.ParseStatus(info.Status); ok && s.Terminal() {
			delete(f.table, id)
		} else {
			f.table[id] = info
		}
	}
	if len(changed) > 0 {
		f.show()
	}
	return nil
}
