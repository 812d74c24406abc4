package chaos

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// load writes a generated log at a rate. What it loses or writes twice while a
// broker is away does no harm: the mirror tells what was written.
type load struct {
	k      *testenv.Kafka
	parts  map[string]int32
	log    *agdxlog.Log
	mu     sync.Mutex // held by who must have nobody write
	cl     *kgo.Client
	rate   atomic.Int64 // records per second
	stop   context.CancelFunc
	ended  chan struct{}
	bad    int
	failed atomic.Int64
}

// partitions of the topics; other roles have one.
var partitions = map[wire.Role]int32{wire.RoleLane: 4, wire.RoleChunks: 2, wire.RoleMemory: 2}

func newLoad(t *testing.T, k *testenv.Kafka, stream string, seed uint64) *load {
	t.Helper()
	l := &load{k: k, parts: map[string]int32{}, log: agdxlog.New(stream), ended: make(chan struct{})}
	for _, r := range wire.TopicsOf(stream) {
		l.parts[r.Topic] = max(1, partitions[r.Role])
		k.Create(t, r.Topic, l.parts[r.Topic])
	}
	if err := l.connect(); err != nil {
		t.Fatal(err)
	}
	l.log.Emit = l.put
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	go l.run(ctx, agdxgen.New(agdxgen.Options{Stream: stream, Seed: seed, Rate: 500, Epoch: time.UnixMilli(1_800_000_000_000), Live: 40}))
	t.Cleanup(func() {
		cancel()
		<-l.ended
		l.cl.Close()
	})
	return l
}

// topics that are folded.
func (l *load) topics() (out []string) {
	for _, r := range wire.TopicsOf(l.log.Stream) {
		if r.Role.Folded() {
			out = append(out, r.Topic)
		}
	}
	return out
}

// connect makes a client that knows nothing yet of the topics. It is not
// idempotent: a broker that was killed may have forgotten the producer, and what
// is written twice is written twice.
func (l *load) connect() (err error) {
	if l.cl != nil {
		l.cl.Close()
	}
	l.cl, err = kgo.NewClient(kgo.SeedBrokers(l.k.Addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(),
		kgo.MaxProduceRequestsInflightPerBroker(1), kgo.MaxBufferedRecords(5_000), kgo.ProducerBatchMaxBytes(8<<20),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.RecordDeliveryTimeout(20*time.Second))
	return err
}

func (l *load) run(ctx context.Context, g *agdxgen.Generator) {
	defer close(l.ended)
	const step = 10 * time.Millisecond
	due := 0.0
	for tick := time.NewTicker(step); ctx.Err() == nil; <-tick.C {
		l.mu.Lock()
		for due += float64(l.rate.Load()) * step.Seconds(); due >= 1; due-- {
			e, _ := g.Next()
			l.put(e.Record)
		}
		l.mu.Unlock()
	}
}

// put writes a record if there is room for it.
func (l *load) put(r agdxlog.Record) {
	k := &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Partition: int32(crc32.ChecksumIEEE(r.Key) % uint32(l.parts[r.Topic]))}
	for _, h := range r.Headers {
		k.Headers = append(k.Headers, kgo.RecordHeader(h))
	}
	l.cl.TryProduce(context.Background(), k, func(_ *kgo.Record, err error) {
		if err != nil {
			l.failed.Add(1)
		}
	})
}

// flush waits until nothing is under way.
func (l *load) flush(ctx context.Context) error {
	if err := l.cl.Flush(ctx); err != nil {
		return fmt.Errorf("load: flush: %w", err)
	}
	return nil
}

// foul writes what broken producers write, on any topic.
func (l *load) foul(rng *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	roles := []wire.Role{
		wire.RoleLane, wire.RoleLane, wire.RoleChunks, wire.RoleControl, wire.RoleMemory, wire.RoleDeadLetters,
		wire.RoleAudit, wire.RoleJournal, wire.RoleHeartbeats,
	}
	n := 1 + rng.IntN(12)
	for range n {
		l.bad++
		role := roles[rng.IntN(len(roles))]
		s := l.log.Session(fmt.Sprintf("bad %d", rng.IntN(20)), "planner")
		switch rng.IntN(9) {
		case 0:
			s.Undecodable(role)
		case 1:
			s.Cut(role)
		case 2:
			s.Invalid(role)
		case 3:
			s.Tombstone(role)
		case 4:
			s.Huge(role, 1<<10<<rng.IntN(11)) // up to 1 MiB
		case 5:
			l.log.NoSession(role)
		case 6: // an empty value, not a null one
			l.log.Add(agdxlog.Record{Role: role, Session: s.ID, Key: agdxlog.Key(s.ID), Value: []byte{}})
		case 7: // one huge header, or very many
			h := []wire.Header{{Key: "x-huge", Value: make([]byte, 1<<10<<rng.IntN(10))}}
			for i := range rng.IntN(3) * 500 {
				h = append(h, wire.Header{Key: fmt.Sprint("x-", i), Value: []byte("v")})
			}
			l.log.Add(agdxlog.Record{Role: role, Session: s.ID, Key: agdxlog.Key(s.ID), Headers: h, Value: []byte{0xa0}})
		default: // noise
			b := make([]byte, rng.IntN(300))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			l.log.Add(agdxlog.Record{Role: role, Key: b[:min(len(b), rng.IntN(40))], Value: b})
		}
	}
	return fmt.Sprintf("%d bad records", n)
}
