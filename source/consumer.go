package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// Stream says which topics belong to a stream.
type Stream struct {
	Name    string
	Dialect wire.Dialect
	Auto    bool // the records of each topic tell its dialect
	Topics  []wire.TopicRole
}

// Config of a Consumer.
type Config struct {
	Conn           Conn
	Group          string
	Instance       string // static membership: the same partitions after a restart
	Streams        []Stream
	SessionTimeout time.Duration // default 45 s
	MetadataMaxAge time.Duration // how soon new topics and partitions are seen; default 15 s
	LeaveOnClose   bool          // leave the group when closed, although the membership is static

	// The three are called within a rebalance, so they may only mark and queue.
	// Partitions given to Assigned are paused. It may be called before New has
	// returned: the client joins the group on its own.
	Assigned func(member string, tps []wire.TopicPartition)
	Revoked  func([]wire.TopicPartition)
	Lost     func([]wire.TopicPartition)
}

// Consumer is the group consumer.
type Consumer struct {
	cfg    Config
	cl     *kgo.Client
	adm    *kadm.Client
	topics map[string]topicOf
	closed bool
	out    []wire.Fetched // reused by Poll
	raw    []wire.Raw     // reused by Poll
}

type topicOf struct {
	stream  string
	role    wire.Role
	dialect wire.Dialect
	auto    bool
}

// ErrFenced says that a newer process uses this one's instance id. The older
// one must exit: it never gets its partitions back.
var ErrFenced = errors.New("source: another process uses the same instance id and has taken over: stop one of the two, or give each its own instance id")

// partitionBytes is what a fetch brings of a partition at most, as it is on the wire:
// compressed ten to one it is some 12,000 records. One goroutine unpacks a fetch,
// and the next one is asked for when it is used up, so large ones leave the fold
// without work and then the client. It has room for a batch of a megabyte of
// JSON (three to one): a batch that is larger comes alone, of one partition, and
// the others' folds have nothing to do.
const partitionBytes = 384 << 10

// ErrClosed is what Poll returns once the consumer is closed.
var ErrClosed = errors.New("source: closed")

