package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// Load is what a case writes to the lane topic.
type Load struct {
	Name       string
	Dialect    wire.Dialect // of the stream; the foreign ones have a lane alone
	Partitions int32        // of the lane; the other topics have one
	Records    []Placed
	Probes     map[string][]wire.ID // by topic: sessions whose frontiers, together, show every partition
	Sessions   int
	Bytes      int64 // of keys, headers and values
}

// Placed is a record with its partition.
type Placed struct {
	agdxlog.Record
	Partition int32
}

// FewHeaders leaves the records only the two headers that say how to read them,
// as a producer may do that writes nothing for routers and filters.
func (l *Load) FewHeaders() *Load {
	l.Name += " with two headers"
	for i := range l.Records {
		r := &l.Records[i]
		r.Headers = slices.DeleteFunc(r.Headers, func(h wire.Header) bool {
			if h.Key == wire.HeaderVersion || h.Key == wire.HeaderContentType {
				return false
			}
			l.Bytes -= int64(len(h.Key) + len(h.Value))
			return true
		})
	}
	return l
}

type loader struct {
	Load
	log *agdxlog.Log
	rng *rand.Rand
	n   uint64
	out *[]agdxlog.Record
}

func newLoader(name, stream string, partitions int32) *loader {
	l := &loader{Load: Load{Name: name, Partitions: partitions}, log: agdxlog.New(stream), rng: rand.New(rand.NewPCG(1, 2))}
	l.log.Emit = func(r agdxlog.Record) { *l.out = append(*l.out, r) }
	return l
}

// WithProbe puts a session with one record in every partition in front, so that
// one read shows them all.
func (l *Load) WithProbe(stream string) *Load {
	log := agdxlog.New(stream)
	probe := log.Session("probe", "probe")
	for range l.Partitions {
		probe.Note("here")
	}
	var front []Placed
	for p, r := range log.Records {
		front = append(front, Placed{r, int32(p)})
	}
	l.Records, l.Probes = append(front, l.Records...), map[string][]wire.ID{l.lane(stream): {probe.ID}}
	return l
}

// probeEach makes one session of each partition a probe.
func (l *Load) probeEach() *Load {
	seen := map[wire.TopicPartition]bool{}
	l.Probes = map[string][]wire.ID{}
	for i := range slices.Backward(l.Records) {
		r := &l.Records[i]
		if tp := (wire.TopicPartition{Topic: r.Topic, Partition: r.Partition}); !seen[tp] && r.Role.Folded() {
			seen[tp] = true
			l.Probes[r.Topic] = append(l.Probes[r.Topic], r.Session)
		}
	}
	return l
}

// tell collects the records that f writes.
func (l *loader) tell(f func()) []agdxlog.Record {
	var rs []agdxlog.Record
	l.out = &rs
	f()
	return rs
}

func (l *loader) place(p int32, rs []agdxlog.Record) {
	for _, r := range rs {
		l.Records = append(l.Records, Placed{r, p})
		l.Bytes += int64(len(r.Key) + len(r.Value))
		for _, h := range r.Headers {
			l.Bytes += int64(len(h.Key) + len(h.Value))
		}
	}
}

func (l *loader) session() *agdxlog.Session {
	var id wire.ID
	binary.BigEndian.PutUint64(id[:], 0x0190_0000_0000_0000+l.n<<8)
	binary.BigEndian.PutUint64(id[8:], l.rng.Uint64())
	l.n++
	l.Sessions++
	return l.log.SessionID(id, fmt.Sprintf("agent-%d", l.n%50))
}

// noteText makes the value of a note about 210 bytes.
const noteText = "the checkout page waits for the tax service; a retry helps for a while, then the queue grows again until noon"

// Short is sessions of ten records each, one after the other within a
// partition: a start, eight notes, an end. The first session has the number
// from, so that a stream can be given several loads.
func Short(stream string, from, sessions int, partitions int32) *Load {
	l := newLoader(fmt.Sprintf("%d sessions of 10", sessions), stream, partitions)
	l.n = uint64(from)
	for range sessions {
		s := l.session()
		l.place(int32(l.n%uint64(partitions)), l.tell(func() { shortSession(s) }))
	}
	return l.probeEach()
}

func shortSession(s *agdxlog.Session) {
	s.Start(agdxlog.Start{Label: "checkout is slow", Namespace: "shop", SDK: &agdxlog.SDK{Language: "go", Version: "1.0.0"}})
	for range 8 {
		s.Note(noteText)
	}
	s.End(wire.TaskCompleted, "")
}

// Long is sessions of about a hundred records, model and tool calls with their
// usage; live of them are at work in a partition at one time.
func Long(stream string, sessions int, partitions int32, live int) *Load {
	l := newLoader(fmt.Sprintf("%d sessions of 98", sessions), stream, partitions)
	type writing struct {
		rest []agdxlog.Record
		p    int32
	}
	var at []*writing
	for l.Sessions < sessions || len(at) > 0 {
		for len(at) < live*int(partitions) && l.Sessions < sessions {
			s := l.session()
			at = append(at, &writing{l.tell(func() { longSession(s) }), int32(l.n % uint64(partitions))})
		}
		i := l.rng.IntN(len(at))
		w := at[i]
		l.place(w.p, w.rest[:1])
		if w.rest = w.rest[1:]; len(w.rest) == 0 {
			at[i] = at[len(at)-1]
			at = at[:len(at)-1]
		}
	}
	return l.probeEach()
}

func longSession(s *agdxlog.Session) {
	s.Start(agdxlog.Start{Label: "a long run", Namespace: "research", SDK: &agdxlog.SDK{Language: "rust", Version: "2.1.0"}, Budget: &agdxlog.Budget{Tokens: 200_000}})
	for i := range 24 {
		s.Model("atlas-large", agdxlog.Tokens{In: uint64(900 + 40*i), Out: 120, CacheRead: 300, CostMicros: 1_250})
		s.Tool("grep", `{"pattern":"timeout","path":"src/module.go","context":3}`, `{"lines":12,"ok":true,"text":"timeout: 30s"}`)
	}
	s.End(wire.TaskCompleted, "")
}
