package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// Members gives the partitions of each member of a group, by instance and in
// order. It is an error while the group rebalances or has a member that is not
// static.
func (k *Kafka) Members(ctx context.Context, group string) (map[string][]wire.TopicPartition, error) {
	ds, err := k.Admin.DescribeGroups(ctx, group)
	if err != nil {
		return nil, err
	}
	g := ds[group]
	if g.Err != nil {
		return nil, g.Err
	}
	if g.State != "Stable" {
		return nil, fmt.Errorf("the group is %s", g.State)
	}
	out := map[string][]wire.TopicPartition{}
	for _, m := range g.Members {
		if m.InstanceID == nil {
			return nil, fmt.Errorf("member %s is not static", m.MemberID)
		}
		a, ok := m.Assigned.AsConsumer()
		if !ok {
			return nil, fmt.Errorf("member %s has no assignment of a consumer", m.MemberID)
		}
		tps := []wire.TopicPartition{}
		for _, t := range a.Topics {
			for _, p := range t.Partitions {
				tps = append(tps, wire.TopicPartition{Topic: t.Topic, Partition: p})
			}
		}
		slices.SortFunc(tps, func(a, b wire.TopicPartition) int {
			if a.Topic != b.Topic {
				return strings.Compare(a.Topic, b.Topic)
			}
			return int(a.Partition - b.Partition)
		})
		out[*m.InstanceID] = tps
	}
	return out, nil
}

// Offsets of a group. A client remembers the group's coordinator for as long as
// that broker is gone, so this is one that knows nothing yet; and it gives up
// soon on a broker that is frozen.
func (k *Kafka) Offsets(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs...), kgo.RetryTimeout(5*time.Second),
		kgo.DialTimeout(time.Second), kgo.RequestTimeoutOverhead(time.Second))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	os, err := kadm.NewClient(cl).FetchOffsets(ctx, group)
	if err == nil {
		err = os.Error()
	}
	return os, err
}

// Folded is nil when a group has committed every partition of the topics to its
// end, else it says what is left.
func (k *Kafka) Folded(ctx context.Context, group string, topics ...string) (left error) {
	ends, err := k.Admin.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return err
	}
	os, err := k.Offsets(ctx, group)
	if err != nil {
		return err
	}
	ends.Each(func(end kadm.ListedOffset) {
		if o, _ := os.Lookup(end.Topic, end.Partition); o.At < end.Offset {
			left = errors.Join(left, fmt.Errorf("%s[%d] ends at %d and is folded to %d", end.Topic, end.Partition, end.Offset, o.At))
		}
	})
	return left
}
