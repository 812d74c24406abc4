package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// MaxMessageBytes is the largest record and batch that is written; the topics
// must take it.
const MaxMessageBytes = 4 << 20

// TopicsConfig says what to create and how.
type TopicsConfig struct {
	Opts              []kgo.Opt
	Group             string
	ChangesTopic      string
	ChangesPartitions int32 // default 1
	ReplicationFactor int16 // default -1: the broker's
	CheckOnly         bool  // never create or grow
}

// Topics makes sure that the topics written to are there with the right
// settings. It never relies on the broker to create one. Safe for use by any
// number of goroutines.
type Topics struct {
	cfg TopicsConfig
	cl  *kgo.Client
	adm *kadm.Client

	mu         sync.Mutex
	partitions map[string]int32         // of topics that were found to be right
	retention  map[string]time.Duration // delete.retention.ms of these, when it is known
}

// settingError is a topic that is missing or wrong and stays so until somebody
// changes it.
type settingError struct{ text string }

func (e *settingError) Error() string { return e.text }

func settingf(format string, args ...any) error {
	return &settingError{"sink: " + fmt.Sprintf(format, args...)}
}

// IsSetting says that trying again does not help until a person has changed a
// topic.
func IsSetting(err error) bool {
	var e *settingError
	return errors.As(err, &e)
}

// NewTopics makes a client for topic administration.
func NewTopics(cfg TopicsConfig) (*Topics, error) {
	if cfg.ChangesPartitions <= 0 {
		cfg.ChangesPartitions = 1
	}
	if cfg.ReplicationFactor == 0 {
		cfg.ReplicationFactor = -1
	}
	cl, err := kgo.NewClient(cfg.Opts...)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return &Topics{cfg: cfg, cl: cl, adm: kadm.NewClient(cl), partitions: map[string]int32{}, retention: map[string]time.Duration{}}, nil
}

// Close ends the client.
func (t *Topics) Close() { t.adm.Close() }

// Changelog is the name of the changelog topic of a source topic.
func (t *Topics) Changelog(sourceTopic string) string {
	return ChangelogTopic(t.cfg.Group, sourceTopic)
}

// ChangelogTopic names the changelog of a source topic in a group.
func ChangelogTopic(group, sourceTopic string) string {
	return group + "-" + sourceTopic + "-changelog"
}

// ChangePartition places the rows of a stream among n partitions of the changes
// topic, as any producer that goes by the key does.
func ChangePartition(stream string, n int32) int32 {
	p := kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(&kgo.Record{Key: []byte(stream)}, int(n))
	return int32(p)
}

// EnsureChanges makes sure of the changes topic.
func (t *Topics) EnsureChanges(ctx context.Context) error {
	_, err := t.ensure(ctx, t.cfg.ChangesTopic, t.cfg.ChangesPartitions, "delete", false)
	return err
}

// EnsureChangelog makes sure of the changelog of a source topic with at least
// that many partitions. It costs nothing once it has found it right.
func (t *Topics) EnsureChangelog(ctx context.Context, sourceTopic string, partitions int32) error {
	_, err := t.ensure(ctx, t.Changelog(sourceTopic), partitions, "compact", true)
	return err
}

// Forget makes the next Ensure of a source topic's changelog look again: it was
// found missing.
func (t *Topics) Forget(sourceTopic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.partitions, t.Changelog(sourceTopic))
}

// DeleteRetention is how long the changelog of a source topic keeps tombstones:
// a state that is older must not be restored onto. 0 when it is not known.
func (t *Topics) DeleteRetention(sourceTopic string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.retention[t.Changelog(sourceTopic)]
}

// changesPartition is where a stream's change rows go.
func (t *Topics) changesPartition(stream string) int32 {
	t.mu.Lock()
	n := t.partitions[t.cfg.ChangesTopic]
	t.mu.Unlock()
	return ChangePartition(stream, max(n, 1))
}

