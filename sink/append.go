package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// ErrNoTopic says that a topic is missing.
var ErrNoTopic = errors.New("the topic is missing")

// Target is a topic that records are appended to.
type Target struct {
	Topic      string
	Partitions int32
	MaxBytes   int           // largest batch
	Keeps      time.Duration // by the records' own times; 0: for ever, or by the broker's
	BrokerTime bool          // the broker times the records
}

// Targets looks topics up and makes the missing ones. It ends with Close.
type Targets struct {
	opts []kgo.Opt
	adm  *kadm.Client
}

// NewTargets makes a client for the brokers that the options reach
// (source.Conn.Options).
func NewTargets(opts []kgo.Opt) (*Targets, error) {
	adm, err := kadm.NewOptClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return &Targets{opts, adm}, nil
}

// Close ends the client.
func (t *Targets) Close() { t.adm.Close() }

// Look finds out about a topic; ErrNoTopic when it is missing. Settings that
// this user may not see are taken for the defaults.
func (t *Targets) Look(ctx context.Context, topic string) (Target, error) {
	to := Target{Topic: topic, MaxBytes: 1 << 20}
	md, err := t.adm.Metadata(ctx, topic)
	if err == nil {
		err = md.Topics[topic].Err
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		err = ErrNoTopic
	}
	if err != nil {
		return to, fmt.Errorf("sink: topic %s: %w", topic, err)
	}
	to.Partitions = int32(len(md.Topics[topic].Partitions))
	configs, err := t.adm.DescribeTopicConfigs(ctx, topic)
	if err == nil {
		var rc kadm.ResourceConfig
		if rc, err = configs.On(topic, nil); err == nil {
			err = rc.Err
		}
		for _, c := range rc.Configs {
			to.set(c.Key, c.MaybeValue())
		}
	}
	if err != nil && !denied(err) {
		return to, fmt.Errorf("sink: settings of topic %s: %w", topic, err)
	}
	return to, nil
}

func (to *Target) set(key, value string) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case key == "message.timestamp.type":
		to.BrokerTime = value == brokerTime
	case err != nil:
	case key == "max.message.bytes":
		to.MaxBytes = int(n)
	case key == "retention.ms" && n >= 0:
		to.Keeps = time.Duration(n) * time.Millisecond
	}
}

// Create makes a topic for records that are older than the topic: they keep their
// own times, and none is too old to be kept.
func (t *Targets) Create(ctx context.Context, topic string, partitions int32, replicas int16) (Target, error) {
	maxBytes := MaxMessageBytes
	_, err := t.adm.CreateTopic(ctx, partitions, replicas, map[string]*string{
		"cleanup.policy": new("delete"), "retention.ms": new("-1"), "max.message.bytes": new(strconv.Itoa(maxBytes)), "message.timestamp.type": new("CreateTime"),
	}, topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return Target{}, fmt.Errorf("sink: create topic %s with %d partitions, replication factor %d: %w", topic, partitions, replicas, err)
	}
	return Target{Topic: topic, Partitions: partitions, MaxBytes: maxBytes}, nil
}

// Partition is where the records of a key lie, as any producer that goes by the
// key has it; without a key it is the first.
func (to *Target) Partition(key []byte) int32 {
	if len(key) == 0 {
		return 0
	}
	return int32(kgo.StickyKeyPartitioner(nil).ForTopic(to.Topic).Partition(&kgo.Record{Key: key}, int(to.Partitions)))
}

// Appender writes records in order: those of a partition lie in the topic as they
// were handed over, each at most once.
type Appender struct{ cl *kgo.Client }

// appendTries is how often a record is tried to be written, about a minute in all.
// A bound in time would not do: the client counts it from the record's own time.
const appendTries = 30

// NewAppender makes a producer for topics.
func (t *Targets) NewAppender(targets ...Target) (*Appender, error) {
	batch := MaxMessageBytes
	for i := range targets {
		batch = min(batch, targets[i].MaxBytes)
	}
	cl, err := kgo.NewClient(append(append([]kgo.Opt(nil), t.opts...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(int32(batch)),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(20_000), kgo.MaxBufferedBytes(64<<20),
		kgo.RecordRetries(appendTries),
		kgo.UnknownTopicRetries(appendTries), // one that was just created is not known everywhere at once
		kgo.MetadataMinAge(250*time.Millisecond),
	)...)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return &Appender{cl}, nil
}

// Append hands a record over; it waits while too much is under way. done is
// called when the record is written or given up.
func (a *Appender) Append(ctx context.Context, topic string, partition int32, raw *wire.Raw, done func(error)) {
	r := &kgo.Record{Topic: topic, Partition: partition, Key: raw.Key, Value: raw.Value, Timestamp: time.UnixMilli(raw.Timestamp)}
	for _, h := range raw.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	// ctx only bounds the wait for room: what was handed over is written.
	if ctx.Err() != nil {
		done(ctx.Err())
		return
	}
	a.cl.Produce(context.WithoutCancel(ctx), r, func(_ *kgo.Record, err error) { done(err) })
}

// Flush waits until everything is written or given up.
func (a *Appender) Flush(ctx context.Context) error {
	if err := a.cl.Flush(ctx); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

// Abort gives up what is not written yet.
func (a *Appender) Abort(ctx context.Context) error {
	if err := a.cl.AbortBufferedRecords(ctx); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

// Close ends the client; what is under way is lost.
func (a *Appender) Close() { a.cl.Close() }
