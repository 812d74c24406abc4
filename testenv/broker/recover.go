package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// runningFile lies in the data directory of a broker that has not been closed.
const runningFile = "running"

// claim marks a data directory as in use and says whether the last broker in it
// ended without Close.
func claim(dir string) (crashed bool, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, fmt.Errorf("broker: data directory: %w", err)
	}
	name := filepath.Join(dir, runningFile)
	if _, err := os.Stat(name); err == nil {
		crashed = true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("broker: data directory: %w", err)
	}
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		return false, fmt.Errorf("broker: data directory: %w", err)
	}
	return crashed, nil
}

// abortOpen writes an abort marker of every transactional producer to every
// partition that ends in a record of a transaction or in a marker, before which an
// open record of another producer may lie. kfake takes what a crash left
// open as aborted, but writes no marker: a reader then drops everything that the
// same producer commits later, and the next crash turns the leftover into a
// committed record. A marker of a producer that had nothing open is harmless.
func abortOpen(addrs []string) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(addrs...))
	if err != nil {
		return fmt.Errorf("broker: abort what a crash left open: %w", err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	adm := kadm.NewClient(c)
	listed, err := adm.ListTransactions(ctx, nil, nil)
	if err != nil {
		return fmt.Errorf("broker: abort what a crash left open: %w", err)
	}
	if len(listed) == 0 {
		return nil
	}
	txns, err := adm.DescribeTransactions(ctx, listed.TransactionalIDs()...)
	if err != nil {
		return fmt.Errorf("broker: abort what a crash left open: %w", err)
	}
	set, err := endInTransaction(ctx, addrs, adm)
	if err != nil {
		return fmt.Errorf("broker: abort what a crash left open: %w", err)
	}
	if len(set) == 0 {
		return nil
	}
	var markers []kadm.TxnMarkers
	for _, t := range txns.Sorted() {
		markers = append(markers, kadm.TxnMarkers{
			ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch, Commit: false, Topics: set,
		})
	}
	res, err := adm.WriteTxnMarkers(ctx, markers...)
	if err != nil {
		return fmt.Errorf("broker: abort what a crash left open: %w", err)
	}
	for _, r := range res.SortedPartitions() {
		if r.Err != nil {
			return fmt.Errorf("broker: abort marker in %s[%d]: %w", r.Topic, r.Partition, r.Err)
		}
	}
	return nil
}

// endInTransaction finds the partitions whose last record was written in a
// transaction, or ends one.
func endInTransaction(ctx context.Context, addrs []string, adm *kadm.Client) (kadm.TopicsSet, error) {
	starts, err := adm.ListStartOffsets(ctx)
	if err != nil {
		return nil, err
	}
	ends, err := adm.ListEndOffsets(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(starts.Error(), ends.Error()); err != nil {
		return nil, err
	}
	last, left := map[string]map[int32]kgo.Offset{}, kadm.TopicsSet{}
	ends.Each(func(o kadm.ListedOffset) {
		if start, _ := starts.Lookup(o.Topic, o.Partition); o.Offset > start.Offset {
			if last[o.Topic] == nil {
				last[o.Topic] = map[int32]kgo.Offset{}
			}
			last[o.Topic][o.Partition] = kgo.NewOffset().At(o.Offset - 1)
			left.Add(o.Topic, o.Partition)
		}
	})
	set := kadm.TopicsSet{}
	if len(left) == 0 {
		return set, nil
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumePartitions(last), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for len(left) > 0 {
		fs := c.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return nil, fmt.Errorf("the last record of %v: %w", left, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if left.Delete(r.Topic, r.Partition); r.Attrs.IsTransactional() {
				set.Add(r.Topic, r.Partition)
			}
		})
	}
	return set, nil
}
