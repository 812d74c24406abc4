package sink

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twmb/franz-go/pkg/kadm"
)

func cluster(t *testing.T) (*kfake.Cluster, *kadm.Client) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return c, kadm.NewClient(cl)
}

func topics(t *testing.T, c *kfake.Cluster, change func(*TopicsConfig)) *Topics {
	t.Helper()
	cfg := TopicsConfig{Opts: []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)}, Group: "g", ChangesTopic: "g-changes"}
	if change != nil {
		change(&cfg)
	}
	tp, err := NewTopics(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tp.Close)
	return tp
}

func settings(t *testing.T, adm *kadm.Client, topic string) map[string]string {
	t.Helper()
	rcs, err := adm.DescribeTopicConfigs(context.Background(), topic)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, c := range rcs[0].Configs {
		m[c.Key] = c.MaybeValue()
	}
	return m
}

func TestTopicsAreCreatedAndGrown(t *testing.T) {
	c, adm := cluster(t)
	tp := topics(t, c, nil)
	ctx := context.Background()
	if err := tp.EnsureChanges(ctx); err != nil {
		t.Fatal(err)
	}
	if s := settings(t, adm, "g-changes"); s["cleanup.policy"] != "delete" || s["max.message.bytes"] != strconv.Itoa(MaxMessageBytes) {
		t.Fatalf("changes topic: %v", s)
	}
	for _, n := range []int32{3, 3, 5, 2} { // 2: fewer than there are is fine
		if err := tp.EnsureChangelog(ctx, "s.agent.sessions", n); err != nil {
			t.Fatal(err)
		}
	}
	name := ChangelogTopic("g", "s.agent.sessions")
	if s := settings(t, adm, name); s["cleanup.policy"] != "compact" {
		t.Fatalf("changelog topic: %v", s)
	}
	if n := len(c.PartitionInfos(name)); n != 5 {
		t.Fatalf("the changelog has %d partitions, want 5", n)
	}
	// Another worker finds everything right.
	other := topics(t, c, func(cfg *TopicsConfig) { cfg.CheckOnly = true })
	if err := errors.Join(other.EnsureChanges(ctx), other.EnsureChangelog(ctx, "s.agent.sessions", 5)); err != nil {
		t.Fatal(err)
	}
}

func TestWrongTopicsAreRefused(t *testing.T) {
	c, adm := cluster(t)
	ctx := context.Background()
	create := func(topic, policy, size string) {
		if _, err := adm.CreateTopic(ctx, 1, 1, map[string]*string{"cleanup.policy": &policy, "max.message.bytes": &size}, topic); err != nil {
			t.Fatal(err)
		}
	}
	large := strconv.Itoa(MaxMessageBytes)
	create("compacted-changes", "compact", large)
	create("small-changes", "delete", "1000000")
	create("g-a-changelog", "delete", large)
	create("g-b-changelog", "compact,delete", large)
	create("g-c-changelog", "compact", large)
	for name, try := range map[string]struct {
		err  func() error
		says string
	}{
		"compacted changes": {func() error {
			return topics(t, c, func(cfg *TopicsConfig) { cfg.ChangesTopic = "compacted-changes" }).EnsureChanges(ctx)
		}, "needs delete"},
		"small records": {func() error {
			return topics(t, c, func(cfg *TopicsConfig) { cfg.ChangesTopic = "small-changes" }).EnsureChanges(ctx)
		}, "max.message.bytes"},
		"changelog that expires":   {func() error { return topics(t, c, nil).EnsureChangelog(ctx, "a", 1) }, "needs compact"},
		"changelog that does both": {func() error { return topics(t, c, nil).EnsureChangelog(ctx, "b", 1) }, "needs compact"},
		"missing, may not create":  {func() error { return checkOnly(t, c).EnsureChangelog(ctx, "d", 1) }, "create it with 1 partitions"},
		"too few, may not grow":    {func() error { return checkOnly(t, c).EnsureChangelog(ctx, "c", 2) }, "add partitions"},
		"changes missing likewise": {func() error { return checkOnly(t, c).EnsureChanges(ctx) }, "create it"},
	} {
		err := try.err()
		if err == nil || !strings.Contains(err.Error(), try.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, try.says)
		}
		if !IsSetting(err) {
			t.Errorf("%s: %v is not told apart from a passing trouble", name, err)
		}
	}
	if err := topics(t, c, nil).EnsureChangelog(ctx, "c", 1); err != nil {
		t.Error(err)
	}
}

func checkOnly(t *testing.T, c *kfake.Cluster) *Topics {
	return topics(t, c, func(cfg *TopicsConfig) { cfg.CheckOnly = true })
}

// Any producer that goes by the key puts a stream's rows where ours does.
func TestChangePartitionIsTheKeys(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(7, "changes"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("changes"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, stream := range []string{"agents", "ops", "a much longer name of a stream", "ü"} {
		r, err := cl.ProduceSync(context.Background(), &kgo.Record{Key: []byte(stream)}).First()
		if err != nil {
			t.Fatal(err)
		}
		if got := ChangePartition(stream, 7); got != r.Partition {
			t.Errorf("stream %q: partition %d, the client's %d", stream, got, r.Partition)
		}
	}
}
