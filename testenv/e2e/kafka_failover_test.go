package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sessionfold/testenv"
	"sessionfold/testenv/kafka"
)

// long asks for the whole of what has a short form for every day:
// FOLDER_E2E_LONG=1.
var long = os.Getenv("FOLDER_E2E_LONG") != ""

// internal topics that commits need.
var internal = []string{"__consumer_offsets", "__transaction_state"}

// One broker after the other is stopped in order, killed, or frozen past its
// session, under load. Each time the commits go on without a restart of the
// worker, and at the end nothing is missing and nothing counted twice.
func TestKafkaBrokersGoUnderLoad(t *testing.T) {
	r, c := newKafkaRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	hows := []string{"stop", "kill", "freeze"}
	r.start()
	stop := r.load(11, 300)
	r.moves(2 * time.Minute)
	for id := int32(1); id <= kafka.Brokers; id++ {
		for i, how := range hows {
			if !long && i != int(id-1) {
				continue
			}
			t.Logf("broker %d: %s", id, how)
			if err := gone(ctx, c.Broker[id], how); err != nil {
				t.Fatal(err)
			}
			r.moves(2 * time.Minute)
			if err := c.Heal(ctx); err != nil {
				t.Fatal(err)
			}
			if err := c.InSync(ctx, append(internal, r.lane(), r.changelog(), r.changesTopic())...); err != nil {
				t.Fatal(err)
			}
			r.moves(2 * time.Minute)
		}
	}
	r.endsWhole(stop)
}

func gone(ctx context.Context, n *kafka.Node, how string) error {
	switch how {
	case "stop":
		return n.Stop(ctx)
	case "kill":
		return n.Kill()
	}
	return n.Pause()
}

// The leaders of everything the worker reads and writes move, again and again,
// while it works; the brokers stay.
func TestKafkaLeadersMoveUnderLoad(t *testing.T) {
	r, c := newKafkaRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r.start()
	stop := r.load(12, 300)
	r.moves(2 * time.Minute)
	topics := append([]string{r.lane(), r.changelog(), r.changesTopic()}, internal...)
	rounds := 2
	if long {
		rounds = 9
	}
	for range rounds {
		if err := c.InSync(ctx, topics...); err != nil {
			t.Fatal(err)
		}
		moved, err := r.moveLeaders(ctx, topics)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d leaders moved", moved)
		r.moves(2 * time.Minute)
	}
	r.endsWhole(stop)
}

// moveLeaders makes the next replica of every partition its preferred one and
// elects it; it counts the partitions that have another leader then.
func (r *rig) moveLeaders(ctx context.Context, topics []string) (moved int, err error) {
	before, err := r.kafka.Admin.ListTopics(ctx, topics...)
	if err != nil {
		return 0, err
	}
	var to kadm.AlterPartitionAssignmentsReq
	var set kadm.TopicsSet
	before.EachPartition(func(p kadm.PartitionDetail) {
		next := append(append([]int32{}, p.Replicas[1:]...), p.Replicas[0])
		to.Assign(p.Topic, p.Partition, next)
		set.Add(p.Topic, p.Partition)
	})
	altered, err := r.kafka.Admin.AlterPartitionAssignments(ctx, to)
	if err = errors.Join(err, altered.Error()); err != nil {
		return 0, err
	}
	err = testenv.Poll(30*time.Second, func() error { // the assignment takes a moment to arrive
		if _, err := r.kafka.Admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, set); err != nil {
			return err
		}
		after, err := r.kafka.Admin.ListTopics(ctx, topics...)
		if err != nil {
			return err
		}
		moved = 0
		after.EachPartition(func(p kadm.PartitionDetail) {
			if p.Leader != before[p.Topic].Partitions[p.Partition].Leader {
				moved++
			}
		})
		if moved < len(topics) {
			return fmt.Errorf("%d leaders moved", moved)
		}
		return nil
	})
	return moved, err
}
