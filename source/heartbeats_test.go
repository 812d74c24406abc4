package source_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/source"
	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/broker"
	"sessionfold/wire"
)

// tail runs a heartbeat tail for the stream until the test ends.
func tail(t *testing.T, k *testenv.Kafka, stream string) *source.Heartbeats {
	t.Helper()
	h := source.NewHeartbeats(source.Conn{Brokers: k.Addrs},
		[]source.Stream{{Name: stream, Topics: wire.TopicsOf(stream)}, {Name: "silent"}}, time.Hour, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { h.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

func produce(t *testing.T, cl *kgo.Client, recs ...*kgo.Record) {
	t.Helper()
	if err := cl.ProduceSync(t.Context(), recs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func beats(l *agdxlog.Log, at time.Time) []*kgo.Record {
	var out []*kgo.Record
	for _, r := range l.Records {
		out = append(out, &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Timestamp: at})
	}
	return out
}

func TestHeartbeatsAreHeardOnEveryPartitionAndAgainAfterARestart(t *testing.T) {
	k := testenv.Start(t)
	stream := testenv.Name(t)
	topic := stream + ".agent.heartbeats"
	k.Create(t, topic, 3)
	cl := k.Client(t, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))

	old, now := time.Now().Add(-2*time.Hour).Truncate(time.Millisecond), time.Now().Truncate(time.Millisecond)
	a, b, gone := agdxlog.NameID("a"), agdxlog.NameID("b"), agdxlog.NameID("gone")
	first := agdxlog.New(stream)
	first.Heartbeat("p1", gone)
	produce(t, cl, beats(first, old)...)
	second := agdxlog.New(stream)
	second.Heartbeat("p1", a)
	second.Heartbeat("p2", a, b)
	produce(t, cl, beats(second, now)...)
	foreign := agdxlog.New("another")
	foreign.Heartbeat("p3", gone)
	recs := beats(foreign, now)
	recs[0].Topic = topic
	produce(t, cl, append(recs, &kgo.Record{Topic: topic, Value: []byte("no heartbeat")})...)

	check := func(h *source.Heartbeats, last map[wire.ID]time.Time) {
		t.Helper()
		testenv.Eventually(t, 10*time.Second, func() error {
			stats, err := h.Stats()
			if s := stats[stream]; err != nil || !s.Known {
				return fmt.Errorf("%+v, %w", s, err)
			}
			for id, at := range last {
				want := uint64(0)
				if !at.IsZero() {
					want = uint64(at.UnixMicro())
				}
				if got, known := h.Last(stream, id); got != want || !known {
					return fmt.Errorf("session %s: last heartbeat %d (known %v), want %d", id, got, known, want)
				}
			}
			return nil
		})
	}
	h := tail(t, k, stream)
	check(h, map[wire.ID]time.Time{a: now, b: now, gone: {}})
	stats, _ := h.Stats()
	if s := stats[stream]; s.Foreign != 1 || s.Bad != 1 {
		t.Errorf("counted %+v, want one foreign and one bad", s)
	}

	later := now.Add(time.Second)
	third := agdxlog.New(stream)
	third.Heartbeat("p2", b)
	produce(t, cl, beats(third, later)...)
	check(h, map[wire.ID]time.Time{a: now, b: later})
	check(tail(t, k, stream), map[wire.ID]time.Time{a: now, b: later, gone: {}})
}

// A stream that has no heartbeats topic, or whose topic does not exist, has
// nothing to hear: silence is knowledge.
func TestAStreamWithoutHeartbeatsIsKnownAtOnce(t *testing.T) {
	k := testenv.Start(t)
	stream := testenv.Name(t)
	h := tail(t, k, stream)
	if _, known := h.Last("silent", wire.ID{}); !known {
		t.Error("a stream without a heartbeats topic is not known")
	}
	if _, known := h.Last("stranger", wire.ID{}); known {
		t.Error("a stream that is not configured is known")
	}
	testenv.Eventually(t, 10*time.Second, func() error {
		if _, known := h.Last(stream, wire.ID{}); !known {
			_, err := h.Stats()
			return fmt.Errorf("not known yet: %w", err)
		}
		return nil
	})
}

// With no broker, liveness stays unknown and the tail says why.
func TestWithoutABrokerLivenessIsUnknown(t *testing.T) {
	k := testenv.Fake(t, broker.Options{})
	stream := testenv.Name(t)
	k.Fake.Close()
	h := tail(t, k, stream)
	testenv.Eventually(t, 20*time.Second, func() error {
		if _, err := h.Stats(); err == nil {
			return fmt.Errorf("no trouble is shown yet")
		}
		return nil
	})
	if _, known := h.Last(stream, wire.ID{}); known {
		t.Error("known without a broker")
	}
}