// New makes the consumer, which joins the group at once.
func New(cfg Config) (*Consumer, error) {
	if cfg.Group == "" {
		return nil, errors.New("source: a consumer group is needed")
	}
	topics, names, err := layout(cfg.Streams)
	if err != nil {
		return nil, err
	}
	if cfg.SessionTimeout <= 0 {
		cfg.SessionTimeout = 45 * time.Second
	}
	if cfg.MetadataMaxAge <= 0 {
		cfg.MetadataMaxAge = 15 * time.Second
	}
	c := &Consumer{cfg: cfg, topics: topics}
	opts, err := cfg.Conn.Options()
	if err != nil {
		return nil, err
	}
	opts = append(opts,
		kgo.ConsumerGroup(cfg.Group),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.ConsumeTopics(names...),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		// What a lost or expired offset means is decided by the worker, which
		// knows what it has folded: the client must not choose.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(cfg.SessionTimeout),
		kgo.RebalanceTimeout(min(max(2*cfg.SessionTimeout, 10*time.Second), time.Minute)),
		kgo.HeartbeatInterval(HeartbeatOf(cfg.SessionTimeout)),
		// A resumed partition waits for the fetch that is parked at the broker.
		kgo.FetchMaxWait(500*time.Millisecond),
		kgo.MetadataMinAge(250*time.Millisecond),
		kgo.MetadataMaxAge(cfg.MetadataMaxAge),
		kgo.FetchMaxBytes(4<<20),
		kgo.FetchMaxPartitionBytes(partitionBytes),
		kgo.MaxConcurrentFetches(4),
		kgo.WithPools(new(recycled)),
		kgo.OnPartitionsAssigned(func(_ context.Context, cl *kgo.Client, m map[string][]int32) {
			if len(m) > 0 {
				cl.PauseFetchPartitions(m)
				member, _ := cl.GroupMetadata()
				cfg.Assigned(member, partitions(m))
			}
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { cfg.Revoked(partitions(m)) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { cfg.Lost(partitions(m)) }),
	)
	if cfg.Instance != "" {
		opts = append(opts, kgo.InstanceID(cfg.Instance))
	}
	if c.cl, err = kgo.NewClient(opts...); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	c.adm = kadm.NewClient(c.cl)
	return c, nil
}

// HeartbeatOf is the heartbeat interval that goes with a session timeout (0: the
// default): after it, at the latest, the group has told a member that it is none.
func HeartbeatOf(session time.Duration) time.Duration {
	if session <= 0 {
		return 3 * time.Second
	}
	return max(min(session/6, 3*time.Second), 50*time.Millisecond)
}

// Member is the member id and generation the client has now.
func (c *Consumer) Member() (string, int32) { return c.cl.GroupMetadata() }

// Pause stops fetching and drops what is buffered, without moving positions.
func (c *Consumer) Pause(tp wire.TopicPartition) { c.cl.PauseFetchPartitions(mapOf(tp)) }

// Resume fetches again.
func (c *Consumer) Resume(tp wire.TopicPartition) { c.cl.ResumeFetchPartitions(mapOf(tp)) }

// Seek sets positions. It interrupts the fetches that are going on, so it is
// called for many partitions at once. Only the goroutine that polls may call it.
func (c *Consumer) Seek(at map[wire.TopicPartition]uint64) {
	m := map[string]map[int32]kgo.EpochOffset{}
	for tp, offset := range at {
		if m[tp.Topic] == nil {
			m[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		m[tp.Topic][tp.Partition] = kgo.EpochOffset{Epoch: -1, Offset: int64(offset)}
	}
	c.cl.SetOffsets(m)
}

// Rediscover forgets a topic and subscribes to it again: what to do when it was
// deleted and created anew. Its partitions are revoked and assigned again.
func (c *Consumer) Rediscover(topic string) {
	c.cl.PurgeTopicsFromConsuming(topic)
	c.cl.AddConsumeTopics(topic)
}

// leaveFor bounds the wait for a rebalance that is going on when the consumer
// is closed: a group waits up to a minute for its slowest member.
const leaveFor = 3 * time.Second

// Close ends the consumer; it leaves the group only if it was told to, so that
// a restart within the session timeout finds its partitions.
func (c *Consumer) Close(ctx context.Context) error { return c.end(ctx, c.cfg.LeaveOnClose) }

// Leave closes the consumer and tells the group that this instance does not come
// back, so that others take over at once.
func (c *Consumer) Leave(ctx context.Context) error { return c.end(ctx, true) }

func (c *Consumer) end(ctx context.Context, leave bool) error {
	if c.closed {
		return nil
	}
	c.closed = true
	// First the client lets go of the group, without telling it: a member that
	// still beats would join again as soon as it is told that it has left.
	lctx, cancel := context.WithTimeout(ctx, leaveFor)
	_ = c.cl.LeaveGroupContext(lctx) // only says that the wait was cut short
	cancel()
	defer c.cl.Close()
	if !leave || c.cfg.Instance == "" {
		return nil
	}
	_, err := leaveGroup(ctx, c.adm, c.cfg.Group, c.cfg.Instance)
	return err
}

// LeaveGroup tells a group that an instance is gone for good, in the place of a
// process that did not say so. False: the group has no such member.
func LeaveGroup(ctx context.Context, conn Conn, group, instance string) (bool, error) {
	opts, err := conn.Options()
	if err != nil {
		return false, err
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return false, fmt.Errorf("source: %w", err)
	}
	defer cl.Close()
	return leaveGroup(ctx, kadm.NewClient(cl), group, instance)
}

func leaveGroup(ctx context.Context, adm *kadm.Client, group, instance string) (bool, error) {
	resps, err := adm.LeaveGroup(ctx, kadm.LeaveGroup(group).Reason("stopped").InstanceIDs(instance))
	if err == nil {
		err = resps.Error()
	}
	if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.GroupIDNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("source: leave group %s: %w", group, err)
	}
	return true, nil
}

// layout maps every topic to its stream and role, and names those that are
// folded: heartbeats are liveness only, and every worker reads all of them by
// itself (Heartbeats).
func layout(streams []Stream) (map[string]topicOf, []string, error) {
	topics, ids := map[string]topicOf{}, map[uint32]string{}
	var names []string
	for _, s := range streams {
		if s.Name == "" {
			return nil, nil, errors.New("source: a stream without a name")
		}
		for _, t := range s.Topics {
			if o, ok := topics[t.Topic]; ok {
				return nil, nil, fmt.Errorf("source: topic %q is in stream %q (%s) and in stream %q (%s): a topic has one stream and one role", t.Topic, o.stream, o.role, s.Name, t.Role)
			}
			if o, ok := ids[wire.NameID(t.Topic)]; ok {
				return nil, nil, fmt.Errorf("source: topics %q and %q have the same number (CRC-32C of the name): rename one", t.Topic, o)
			}
			if t.Role == wire.RoleNone {
				return nil, nil, fmt.Errorf("source: topic %q of stream %q has no role", t.Topic, s.Name)
			}
			topics[t.Topic], ids[wire.NameID(t.Topic)] = topicOf{s.Name, t.Role, s.Dialect, s.Auto}, t.Topic
			if t.Role.Folded() {
				names = append(names, t.Topic)
			}
		}
	}
	if len(names) == 0 {
		return nil, nil, errors.New("source: no topics: name at least one stream")
	}
	return topics, names, nil
}

func partitions(m map[string][]int32) []wire.TopicPartition {
	var tps []wire.TopicPartition
	for t, ps := range m {
		for _, p := range ps {
			tps = append(tps, wire.TopicPartition{Topic: t, Partition: p})
		}
	}
	return tps
}

func mapOf(tp wire.TopicPartition) map[string][]int32 {
	return map[string][]int32{tp.Topic: {tp.Partition}}
}
