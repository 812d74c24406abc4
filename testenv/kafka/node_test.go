package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/kafka"
)

func TestATopicSurvivesACrashOfTheBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("a JVM")
	}
	kafka.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	node, err := kafka.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.Kill() }) //nolint:errcheck // the test is over
	cl, err := kgo.NewClient(kgo.SeedBrokers(node.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	created, err := adm.CreateTopic(ctx, 3, 1, nil, "events")
	if err != nil || created.ID == (kadm.TopicID{}) {
		t.Fatalf("create: id %v, %v", created.ID, err)
	}
	if err := node.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := node.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	topics, err := adm.ListTopics(ctx, "events")
	if err != nil {
		t.Fatal(err)
	}
	if got := topics["events"]; got.ID != created.ID || len(got.Partitions) != 3 {
		t.Fatalf("after the crash the topic is %+v, its id was %v", got, created.ID)
	}
	if err := node.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}
