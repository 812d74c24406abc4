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
// partition. kfake takes what a crash left open as aborted, but writes no
// marker: a reader then drops everything that the same producer commits later,
// and the next crash turns the leftover into a committed record. A marker of a
// producer that had nothing open is harmless.
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
	topics, err := adm.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("broker: abort what a crash left open: %w", err)
	}
	set := topics.TopicsSet()
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
