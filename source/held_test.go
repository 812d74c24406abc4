package source

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// What was folded is compared with what the leader has. An unclean election
// itself takes real brokers (testenv/e2e, TestKafkaUncleanElectionIsAGap); here
// the leader's epochs are what a client may find.
func TestHeld(t *testing.T) {
	tp := wire.TopicPartition{Topic: "s.agent.sessions"}
	c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(1, tp.Topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r, err := NewReader(Conn{Brokers: c.ListenAddrs()}, []Stream{{Name: "s", Topics: wire.TopicsOf("s")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	b := &bench{t, c, r}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cl := b.client(kgo.DefaultProduceTopic(tp.Topic), kgo.MetadataMinAge(50*time.Millisecond))
	write := func(n int) (epoch int32) {
		t.Helper()
		for range n {
			if err := cl.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		at, err := r.locate(ctx, tp)
		if err != nil {
			t.Fatal(err)
		}
		return at.epoch
	}
	commit := func(at int64, epoch int32) {
		t.Helper()
		var os kadm.Offsets
		os.AddOffset(tp.Topic, tp.Partition, at, epoch)
		if err := kadm.NewClient(cl).CommitAllOffsets(ctx, "g", os); err != nil {
			t.Fatal(err)
		}
	}
	held := func(next uint64, want wire.Held) {
		t.Helper()
		got, err := r.Held(ctx, "g", tp, next)
		if err != nil || got != want {
			t.Errorf("folded to %d: %+v, %v, want %+v", next, got, err, want)
		}
	}
	first := write(10)
	held(10, wire.Held{End: 10, High: 10, Epoch: -1}) // the group has no offset
	commit(10, first)
	held(10, wire.Held{End: 10, High: 10, Sure: true, Epoch: first})
	held(8, wire.Held{End: 8, High: 10, Epoch: -1}) // it is not that of the index
	c.ShufflePartitionLeaders()
	write(5)
	held(10, wire.Held{End: 10, High: 15, Sure: true, Epoch: first}) // a clean election loses nothing
	// Folded to 12 under the first leader, says the group: then the second one,
	// which began at 10, has other records there.
	commit(12, first)
	held(12, wire.Held{End: 10, High: 15, Sure: true, Epoch: first})
	// A leader that shows less than was folded of its own epoch is not believed.
	at, err := r.locate(ctx, tp)
	if err != nil {
		t.Fatal(err)
	}
	commit(20, at.epoch)
	if got, err := r.Held(ctx, "g", tp, 20); err == nil {
		t.Errorf("an old end is believed: %+v", got)
	}
	held(21, wire.Held{End: 15, High: 15, Epoch: -1}) // only the end tells
}
