package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/kafka"
)

// Whichever broker goes, and however, a record that was acknowledged is there,
// and the next one can be written within seconds.
func TestAClusterSurvivesEachOfItsBrokers(t *testing.T) {
	if testing.Short() {
		t.Skip("four JVMs")
	}
	kafka.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	c, err := kafka.StartCluster(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	t.Logf("usable after %s", time.Since(began).Round(time.Millisecond))
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs...), kgo.DefaultProduceTopic("events"), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if _, err := adm.CreateTopic(ctx, 3, 3, nil, "events"); err != nil {
		t.Fatal(err)
	}
	written := 0
	write := func() {
		t.Helper()
		for p := range int32(3) {
			if err := cl.ProduceSync(ctx, &kgo.Record{Partition: p, Value: []byte("x")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			written++
		}
	}
	write()
	for id := int32(1); id <= kafka.Brokers; id++ {
		n := c.Broker[id]
		end, how := n.Kill, "killed"
		if id == 2 {
			end, how = func() error { return n.Stop(ctx) }, "stopped"
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		write()
		t.Logf("broker %d %s: written again after %s", id, how, time.Since(began).Round(time.Millisecond))
		if err := n.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.InSync(ctx, "events"); err != nil {
			t.Fatal(err)
		}
	}
	ends, err := adm.ListEndOffsets(ctx, "events")
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
	if sum < int64(written) {
		t.Fatalf("%d records were acknowledged, the log holds %d", written, sum)
	}
}
