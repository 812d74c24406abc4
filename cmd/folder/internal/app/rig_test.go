package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/index"
	"sessionfold/source"
	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/broker"
	"sessionfold/testenv/schema"
	"sessionfold/wire"
)

// rig is a broker with one stream, and workers on it.
type rig struct {
	t      *testing.T
	k      *testenv.Kafka
	stream string
	group  string
	lane   string
	client *kgo.Client
	parts  int32
	made   int // sessions
}

// newRig is for tests that run on kfake and on the cluster of
// FOLDER_TEST_BROKERS alike.
func newRig(t *testing.T, partitions int32) *rig {
	t.Helper()
	return newRigOn(t, testenv.Start(t), partitions)
}

// newFakeRig is for tests that need kfake's faults.
func newFakeRig(t *testing.T, partitions int32, opts ...kfake.Opt) *rig {
	t.Helper()
	return newRigOn(t, testenv.Fake(t, broker.Options{Extra: opts}), partitions)
}

func newRigOn(t *testing.T, k *testenv.Kafka, partitions int32) *rig {
	t.Helper()
	r := &rig{t: t, k: k, stream: "agents", group: "folder", parts: partitions}
	if k.Real { // shared with other tests, and other runs
		r.stream = testenv.Name(t)
		r.group = r.stream
		t.Cleanup(func() {
			topics := []string{r.group + "-changes"}
			for _, o := range wire.TopicsOf(r.stream) {
				topics = append(topics, r.group+"-"+o.Topic+"-changelog")
			}
			k.Delete(t, topics...)
		})
	}
	r.lane = r.stream + ".agent.sessions"
	r.k.Create(t, r.lane, partitions)
	r.client = r.k.Client(t, manual)
	return r
}

// sessions writes n sessions of a start, some notes, a model and a tool call
// and mostly an end, spread over the lane's partitions.
func (r *rig) sessions(n int) {
	r.t.Helper()
	l := agdxlog.New(r.stream)
	for range n {
		s := l.Session(fmt.Sprintf("session %d", r.made), fmt.Sprintf("agent-%d", r.made%7))
		s.Start(agdxlog.Start{Label: fmt.Sprintf("work %d", r.made)})
		for range r.made % 4 {
			s.Note("a note of some length about what is going on")
		}
		s.Model("model-a", agdxlog.Tokens{In: 100, Out: 20})
		s.Tool("search", `{"q":"x"}`, `{"hits":3}`)
		for i := range r.made % 3 {
			s.Patch(uint64(i), fmt.Sprint("op", i), fmt.Sprintf(`[{"op":"add","path":"/k%d","value":%d}]`, i, r.made))
		}
		if r.made%3 != 0 {
			s.End(wire.TaskCompleted, "")
		}
		r.made++
	}
	r.write(l.Records)
}

