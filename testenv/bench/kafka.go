package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv"
	"sessionfold/testenv/proc"
	"sessionfold/wire"
)

// Kafka is the broker under measurement: kfake in its own process, or the
// cluster of FOLDER_TEST_BROKERS.
type Kafka struct {
	Addrs []string
	Admin *kadm.Client
	fake  *proc.Process
	cl    *kgo.Client
}

// StartKafka starts it, or connects.
func StartKafka() (*Kafka, error) {
	k := &Kafka{}
	if list := os.Getenv(testenv.BrokersVar); list != "" {
		k.Addrs = strings.Split(list, ",")
	} else {
		bin, err := proc.Build("./testenv/cmd/kfaked", false)
		if err != nil {
			return nil, err
		}
		p, addrs, err := proc.StartReady(bin, nil, nil, 20*time.Second)
		if err != nil {
			return nil, err
		}
		k.fake, k.Addrs = p, strings.Split(addrs, ",")
	}
	cl, err := kgo.NewClient(k.opts()...)
	if err != nil {
		k.Close()
		return nil, fmt.Errorf("bench: a client for %v: %w", k.Addrs, err)
	}
	k.cl, k.Admin = cl, kadm.NewClient(cl)
	return k, nil
}

// opts are those of a client that produces.
func (k *Kafka) opts() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(k.Addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(1 << 20), kgo.MaxBufferedRecords(1 << 20), kgo.ProducerLinger(2 * time.Millisecond)}
}

// Close ends the client and the broker that StartKafka started.
func (k *Kafka) Close() {
	if k.cl != nil {
		k.cl.Close()
	}
	if k.fake != nil {
		k.fake.Kill()
	}
}

// CreateTopics makes the topics of a stream; the lane has the given number of
// partitions, the others one.
func (k *Kafka) CreateTopics(ctx context.Context, topics []wire.TopicRole, partitions int32) error {
	for _, t := range topics {
		n := int32(1)
		if t.Role == wire.RoleLane {
			n = partitions
		}
		if r, err := k.Admin.CreateTopic(ctx, n, -1, nil, t.Topic); err != nil || r.Err != nil {
			return fmt.Errorf("bench: create topic %s: %v %v", t.Topic, err, r.Err)
		}
	}
	return nil
}

// Produce writes records in order and waits for all of them.
func (k *Kafka) Produce(ctx context.Context, rs []Placed) error { return produce(ctx, k.cl, rs) }

func produce(ctx context.Context, cl *kgo.Client, rs []Placed) error {
	var once sync.Once
	var first error
	for i := range rs {
		cl.Produce(ctx, kafkaRecord(&rs[i]), func(_ *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return fmt.Errorf("bench: preload: %w", err)
	}
	if first != nil {
		return fmt.Errorf("bench: preload: %w", first)
	}
	return nil
}

func kafkaRecord(r *Placed) *kgo.Record {
	h := make([]kgo.RecordHeader, len(r.Headers))
	for i, x := range r.Headers {
		h[i] = kgo.RecordHeader{Key: x.Key, Value: x.Value}
	}
	return &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: h}
}

// Ends gives the high watermark of each partition of a topic.
func (k *Kafka) Ends(ctx context.Context, topic string) (map[int32]int64, error) {
	os, err := k.Admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = os.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("bench: ends of %s: %w", topic, err)
	}
	out := map[int32]int64{}
	os.Each(func(o kadm.ListedOffset) { out[o.Partition] = o.Offset })
	return out, nil
}

// FirstFetch tells when the next fetch of a topic reached the broker. Where the
// broker cannot be asked it is the moment of the call.
func (k *Kafka) FirstFetch(topic string) (func() (time.Time, error), error) {
	if k.fake == nil {
		now := time.Now()
		return func() (time.Time, error) { return now, nil }, nil
	}
	if err := k.fake.Tell("watch " + topic); err != nil {
		return nil, err
	}
	if _, err := k.fake.Line("watching "+topic, 10*time.Second); err != nil {
		return nil, err
	}
	return func() (time.Time, error) {
		s, err := k.fake.Line("fetched "+topic+" ", 10*time.Second)
		if err != nil {
			return time.Time{}, err
		}
		ns, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("bench: first fetch of %s: %w", topic, err)
		}
		return time.Unix(0, ns), nil
	}, nil
}

// Drain reads topics to their ends, throws the records away and gives the time
// from the first fetch of the one named to the last record.
func (k *Kafka) Drain(ctx context.Context, topic string, ends map[string]map[int32]int64) (time.Duration, error) {
	first, err := k.FirstFetch(topic)
	if err != nil {
		return 0, err
	}
	at, left := map[string]map[int32]kgo.Offset{}, int64(0)
	for t, partitions := range ends {
		at[t] = map[int32]kgo.Offset{}
		for p, end := range partitions {
			at[t][p] = kgo.NewOffset().AtStart()
			left += end
		}
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(500*time.Millisecond),
		kgo.ConsumePartitions(at))
	if err != nil {
		return 0, fmt.Errorf("bench: drain: %w", err)
	}
	defer cl.Close()
	for left > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return 0, fmt.Errorf("bench: drain: %w", err)
		}
		left -= int64(fs.NumRecords())
	}
	end := time.Now()
	start, err := first()
	return end.Sub(start), err
}

// Size is the bytes that a topic takes on the broker.
func (k *Kafka) Size(ctx context.Context, topic string) (int64, error) {
	ends, err := k.Ends(ctx, topic)
	if err != nil {
		return 0, err
	}
	set := kadm.TopicsSet{}
	for p := range ends {
		set.Add(topic, p)
	}
	dirs, err := k.Admin.DescribeAllLogDirs(ctx, set)
	if err != nil {
		return 0, fmt.Errorf("bench: size of %s: %w", topic, err)
	}
	var n int64
	for _, node := range dirs {
		node.EachPartition(func(p kadm.DescribedLogDirPartition) {
			if p.Topic == topic {
				n += p.Size
			}
		})
	}
	return n, nil
}
