package testenv

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/broker"
	"sessionfold/testenv/proc"
)

// BrokersVar names a comma-separated list of bootstrap addresses of a real
// cluster. When set, Start and StartProcess use it.
const BrokersVar = "FOLDER_TEST_BROKERS"

// Kafka is a cluster for one test.
type Kafka struct {
	Addrs []string
	Admin *kadm.Client
	// Fake is the embedded broker, for its faults and controls; nil when the
	// broker is another process or a real cluster.
	Fake *broker.Broker
	// Real says that the cluster is the one of FOLDER_TEST_BROKERS.
	Real bool
}

// Start gives a test the cluster of FOLDER_TEST_BROKERS, else kfake in this
// process. Everything ends with the test.
func Start(tb testing.TB) *Kafka {
	tb.Helper()
	if k := realKafka(tb); k != nil {
		return k
	}
	return Fake(tb, broker.Options{})
}

// StartProcess is Start with kfake in a process of its own. args go to kfaked
// (testenv/cmd/kfaked).
func StartProcess(tb testing.TB, args ...string) *Kafka {
	tb.Helper()
	if k := realKafka(tb); k != nil {
		return k
	}
	bin, err := proc.Build("./testenv/cmd/kfaked", false)
	if err != nil {
		tb.Fatal(err)
	}
	p, addrs, err := proc.StartReady(bin, args, nil, 20*time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Kill)
	return connect(tb, &Kafka{Addrs: strings.Split(addrs, ",")})
}

// Fake is kfake in this process whatever FOLDER_TEST_BROKERS says, for tests
// that need its faults and controls.
func Fake(tb testing.TB, o broker.Options) *Kafka {
	tb.Helper()
	b, err := broker.Start(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Close)
	return connect(tb, &Kafka{Addrs: b.Addrs(), Fake: b})
}

// At is a real cluster at these addresses.
func At(tb testing.TB, addrs ...string) *Kafka {
	tb.Helper()
	return connect(tb, &Kafka{Addrs: addrs, Real: true})
}

func realKafka(tb testing.TB) *Kafka {
	list := os.Getenv(BrokersVar)
	if list == "" {
		return nil
	}
	return connect(tb, &Kafka{Addrs: strings.Split(list, ","), Real: true})
}

func connect(tb testing.TB, k *Kafka) *Kafka {
	k.Admin = kadm.NewClient(k.Client(tb))
	return k
}

// Client is a client with the options that every test client here has; it is
// closed when the test ends.
func (k *Kafka) Client(tb testing.TB, opts ...kgo.Opt) *kgo.Client {
	tb.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(k.Addrs...), kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.ProducerBatchMaxBytes(8 << 20), kgo.FetchMaxWait(250 * time.Millisecond),
		// A test's own client is not to be what hangs on a broker that is frozen.
		kgo.MetadataMaxAge(2 * time.Second), kgo.DialTimeout(3 * time.Second),
		kgo.RequestTimeoutOverhead(3 * time.Second), kgo.ProduceRequestTimeout(3 * time.Second),
	}, opts...)...)
	if err != nil {
		tb.Fatalf("a client for %v: %v", k.Addrs, err)
	}
	tb.Cleanup(c.Close)
	return c
}

// Create makes a topic and waits until every partition has a leader. Settings
// are key, value pairs. On a real cluster the topic is deleted after the test.
func (k *Kafka) Create(tb testing.TB, topic string, partitions int32, settings ...string) {
	tb.Helper()
	cfg := map[string]*string{"max.message.bytes": ptr("8388608")}
	for i := 0; i+1 < len(settings); i += 2 {
		cfg[settings[i]] = ptr(settings[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	res, err := k.Admin.CreateTopic(ctx, partitions, -1, cfg, topic)
	if err == nil {
		err = res.Err
	}
	if err != nil {
		tb.Fatalf("create topic %s with %d partitions on %v: %v", topic, partitions, k.Addrs, err)
	}
	if k.Real {
		tb.Cleanup(func() { k.Delete(tb, topic) })
	}
	Eventually(tb, 20*time.Second, func() error {
		ds, err := k.Admin.ListTopics(ctx, topic)
		if err != nil {
			return err
		}
		d := ds[topic]
		if d.Err != nil {
			return d.Err
		}
		if got := len(d.Partitions); got != int(partitions) {
			return fmt.Errorf("topic %s has %d of %d partitions", topic, got, partitions)
		}
		for _, p := range d.Partitions {
			if p.Err != nil || p.Leader < 0 {
				return fmt.Errorf("topic %s partition %d has no leader: %v", topic, p.Partition, p.Err)
			}
		}
		return nil
	})
}

// Delete removes topics and waits until they are gone; one that is not there is
// no error.
func (k *Kafka) Delete(tb testing.TB, topics ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	rs, err := k.Admin.DeleteTopics(ctx, topics...)
	if err != nil {
		tb.Errorf("delete topics %v: %v", topics, err)
		return
	}
	for _, r := range rs {
		if r.Err != nil && r.Err != kerr.UnknownTopicOrPartition {
			tb.Errorf("delete topic %s: %v", r.Topic, r.Err)
		}
	}
	Eventually(tb, 20*time.Second, func() error {
		ds, err := k.Admin.ListTopics(ctx, topics...)
		if err != nil {
			return err
		}
		for _, d := range ds {
			if d.Err != kerr.UnknownTopicOrPartition {
				return fmt.Errorf("topic %s is still there: %v", d.Topic, d.Err)
			}
		}
		return nil
	})
}

// UUID is the topic's identity on the broker.
func (k *Kafka) UUID(tb testing.TB, topic string) [16]byte {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ds, err := k.Admin.ListTopics(ctx, topic)
	if err != nil || ds[topic].Err != nil {
		tb.Fatalf("describe topic %s: %v, %v", topic, err, ds[topic].Err)
	}
	return ds[topic].ID
}

var (
	unsafeChars = regexp.MustCompile(`[^A-Za-z0-9]+`)
	counter     atomic.Uint64
)

// Name makes a name that no other test, and no other run on a shared cluster,
// uses: for streams, groups, topics.
func Name(tb testing.TB) string {
	base := strings.ToLower(unsafeChars.ReplaceAllString(tb.Name(), "-"))
	if len(base) > 40 {
		base = base[:40]
	}
	return fmt.Sprintf("%s-%x-%d-%d", base, time.Now().UnixMilli(), os.Getpid(), counter.Add(1))
}

func ptr(s string) *string { return &s }