// write produces records; a session's records go to one partition.
func (r *rig) write(recs []agdxlog.Record) {
	r.t.Helper()
	out := make([]*kgo.Record, len(recs))
	for i, rec := range recs {
		hs := make([]kgo.RecordHeader, len(rec.Headers))
		for j, h := range rec.Headers {
			hs[j] = kgo.RecordHeader(h)
		}
		p := int32(0)
		if rec.Topic == r.lane {
			p = r.partition(rec.Session)
		}
		out[i] = &kgo.Record{Topic: rec.Topic, Partition: p, Key: rec.Key, Value: rec.Value, Headers: hs}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for len(out) > 0 {
		n, bytes := 0, 0
		for n < len(out) && bytes < 1<<20 { // so that no batch is larger than topics take
			bytes += len(out[n].Value)
			n++
		}
		if err := r.client.ProduceSync(ctx, out[:n]...).FirstErr(); err != nil {
			r.t.Fatalf("produce: %v", err)
		}
		out = out[n:]
	}
}

// running is a worker that runs.
type running struct {
	*App
	r      *rig
	cancel context.CancelFunc
	done   chan error
	over   bool
}

func (r *rig) config(dir, instance string) Config {
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("FOLDER_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("worker", instance)
	}
	return Config{
		Kafka: source.Conn{Brokers: r.k.Addrs}, Group: r.group, Instance: instance,
		Streams: []Stream{{Name: r.stream}}, DataDir: dir, BatchInterval: 20 * time.Millisecond,
		SessionTimeout: 3 * time.Second, TransactionTimeout: 4 * time.Second, MetadataMaxAge: 500 * time.Millisecond,
		StopTimeout: 10 * time.Second, LeaveOnStop: true, Logger: log, CacheBytes: 16 << 20,
	}
}

func (r *rig) start(cfg Config, change ...func(*App)) *running {
	r.t.Helper()
	a, err := New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range change {
		f(a)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &running{App: a, r: r, cancel: cancel, done: make(chan error, 1)}
	go func() { w.done <- a.Run(ctx) }()
	r.t.Cleanup(func() {
		if !w.over {
			w.stop()
		}
	})
	return w
}

// stop ends a worker cleanly and in time.
func (w *running) stop() {
	w.r.t.Helper()
	if err := w.end(); err != nil {
		w.r.t.Errorf("stop: %v", err)
	}
}

func (w *running) end() error {
	w.over = true
	w.cancel()
	if os.Getenv("FOLDER_TEST_LOG") != "" {
		slow := time.AfterFunc(8*time.Second, func() { _ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) })
		defer slow.Stop()
	}
	select {
	case err := <-w.done:
		return errors.Join(err, w.Close())
	case <-time.After(waitLong):
		return errors.New("the worker does not stop")
	}
}

// offline folds the log as it is now, without any of the worker's parts but the
// fold itself. start tells log starts that are no fault of the fold.
func (r *rig) offline(topics ...string) *index.Store {
	r.t.Helper()
	e, err := replay.New([]replay.Stream{{Name: r.stream}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { e.Close() })
	for _, topic := range append([]string{r.lane}, topics...) {
		for tp, recs := range r.records(topic) {
			start, _ := r.bounds(tp)
			if start > 0 {
				u := uint64(start)
				r.must(e.Put(&replay.Line{Topic: tp.Topic, Partition: &tp.Partition, LogStart: &u}))
			}
			for _, rec := range recs {
				off := uint64(rec.Offset)
				l := &replay.Line{Topic: tp.Topic, Partition: &tp.Partition, Offset: &off, Timestamp: rec.Timestamp.UnixMilli(), Key: rec.Key, Value: rec.Value}
				for _, h := range rec.Headers {
					l.Headers = append(l.Headers, replay.Header(h))
				}
				r.must(e.Put(l))
			}
		}
	}
	r.must(e.Flush())
	return e.Store()
}

// deleteRecords is what retention does: it moves the log start.
func (r *rig) deleteRecords(p int32, before int64) {
	r.t.Helper()
	r.deleteRecordsOf(r.lane, p, before)
}

func (r *rig) deleteRecordsOf(topic string, p int32, before int64) {
	r.t.Helper()
	var os kadm.Offsets
	os.AddOffset(topic, p, before, -1)
	rs, err := r.k.Admin.DeleteRecords(context.Background(), os)
	r.must(errors.Join(err, rs.Error()))
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) bounds(tp wire.TopicPartition) (start, end int64) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	starts, err := r.k.Admin.ListStartOffsets(ctx, tp.Topic)
	r.must(err)
	ends, err := r.k.Admin.ListEndOffsets(ctx, tp.Topic)
	r.must(err)
	s, _ := starts.Lookup(tp.Topic, tp.Partition)
	e, _ := ends.Lookup(tp.Topic, tp.Partition)
	return s.Offset, e.Offset
}

// records reads a topic to its end, read committed.
func (r *rig) records(topic string) map[wire.TopicPartition][]*kgo.Record {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	md, err := r.k.Admin.Metadata(ctx, topic)
	r.must(err)
	r.must(md.Topics[topic].Err)
	out := map[wire.TopicPartition][]*kgo.Record{}
	rd, err := source.NewReader(source.Conn{Brokers: r.k.Addrs}, []source.Stream{{Name: r.stream, Topics: wire.TopicsOf(r.stream)}})
	r.must(err)
	defer rd.Close()
	for p := range md.Topics[topic].Partitions {
		tp := wire.TopicPartition{Topic: topic, Partition: p}
		start, end := r.bounds(tp)
		if start == end {
			continue
		}
		cl := r.k.Client(r.t, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().At(start)}}))
		for pos := start; pos < end; {
			fs := cl.PollFetches(ctx)
			r.must(fs.Err0())
			fs.EachRecord(func(rec *kgo.Record) {
				pos = rec.Offset + 1
				if !rec.Attrs.IsControl() {
					out[tp] = append(out[tp], rec)
				}
			})
		}
		cl.Close()
	}
	return out
}

