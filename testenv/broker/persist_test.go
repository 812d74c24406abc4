package broker_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/testenv/broker"
	"sessionfold/testenv/proc"
)

func TestMain(m *testing.M) {
	defer proc.Clean()
	m.Run()
}

// What `folder demo` and the kill harness rely on: a broker with a data
// directory that ends, in whichever way, comes back with the same topics, the
// same records, the same group offsets, and no open transaction.
func TestDataDirSurvives(t *testing.T) {
	for _, how := range []string{"close", "kill"} {
		t.Run(how, func(t *testing.T) {
			dir, port := t.TempDir(), freePort(t)
			start := func() func() {
				if how == "close" {
					b, err := broker.Start(broker.Options{DataDir: dir, Port: port})
					if err != nil {
						t.Fatal(err)
					}
					return b.Close
				}
				bin, err := proc.Build("./testenv/cmd/kfaked", false)
				if err != nil {
					t.Fatal(err)
				}
				p, _, err := proc.StartReady(bin, []string{"--data-dir", dir, "--port", strconv.Itoa(port)}, nil, 20*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				return p.Kill
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()

			stop := start()
			c := newTxn(t, port)
			create(t, ctx, c.Client, "in", "out")
			id := topicID(t, ctx, c.Client, "in")
			c.commit(ctx, "out", "a", "in", 7)
			c.begin(ctx, "out", "never") // left open
			stop()
			c.CloseAllowingRebalance()

			for round := range 3 {
				stop = start()
				c = newTxn(t, port)
				if got := topicID(t, ctx, c.Client, "in"); got != id {
					t.Fatalf("round %d: topic id %x became %x", round, id, got)
				}
				if got, want := committed(t, ctx, c.Client, "in"), int64(7+round); got != want {
					t.Fatalf("round %d: the group stands on %d, want %d", round, got, want)
				}
				// InitProducerID aborts what the predecessor left open; the
				// log then reads to its end.
				want := "a"
				for i := range round {
					want += strconv.Itoa(i)
				}
				c.commit(ctx, "out", strconv.Itoa(round), "in", int64(8+round))
				want += strconv.Itoa(round)
				if got := readCommitted(t, ctx, port, "out"); got != want {
					t.Fatalf("round %d: read %q, want %q", round, got, want)
				}
				stop()
				c.CloseAllowingRebalance()
			}
		})
	}
}

// A transaction that a crash left open is aborted also where another producer's
// marker lies behind its records: else a reader drops what it commits later.
func TestACrashAbortsWhatLiesBeforeAMarker(t *testing.T) {
	dir, port := t.TempDir(), freePort(t)
	bin, err := proc.Build("./testenv/cmd/kfaked", false)
	if err != nil {
		t.Fatal(err)
	}
	start := func() func() {
		p, _, err := proc.StartReady(bin, []string{"--data-dir", dir, "--port", strconv.Itoa(port)}, nil, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return p.Kill
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stop := start()
	a, b := newTxn(t, port), newTxnOf(t, port, "another")
	create(t, ctx, a.Client, "in", "out")
	a.begin(ctx, "out", "never")
	b.begin(ctx, "out", "b")
	if err := b.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	stop()
	a.CloseAllowingRebalance()
	b.CloseAllowingRebalance()
	stop = start()
	a = newTxn(t, port)
	for _, v := range []string{"1", "2"} {
		a.begin(ctx, "out", v)
		if err := a.EndTransaction(ctx, kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
	}
	if got := readCommitted(t, ctx, port, "out"); got != "b12" {
		t.Errorf("read %q, want b12", got)
	}
	stop()
	a.CloseAllowingRebalance()
}

type txn struct {
	*kgo.Client
	t *testing.T
}

func newTxn(t *testing.T, port int) *txn { return newTxnOf(t, port, "persist") }

func newTxnOf(t *testing.T, port int, id string) *txn {
	c, err := kgo.NewClient(seed(port), kgo.TransactionalID(id), kgo.TransactionTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return &txn{c, t}
}

func (c *txn) begin(ctx context.Context, topic, value string) {
	c.t.Helper()
	if err := c.BeginTransaction(); err != nil {
		c.t.Fatal(err)
	}
	if err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

// commit is one transaction with one record and one group offset.
func (c *txn) commit(ctx context.Context, topic, value, source string, next int64) {
	c.t.Helper()
	c.begin(ctx, topic, value)
	id, epoch, err := c.ProducerID(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = "persist", "persist", id, epoch, -1
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic, rt.TopicID = source, topicID(c.t, ctx, c.Client, source) // version 6 names topics by id
	rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	rp.Offset = next
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	res, err := req.RequestWith(ctx, c.Client)
	if err != nil || res.Topics[0].Partitions[0].ErrorCode != 0 {
		c.t.Fatalf("offset commit: %v, %+v", err, res)
	}
	if err := c.EndTransaction(ctx, kgo.TryCommit); err != nil {
		c.t.Fatal(err)
	}
}

func seed(port int) kgo.Opt { return kgo.SeedBrokers(fmt.Sprintf("127.0.0.1:%d", port)) }

func create(t *testing.T, ctx context.Context, c *kgo.Client, topics ...string) {
	t.Helper()
	rs, err := kadm.NewClient(c).CreateTopics(ctx, 1, 1, nil, topics...)
	if err == nil {
		err = rs.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func topicID(t *testing.T, ctx context.Context, c *kgo.Client, topic string) kadm.TopicID {
	t.Helper()
	ds, err := kadm.NewClient(c).ListTopics(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	return ds[topic].ID
}

func committed(t *testing.T, ctx context.Context, c *kgo.Client, topic string) int64 {
	t.Helper()
	os, err := kadm.NewClient(c).FetchOffsets(ctx, "persist")
	if err != nil {
		t.Fatal(err)
	}
	o, ok := os.Lookup(topic, 0)
	if !ok {
		t.Fatal("the group has no offset")
	}
	return o.At
}

// readCommitted reads a partition to the high watermark.
func readCommitted(t *testing.T, ctx context.Context, port int, topic string) string {
	t.Helper()
	c, err := kgo.NewClient(seed(port), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ends, err := kadm.NewClient(c).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	var out string
	for next := int64(0); next < end.Offset; {
		fs := c.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("at %d of %d: %v", next, end.Offset, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			if next = r.Offset + 1; !r.Attrs.IsControl() {
				out += string(r.Value)
			}
		})
	}
	return out
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
