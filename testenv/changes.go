package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/schema"
	"sessionfold/wire"
)

// Changes reads a changes topic as a read-committed reader to its high
// watermark, and holds its rows against the published schema: the first 200, and
// then every 50th. A topic that is not there yet has no rows.
func (k *Kafka) Changes(tb testing.TB, topic string) []wire.ChangeRow {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	ends, err := k.Admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil
	}
	if err != nil {
		tb.Fatalf("ends of %s: %v", topic, err)
	}
	from, left := map[int32]kgo.Offset{}, map[int32]int64{}
	for _, o := range ends.Offsets()[topic] {
		from[o.Partition] = kgo.NewOffset().AtStart()
		if o.At > 0 {
			left[o.Partition] = o.At
		}
	}
	cl := k.Client(tb, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	defer cl.Close()
	published, err := schema.New()
	if err != nil {
		tb.Fatal(err)
	}
	var rows []wire.ChangeRow
	for len(left) > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			tb.Fatalf("read %s, %v left: %v", topic, left, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if end, ok := left[r.Partition]; ok && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() {
				return
			}
			var row wire.ChangeRow
			if err := json.Unmarshal(r.Value, &row); err != nil {
				tb.Fatalf("%s[%d]@%d is no change row: %v: %s", topic, r.Partition, r.Offset, err, r.Value)
			}
			if n := len(rows); n < 200 || n%50 == 0 {
				if err := published.Check(r.Value); err != nil {
					tb.Fatalf("%s[%d]@%d: %v", topic, r.Partition, r.Offset, err)
				}
			}
			if string(r.Key) != row.Stream {
				tb.Fatalf("%s[%d]@%d has key %q, its stream is %q", topic, r.Partition, r.Offset, r.Key, row.Stream)
			}
			rows = append(rows, row)
		})
	}
	return rows
}

// CheckChanges holds rows against what a read-committed reader must see: per
// source seq is 1, 2, 3 … without hole or double, the folded ranges follow each
// other, sessions ascend, and each names its last position inside the range. It
// gives the last offset of each source.
func CheckChanges(rows []wire.ChangeRow) (map[wire.ChangeSource]uint64, error) {
	last := map[wire.ChangeSource]wire.ChangeRow{}
	for i, r := range rows {
		p, seen := last[r.Source]
		at := fmt.Sprintf("row %d of %s[%d], seq %d, offsets %d to %d", i, r.Source.Topic, r.Source.Partition, r.Seq, r.From, r.To)
		switch {
		case r.V != 1:
			return nil, fmt.Errorf("%s: version %d", at, r.V)
		case r.Seq != p.Seq+1:
			return nil, fmt.Errorf("%s: follows seq %d (offsets %d to %d)", at, p.Seq, p.From, p.To)
		case r.To < r.From:
			return nil, fmt.Errorf("%s: empty range", at)
		case seen && r.From == p.From && r.To == p.To && continues(p.Sessions, r.Sessions):
			// a further part of a step with many sessions
		case seen && r.From != p.To+1:
			return nil, fmt.Errorf("%s: the row before ended at %d", at, p.To)
		case !seen && r.From != 0:
			return nil, fmt.Errorf("%s: the first row of the source", at)
		}
		if len(r.Positions) != len(r.Sessions) {
			return nil, fmt.Errorf("%s: %d sessions and %d positions", at, len(r.Sessions), len(r.Positions))
		}
		for j, id := range r.Sessions {
			if j > 0 && r.Sessions[j-1].Compare(id) >= 0 {
				return nil, fmt.Errorf("%s: session %s is out of order", at, id)
			}
			if o := r.Positions[j].Offset; o < r.From || o > r.To {
				return nil, fmt.Errorf("%s: session %s at offset %d", at, id, o)
			}
		}
		last[r.Source] = r
	}
	ends := map[wire.ChangeSource]uint64{}
	for s, r := range last {
		ends[s] = r.To
	}
	return ends, nil
}

// continues says that the ids of the second row go on where those of the first end.
func continues(a, b []wire.ID) bool {
	return len(a) > 0 && len(b) > 0 && a[len(a)-1].Compare(b[0]) < 0
}