// same holds a worker's index against the offline fold of the log.
func (r *rig) same(w *running, topics ...string) {
	r.t.Helper()
	ctx := context.Background()
	want, err := r.offline(topics...).Digest(ctx, r.stream)
	r.must(err)
	got, err := w.Store().Digest(ctx, r.stream)
	r.must(err)
	if got != want {
		r.t.Fatalf("the index is not the fold of the log:\n got  %s\n want %s", got, want)
	}
	if int(got.Sessions) == 0 {
		r.t.Fatal("nothing was compared")
	}
}

var manual = kgo.RecordPartitioner(kgo.ManualPartitioner())

type digest = index.Digest

// sameSoon is same for a store that was restored: its timeline rows come back
// a little later.
func (r *rig) sameSoon(w *running) {
	r.t.Helper()
	ctx := context.Background()
	want, err := r.offline().Digest(ctx, r.stream)
	r.must(err)
	got, err := w.Store().Digest(ctx, r.stream)
	r.must(err)
	if got.Partials != want.Partials || got.Sessions != want.Sessions || got.Sources != want.Sources || got.Sessions == 0 {
		r.t.Fatalf("the index is not the fold of the log:\n got  %s\n want %s", got, want)
	}
	testenv.Eventually(r.t, waitLong, func() error {
		got, err := w.Store().Digest(ctx, r.stream)
		if err != nil || got != want {
			return fmt.Errorf("the timelines are not those of the log (%v):\n got  %s\n want %s", err, got, want)
		}
		return nil
	})
	for p := range r.parts {
		s := r.source(w, p)
		if m, _, err := w.Store().Meta(s.Source); err != nil || len(m.Holes) > 0 {
			r.t.Fatalf("%s: holes %v are left: %v", s.Source, m.Holes, err)
		}
	}
}

// changes reads the changes topic as a read-committed consumer and holds every
// source's rows against the rule: seq 1, 2, 3 …, offsets without overlap, but
// for a source that was begun anew.
func (r *rig) changes() []wire.ChangeRow {
	r.t.Helper()
	last := map[wire.ChangeSource]wire.ChangeRow{}
	var all []wire.ChangeRow
	published, err := schema.New()
	r.must(err)
	for _, recs := range r.records(r.group + "-changes") {
		for _, rec := range recs {
			r.must(published.Check(rec.Value))
			var c wire.ChangeRow
			r.must(json.Unmarshal(rec.Value, &c))
			l := last[c.Source]
			if c.Seq != l.Seq+1 {
				r.t.Fatalf("%s[%d]: change row %d follows %d", c.Source.Topic, c.Source.Partition, c.Seq, l.Seq)
			}
			anew := c.Truncated && len(c.Sessions) == 0
			if l.Seq > 0 && !anew && !(l.Truncated && len(l.Sessions) == 0) && !(c.From > l.To || c.From == l.From && c.To == l.To) {
				r.t.Fatalf("%s[%d]: change row %d covers offsets %d to %d, the one before %d to %d", c.Source.Topic, c.Source.Partition, c.Seq, c.From, c.To, l.From, l.To)
			}
			last[c.Source] = c
			all = append(all, c)
		}
	}
	return all
}

// The waits are for a machine with much else to do; nothing takes as long.
const (
	shortWait = 30 * time.Second
	waitLong  = 60 * time.Second
)

var errNotYet = errors.New("not yet")
