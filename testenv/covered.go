package testenv

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sessionfold/wire"
)

// Covered holds a changes topic against the topics that are folded: its rows cover
// every offset of each once, to its end.
func (k *Kafka) Covered(tb testing.TB, changes string, topics ...string) error {
	tb.Helper()
	folded, err := CheckChanges(k.Changes(tb, changes))
	if err != nil {
		return err
	}
	at := map[wire.TopicPartition]uint64{}
	for s, to := range folded {
		at[wire.TopicPartition{Topic: s.Topic, Partition: int32(s.Partition)}] = to + 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ends, err := k.Admin.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	var bad error
	ends.Each(func(o kadm.ListedOffset) {
		if tp := (wire.TopicPartition{Topic: o.Topic, Partition: o.Partition}); at[tp] != uint64(o.Offset) {
			bad = errors.Join(bad, fmt.Errorf("%s ends at %d, its change rows at %d", tp, o.Offset, at[tp]))
		}
	})
	return bad
}
