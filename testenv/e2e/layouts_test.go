package e2e

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/expect"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// A layout says where a record lies: its topic, below the stream's name, and a
// number that chooses the partition. Records whose role is told by their topic
// stay on it, and so do those that must stay in order with their session's
// lifecycle; moves is the place of all others.
type layout struct {
	name       string
	partitions map[wire.Role]int32
	inboxes    []string // below the stream's name
	moves      func(r *agdxlog.Record, agent string) (topic string, n uint32)
}

// The layouts that AGDX allows. Roles have different numbers of partitions in
// each of them.
var layouts = []layout{
	{name: "single-partition"},
	{name: "shared", partitions: map[wire.Role]int32{wire.RoleLane: 4, wire.RoleChunks: 3, wire.RoleControl: 2, wire.RoleMemory: 2, wire.RoleAudit: 2}},
	{
		name: "per-agent-topic", partitions: map[wire.Role]int32{wire.RoleLane: 3, wire.RoleDeadLetters: 2},
		inboxes: []string{"planner.inbox", "reviewer.inbox", "helper.inbox"},
		moves:   func(_ *agdxlog.Record, agent string) (string, uint32) { return agent + ".inbox", 0 },
	},
	{
		name: "per-agent-partition", partitions: map[wire.Role]int32{wire.RoleLane: 5, wire.RoleJournal: 2},
		moves: func(_ *agdxlog.Record, agent string) (string, uint32) {
			return "agent.sessions", crc32.ChecksumIEEE([]byte(agent))
		},
	},
}

// spreadLog writes a log in a layout. It knows the position of each record
// before the broker says it, because nobody else writes.
type spreadLog struct {
	*agdxlog.Log
	layout layout
	topics map[string]int32
	gens   map[string]uint64
	next   map[string]uint64
	last   wire.Pos             // of the newest record
	pauses map[wire.ID]wire.Pos // requests that are open at the end
	n      int64
	cl     *kgo.Client
	failed atomic.Pointer[error]
}

// logEpoch is the broker time of the first record, in ms; each record has a time
// of its own.
const logEpoch = 1_700_000_000_000

func newSpreadLog(t *testing.T, k *testenv.Kafka, stream string, l layout) *spreadLog {
	s := &spreadLog{Log: agdxlog.New(stream), layout: l, topics: map[string]int32{}, gens: map[string]uint64{}, next: map[string]uint64{}, pauses: map[wire.ID]wire.Pos{}}
	for _, r := range wire.TopicsOf(stream) {
		s.topics[r.Topic] = max(1, l.partitions[r.Role])
	}
	for _, inbox := range l.inboxes {
		s.topics[stream+"."+inbox] = 1
	}
	for topic, n := range s.topics {
		k.Create(t, topic, n, "retention.ms", "-1")
		s.gens[topic] = wire.GenerationOf(k.UUID(t, topic))
	}
	s.cl = k.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	s.Emit = s.put
	return s
}

// stays says that a record's place is told by its topic or by its session.
func stays(r *agdxlog.Record) bool {
	if r.Role != wire.RoleLane {
		return true
	}
	e, err := wire.DecodeEnvelope(r.Value)
	if err != nil {
		return false
	}
	switch string(e.Operation) {
	case wire.OpSession, wire.OpStateDelta, wire.OpStateSnapshot, wire.OpSessionParked, wire.OpSessionUnparked:
		return true
	}
	return false
}

// authorOf is the agent that wrote an envelope; of what cannot be read the
// planner is to blame.
func authorOf(r *agdxlog.Record) string {
	if e, err := wire.DecodeEnvelope(r.Value); err == nil {
		return string(e.Source)
	}
	return "planner"
}

func (s *spreadLog) put(r agdxlog.Record) {
	n := crc32.ChecksumIEEE(r.Key)
	if s.layout.moves != nil && !stays(&r) {
		var name string
		name, n = s.layout.moves(&r, authorOf(&r))
		r.Topic = s.Stream + "." + name
	}
	p := n % uint32(s.topics[r.Topic])
	place := fmt.Sprint(r.Topic, p)
	s.last = wire.Pos{Stream: wire.NameID(s.Stream), Topic: wire.NameID(r.Topic), Generation: s.gens[r.Topic], Partition: p, Offset: s.next[place]}
	s.next[place]++
	s.n++
	k := &kgo.Record{Topic: r.Topic, Partition: int32(p), Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(logEpoch + 137*s.n)}
	for _, h := range r.Headers {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	s.cl.Produce(context.Background(), k, func(_ *kgo.Record, err error) {
		if err != nil {
			s.failed.CompareAndSwap(nil, &err)
		}
	})
}

func (s *spreadLog) flush(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := s.cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.failed.Load(); err != nil {
		t.Fatal(*err)
	}
}

// One log in the four layouts, as four streams of one worker: every view,
// timeline, document and list of links is the same up to positions (law 2 of
// spec session-index.md, section 2), before and after a restart on an empty
// store.
func TestLayouts(t *testing.T) {
	k := testenv.StartProcess(t)
	base := testenv.Name(t)
	rigs, logs := make([]*rig, len(layouts)), make([]*spreadLog, len(layouts))
	inboxes := map[string][]string{}
	var ids map[string]wire.ID
	for i, l := range layouts {
		rigs[i] = &rig{T: t, kafka: k, stream: base + "-" + l.name, want: expect.New(), bin: binary(t)}
		log := newSpreadLog(t, k, rigs[i].stream, l)
		produce := log.Emit
		logs[i] = log
		log.Emit = func(r agdxlog.Record) { rigs[i].want.Add(r); produce(r) }
		ids = layoutStory(t, log)
		rigs[i].want.Sessions[ids["only linked"]] = &expect.Session{Status: wire.StatusActive.String()} // exists without a record of its own
		log.flush(t)
		inboxes[rigs[i].stream] = []string{}
		for _, inbox := range l.inboxes {
			inboxes[rigs[i].stream] = append(inboxes[rigs[i].stream], rigs[i].stream+"."+inbox)
		}
	}
	for _, instance := range []string{"first", "second"} {
		w, err := folder.New(folder.Options{
			Bin: binary(t), Brokers: k.Addrs, Group: base, Stream: rigs[0].stream, Inboxes: inboxes[rigs[0].stream],
			Others: others(inboxes, rigs[0].stream), Dir: t.TempDir(), Extra: []string{"log: {level: warn, format: text}"},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Kill)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		var want map[string]told
		for i, r := range rigs {
			r.worker = w
			r.await(60 * time.Second)
			got := map[string]told{}
			for _, name := range slices.Sorted(maps.Keys(ids)) {
				got[name] = r.tell(ids[name], logs[i].pauses[ids[name]])
			}
			if i == 0 {
				want = got
				checkStory(t, got)
				continue
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s worker: %s (-) and %s (+) differ:\n%s", instance, layouts[0].name, layouts[i].name, d)
			}
		}
		if t.Failed() {
			t.Logf("the last words of the worker:\n%s", w.Log())
			return
		}
		if err := w.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func others(inboxes map[string][]string, first string) map[string][]string {
	m := maps.Clone(inboxes)
	delete(m, first)
	return m
}
