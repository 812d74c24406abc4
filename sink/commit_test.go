package sink

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// producer is a Producer on a source topic "s" with one member in the group.
func producer(t *testing.T, c *kfake.Cluster, quiet bool) (*Producer, func() (Member, func(), error)) {
	t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)}
	tp := topics(t, c, nil)
	ctx := context.Background()
	if err := errors.Join(tp.EnsureChanges(ctx), tp.EnsureChangelog(ctx, "s", 1)); err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(append(opts, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("s"), kgo.DisableAutoCommit())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	joined, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	go cl.PollFetches(joined)
	if _, err := c.WaitGroupStable(joined, "g", 1); err != nil {
		t.Fatal(err)
	}
	p := New(Config{Opts: opts, Group: "g", Instance: "i", Topics: tp, TransactionTimeout: 4 * time.Second,
		Quiet: func(context.Context, wire.TopicPartition, int64, int64) (bool, error) { return quiet, nil }})
	if err := p.Renew(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, func() (Member, func(), error) {
		id, gen := cl.GroupMetadata()
		return Member{ID: id, Generation: gen}, func() {}, nil
	}
}

func step(uuid [16]byte, next uint64, expect int64, marker bool) Step {
	src := wire.NewSource("stream", "s", 1, 0, wire.RoleLane, wire.DialectAGDX)
	return Step{TopicUUID: uuid, Expect: expect, Marker: marker, Batch: &row.Batch{
		Source: src, From: next - 1, To: next - 1, Frontier: fold.Frontier{Next: next},
		Ops:     []row.Op{{Key: []byte("k"), Value: []byte("v"), Durable: true}, {Key: []byte("k2"), Value: []byte("v"), Durable: true}, {Key: []byte("d"), Value: []byte("v")}},
		Changes: []wire.ChangeRow{{V: 1, Stream: "stream", Seq: next}},
	}}
}

func where(t *testing.T, err error) Where {
	t.Helper()
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatalf("%v is no failure", err)
	}
	return f.Where
}

func TestCommitChecksContinuity(t *testing.T) {
	c, adm := cluster(t)
	if _, err := adm.CreateTopic(context.Background(), 1, 1, nil, "s"); err != nil {
		t.Fatal(err)
	}
	p, own := producer(t, c, false)
	ctx, id := context.Background(), c.TopicInfo("s").TopicID
	next, err := p.Commit(ctx, &Txn{Steps: []Step{step(id, 1, 0, false)}, Own: own})
	if err != nil || next[0] != 2 { // the two durable ops
		t.Fatal(next, err)
	}
	// One marker of our own lies in between, and is only accepted when we know of it.
	if _, err := p.Commit(ctx, &Txn{Steps: []Step{step(id, 2, 2, false)}, Own: own}); where(t, err) != AtContinuity {
		t.Fatal(err)
	}
	// Now there is the aborted attempt as well: more than a marker.
	if _, err := p.Commit(ctx, &Txn{Steps: []Step{step(id, 2, 2, true)}, Own: own}); where(t, err) != AtContinuity {
		t.Fatal(err)
	}
	// A look says that it is quiet in between.
	p.cfg.Quiet = func(_ context.Context, tp wire.TopicPartition, from, to int64) (bool, error) {
		if from != 2 || to <= 3 || tp.Topic != "g-s-changelog" {
			t.Errorf("asked about %s from %d to %d", tp, from, to)
		}
		return true, nil
	}
	if next, err = p.Commit(ctx, &Txn{Steps: []Step{step(id, 2, 2, true)}, Own: own}); err != nil {
		t.Fatal(err)
	}
	// A state that stands beyond the changelog is refused whatever lies there.
	if _, err := p.Commit(ctx, &Txn{Steps: []Step{step(id, 3, next[0]+100, true)}, Own: own}); where(t, err) != AtContinuity {
		t.Fatal(err)
	}
	committed, err := adm.FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := committed.Lookup("s", 0); o.At != 2 {
		t.Fatalf("the group stands at %d, want 2", o.At)
	}
}

// What is not ours any more is not committed: neither rows nor offsets.
func TestCommitAsksForOwnershipLast(t *testing.T) {
	c, adm := cluster(t)
	if _, err := adm.CreateTopic(context.Background(), 1, 1, nil, "s"); err != nil {
		t.Fatal(err)
	}
	p, own := producer(t, c, true)
	ctx, id := context.Background(), c.TopicInfo("s").TopicID
	gone := errors.New("gone")
	if _, err := p.Commit(ctx, &Txn{Steps: []Step{step(id, 1, 0, false)}, Own: func() (Member, func(), error) { return Member{}, nil, gone }}); where(t, err) != AtOwn || !errors.Is(err, gone) {
		t.Fatal(err)
	}
	// A member of another generation is fenced by the group.
	if _, err := p.Commit(ctx, &Txn{Steps: []Step{step(id, 1, 0, false)}, Own: func() (Member, func(), error) {
		m, release, err := own()
		m.Generation--
		return m, release, err
	}}); where(t, err) != AtOffsets {
		t.Fatal(err)
	}
	released := 0
	if _, err := p.Commit(ctx, &Txn{Steps: []Step{step(id, 1, 0, false)}, Own: func() (Member, func(), error) {
		m, _, err := own()
		return m, func() { released++ }, err
	}}); err != nil || released != 1 {
		t.Fatal(err, released)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("g-changes"), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	rctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if n := cl.PollFetches(rctx).NumRecords(); n != 1 {
		t.Fatalf("%d change rows are visible, want 1", n)
	}
}

// The newest producer of a name wins; the older is told that it is fenced.
func TestNewestProducerWins(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, own := producer(t, c, true)
	ctx, id := context.Background(), c.TopicInfo("s").TopicID
	newer := New(p.cfg)
	if err := newer.Renew(ctx); err != nil {
		t.Fatal(err)
	}
	defer newer.Close()
	_, err = p.Commit(ctx, &Txn{Steps: []Step{step(id, 1, 0, false)}, Own: own})
	var f *Failure
	if !errors.As(err, &f) || !f.Has(Renew) {
		t.Fatalf("%v", err)
	}
	if !f.Fenced() {
		t.Errorf("%v does not say fenced", err)
	}
	if _, err := newer.Commit(ctx, &Txn{Steps: []Step{step(id, 1, 0, false)}, Own: own}); err != nil {
		t.Fatal(err)
	}
}
