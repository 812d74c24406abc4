package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	_, err := t.ensure(ctx, t.WantChanges())
	return err
}

// EnsureChangelog makes sure of the changelog of a source topic with at least
// that many partitions. It costs nothing once it has found it right.
func (t *Topics) EnsureChangelog(ctx context.Context, sourceTopic string, partitions int32) error {
	_, err := t.ensure(ctx, t.WantChangelog(sourceTopic, partitions))
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

func (t *Topics) ensure(ctx context.Context, w Want) (int32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.partitions[w.Topic]; n > 0 && (n >= w.Partitions || !w.Grow) {
		return n, nil
	}
	n, err := t.look(ctx, &w)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		if err = t.create(ctx, &w); err == nil {
			n = w.Partitions
		} else if errors.Is(err, kerr.TopicAlreadyExists) { // another worker was first
			n, err = t.look(ctx, &w)
		}
	}
	if err != nil {
		return 0, err
	}
	if n < w.Partitions && w.Grow {
		if n, err = t.grow(ctx, w.Topic, n, w.Partitions); err != nil {
			return 0, err
		}
	}
	t.partitions[w.Topic] = n
	return n, nil
}

// look gives the partitions of a topic after a check of its settings.
func (t *Topics) look(ctx context.Context, w *Want) (int32, error) {
	md, err := t.metadata(ctx, w.Topic)
	if err != nil {
		return 0, fmt.Errorf("sink: metadata of topic %s: %w", w.Topic, err)
	}
	return int32(len(md.Partitions)), t.check(ctx, w)
}

// metadata asks for one topic and for what this user may do with it. It is a
// request of its own: the client's cache may be from before the topic was made.
func (t *Topics) metadata(ctx context.Context, topic string) (*kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.IncludeTopicAuthorizedOperations = true
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, t.cl)
	if err == nil && len(resp.Topics) != 1 {
		err = errors.New("the broker's answer names no topic")
	}
	if err != nil {
		return nil, err
	}
	return &resp.Topics[0], kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func (t *Topics) create(ctx context.Context, w *Want) error {
	if t.cfg.CheckOnly || !w.Create {
		return settingf("topic %s is missing: create it with %s, or let this program create it", w.Topic, w)
	}
	_, err := t.adm.CreateTopic(ctx, w.Partitions, t.cfg.ReplicationFactor, w.settings(), w.Topic)
	if err != nil {
		return fmt.Errorf("sink: create topic %s with %d partitions, replication factor %d: %w", w.Topic, w.Partitions, t.cfg.ReplicationFactor, err)
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
func (t *Topics) check(ctx context.Context, w *Want) error {
	have, err := t.settings(ctx, w.Topic)
	if denied(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sink: settings of topic %s: %w", w.Topic, err)
	}
	if n, err := strconv.ParseInt(have["delete.retention.ms"], 10, 64); err == nil {
		t.retention[w.Topic] = time.Duration(n) * time.Millisecond // t.mu is held
	}
	for _, f := range w.faults(have) {
		if f.Level == Wrong {
			return settingf("topic %s %s: %s", w.Topic, f.What, f.Hint)
		}
	}
	return nil
}

// settings are those of a topic by their names.
func (t *Topics) settings(ctx context.Context, topic string) (map[string]string, error) {
	rcs, err := t.adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	rc, err := rcs.On(topic, nil)
	if err == nil {
		err = rc.Err
	}
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	for _, c := range rc.Configs {
		have[c.Key] = c.MaybeValue()
	}
	return have, nil
}

func denied(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed)
}
