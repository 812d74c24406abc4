package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"sessionfold/source"
	"sessionfold/wire"
	"sessionfold/worker"
)

func tp(topic string, p int32) wire.TopicPartition {
	return wire.TopicPartition{Topic: topic, Partition: p}
}

func TestCoverage(t *testing.T) {
	streams := []source.Stream{
		{Name: "a", Topics: []wire.TopicRole{{Topic: "a.x", Role: wire.RoleLane}}},
		{Name: "b", Topics: []wire.TopicRole{{Topic: "b.x", Role: wire.RoleLane}}},
	}
	heads := map[wire.TopicPartition]source.Head{tp("a.x", 0): {}, tp("a.x", 1): {}, tp("b.x", 0): {}}
	var headsErr error
	var owned []worker.SourceStatus
	c := newCoverage(streams, func(context.Context) (map[wire.TopicPartition]source.Head, error) { return heads, headsErr },
		func() []worker.SourceStatus { return owned })
	status := func(topic string, p int32, s worker.State) worker.SourceStatus {
		return worker.SourceStatus{TopicPartition: tp(topic, p), Source: &wire.Source{}, State: s}
	}
	want := func(stream string, parts ...string) {
		t.Helper()
		err := c.lacks(stream)
		if len(parts) == 0 {
			if err != nil {
				t.Fatalf("stream %s: %v, want nothing missing", stream, err)
			}
			return
		}
		for _, p := range parts {
			if err == nil || !strings.Contains(err.Error(), p) {
				t.Fatalf("stream %s: %v, want %q missing", stream, err, p)
			}
		}
	}

	headsErr = errors.New("down")
	want("a", "brokers have not said")
	headsErr = nil
	want("a", "a.x[0] (of another worker", "a.x[1] (of another worker")
	owned = []worker.SourceStatus{status("a.x", 0, worker.Active), status("a.x", 1, worker.Restoring)}
	want("a", "a.x[1] (restoring)")
	want("b", "b.x[0]")
	owned = append(owned, status("b.x", 0, worker.Active))
	owned[1].Source = nil // not identified yet
	if h := c.holding("a"); len(h.Sources) != 1 || h.Sources[0] != owned[0].Source || !slices.Equal(h.Restoring, []wire.TopicPartition{tp("a.x", 1)}) {
		t.Errorf("holding while one is restored: %+v", h)
	}
	owned[1].Source, owned[1].State = &wire.Source{}, worker.Active
	if h := c.holding("a"); len(h.Sources) != 2 || h.Restoring != nil {
		t.Errorf("holding: %+v", h)
	}
	if all, err := c.partitions("a"); err != nil || len(all) != 2 {
		t.Errorf("partitions: %v %v", all, err)
	}
	if all, err := c.partitions("nosuch"); err == nil {
		t.Errorf("partitions of a stream without topics: %v", all)
	}
	want("a")
	// A source that waits after an error still answers, with its frontier.
	owned[1].State = worker.Paused
	want("a")
	// Brokers that went away take no partition with them.
	headsErr = errors.New("down")
	want("a")
	// A topic that grew: the new partition is missing until it is assigned.
	headsErr = nil
	heads = map[wire.TopicPartition]source.Head{tp("a.x", 0): {}, tp("a.x", 1): {}, tp("a.x", 2): {}}
	want("a", "a.x[2]")
}