func (t *Topics) ensure(ctx context.Context, topic string, partitions int32, policy string, grow bool) (int32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.partitions[topic]; n > 0 && (n >= partitions || !grow) {
		return n, nil
	}
	n, err := t.look(ctx, topic, policy)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		if err = t.create(ctx, topic, partitions, policy); err == nil {
			n = partitions
		} else if errors.Is(err, kerr.TopicAlreadyExists) { // another worker was first
			n, err = t.look(ctx, topic, policy)
		}
	}
	if err != nil {
		return 0, err
	}
	if n < partitions && grow {
		if n, err = t.grow(ctx, topic, n, partitions); err != nil {
			return 0, err
		}
	}
	t.partitions[topic] = n
	return n, nil
}

// look gives the partitions of a topic after a check of its settings.
func (t *Topics) look(ctx context.Context, topic, policy string) (int32, error) {
	// A request of its own: the client's cache may be from before the topic was made.
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, t.cl)
	if err == nil && len(resp.Topics) != 1 {
		err = errors.New("the broker's answer names no topic")
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return 0, fmt.Errorf("sink: metadata of topic %s: %w", topic, err)
	}
	return int32(len(resp.Topics[0].Partitions)), t.check(ctx, topic, policy)
}

func (t *Topics) create(ctx context.Context, topic string, partitions int32, policy string) error {
	if t.cfg.CheckOnly {
		return settingf("topic %s is missing: create it with %d partitions, cleanup.policy=%s and max.message.bytes=%d, or let this program create it", topic, partitions, policy, MaxMessageBytes)
	}
	_, err := t.adm.CreateTopic(ctx, partitions, t.cfg.ReplicationFactor, map[string]*string{
		"cleanup.policy": new(policy), "max.message.bytes": new(strconv.Itoa(MaxMessageBytes)),
	}, topic)
	if err != nil {
		return fmt.Errorf("sink: create topic %s with %d partitions, replication factor %d: %w", topic, partitions, t.cfg.ReplicationFactor, err)
	}
	return nil
}

func (t *Topics) grow(ctx context.Context, topic string, have, want int32) (int32, error) {
	if t.cfg.CheckOnly {
		return 0, settingf("changelog topic %s has %d partitions, its source topic %d: add partitions to the changelog", topic, have, want)
	}
	resps, err := t.adm.UpdatePartitions(ctx, int(want), topic)
	if err == nil {
		err = resps.Error()
	}
	if err != nil && !errors.Is(err, kerr.InvalidPartitions) { // another worker was first
		return 0, fmt.Errorf("sink: grow changelog topic %s from %d to %d partitions: %w", topic, have, want, err)
	}
	return want, nil
}

// check holds the topic's settings against what is needed. Without the right
// to see them they are taken as right.
func (t *Topics) check(ctx context.Context, topic, policy string) error {
	rcs, err := t.adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return fmt.Errorf("sink: settings of topic %s: %w", topic, err)
	}
	rc, err := rcs.On(topic, nil)
	if err == nil {
		err = rc.Err
	}
	if errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sink: settings of topic %s: %w", topic, err)
	}
	for _, c := range rc.Configs {
		switch v := c.MaybeValue(); c.Key {
		case "cleanup.policy":
			if !samePolicy(v, policy) {
				return settingf("topic %s has cleanup.policy=%s and needs %s: rows that must stay would expire, or rows that must go would stay. Alter the topic or choose another name", topic, v, policy)
			}
		case "delete.retention.ms":
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				t.retention[topic] = time.Duration(n) * time.Millisecond // t.mu is held
			}
		case "max.message.bytes":
			if n, err := strconv.Atoi(v); err == nil && n < MaxMessageBytes {
				return settingf("topic %s has max.message.bytes=%d and needs at least %d: alter the topic", topic, n, MaxMessageBytes)
			}
		}
	}
	return nil
}

func samePolicy(have, want string) bool {
	for _, w := range strings.Split(have, ",") {
		if strings.TrimSpace(w) != want {
			return false
		}
	}
	return true
}
