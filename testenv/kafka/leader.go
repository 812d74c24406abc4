package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// InSync waits until every partition of the topics has a leader and all of its
// replicas in sync.
func (c *Cluster) InSync(ctx context.Context, topics ...string) error {
	return c.await(ctx, topics, func(p kadm.PartitionDetail) error {
		if p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
			return fmt.Errorf("%s[%d] is led by %d and has %v of %v in sync", p.Topic, p.Partition, p.Leader, p.ISR, p.Replicas)
		}
		return nil
	})
}

// Led waits until a broker leads the partition and gives its id.
func (c *Cluster) Led(ctx context.Context, topic string, partition int32) (leader int32, err error) {
	err = c.await(ctx, []string{topic}, func(p kadm.PartitionDetail) error {
		if p.Partition != partition {
			return nil
		}
		if leader = p.Leader; leader < 0 {
			return fmt.Errorf("%s[%d] has no leader", topic, partition)
		}
		return nil
	})
	return leader, err
}

// await asks for the partitions of topics, all of which must exist, until ok of
// each is nil.
func (c *Cluster) await(ctx context.Context, topics []string, ok func(kadm.PartitionDetail) error) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs...), kgo.RetryTimeout(2*time.Second), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for {
		ds, err := adm.ListTopics(ctx, topics...)
		for _, d := range ds {
			if d.Err != nil {
				err = errors.Join(err, fmt.Errorf("topic %s: %w", d.Topic, d.Err))
			}
			for _, p := range d.Partitions {
				err = errors.Join(err, ok(p))
			}
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kafka: %w (last: %w)", ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
