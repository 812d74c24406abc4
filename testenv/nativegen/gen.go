package nativegen

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"math/rand/v2"
	"time"

	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/interleave"
	"sessionfold/wire"
)

// Options of a generator. The dialect is DeepStrike or Everruns.
type Options struct {
	Dialect  wire.Dialect
	Stream   string // that folds the log; empty: the dialect's name
	Topic    string // empty: "<stream>.events"
	Seed     uint64
	Epoch    time.Time // the moment of offset 0, told in ids and in the times of events
	Sessions int       // sessions to start, children and forks included; 0: no end
	Rate     float64   // records per second; 0: no pace, every offset is 0
	Live     int       // sessions at work at one time; 0 is 16
	Clean    bool      // nothing bad: no broken records, redeliveries, conflicts, holes
}

// Generator gives the records of a log one by one.
type Generator struct {
	o       Options
	rng     *rand.Rand
	writers interleave.Writers
	started int
	made    uint64
	told    []*ever // Everruns sessions that may be forked
}

// New makes a generator.
func New(o Options) *Generator {
	if o.Stream == "" {
		o.Stream = o.Dialect.String()
	}
	if o.Topic == "" {
		o.Topic = o.Stream + ".events"
	}
	if o.Live == 0 {
		o.Live = 16
	}
	g := &Generator{o: o, rng: rand.New(rand.NewPCG(o.Seed, uint64(o.Dialect)<<32+uint64(wire.NameID(o.Topic))))}
	g.writers = interleave.Writers{Rand: g.rng, Size: o.Live, More: func() *interleave.Writer {
		if !g.mayStart() {
			return nil
		}
		if o.Dialect == wire.DialectDeepStrike {
			return g.newDeep(g.deepID(), "", 0)
		}
		return g.newEver(nil, 0)
	}}
	return g
}

// Topics lists the one topic of the log.
func (g *Generator) Topics() []wire.TopicRole {
	return []wire.TopicRole{{Topic: g.o.Topic, Role: wire.RoleLane}}
}

// Started is how many sessions have been started.
func (g *Generator) Started() int { return g.started }

// Next gives the next record; false at the end.
func (g *Generator) Next() (agdxgen.Event, bool) {
	r, ok := g.writers.Next()
	if !ok {
		return agdxgen.Event{}, false
	}
	e := agdxgen.Event{At: g.now(), Record: r}
	e.Value = g.stamp(e.Value)
	g.made++
	return e, true
}

// All gives the records until the end, or until the loop breaks.
func (g *Generator) All() iter.Seq[agdxgen.Event] {
	return func(yield func(agdxgen.Event) bool) {
		for {
			e, ok := g.Next()
			if !ok || !yield(e) {
				return
			}
		}
	}
}

// now is the offset of the next record.
func (g *Generator) now() time.Duration {
	if g.o.Rate <= 0 {
		return 0
	}
	return time.Duration(float64(g.made) / g.o.Rate * float64(time.Second))
}

// A session is told as a whole when it starts, but happens while others do: its
// records hold later in the place of times, and of moments to come.
const (
	momentForm = "2006-01-02T15:04:05.000Z"
	now        = "0001-01-01T00:00:00.000Z"
	later      = "0001-01-01T00:05:00.000Z"
)

// stamp puts the moment of the record in.
func (g *Generator) stamp(v []byte) []byte {
	if !bytes.Contains(v, []byte("0001-01-01T00:0")) {
		return v
	}
	at := g.o.Epoch.UTC().Add(g.now())
	v = bytes.ReplaceAll(v, []byte(now), []byte(at.Format(momentForm)))
	return bytes.ReplaceAll(v, []byte(later), []byte(at.Add(5*time.Minute).Format(momentForm)))
}

func (g *Generator) mayStart() bool { return g.o.Sessions == 0 || g.started < g.o.Sessions }

// id makes 128 bits that carry the moment, as a ULID or a UUID of version 7 does.
func (g *Generator) id() wire.ID {
	var id wire.ID
	ms := max(g.o.Epoch.Add(g.now()).UnixMilli(), 0)
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16|g.rng.Uint64()&0xffff)
	binary.BigEndian.PutUint64(id[8:], g.rng.Uint64())
	return id
}

// hexOf draws 32 hexadecimal digits.
func hexOf(rng *rand.Rand) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], rng.Uint64())
	binary.BigEndian.PutUint64(b[8:], rng.Uint64())
	return hex.EncodeToString(b[:])
}

// record is one of the lane.
func (g *Generator) record(key string, value []byte) agdxlog.Record {
	return agdxlog.Record{Role: wire.RoleLane, Topic: g.o.Topic, Session: wire.NativeID(g.o.Dialect, g.o.Stream, []byte(key)), Key: []byte(key), Value: value}
}

// bad is what a broken producer leaves behind: a cut line, a value that is no
// event, a tombstone, a record of nobody.
func (g *Generator) bad(rng *rand.Rand, key string) agdxlog.Record {
	switch rng.IntN(4) {
	case 0:
		return g.record(key, []byte(`{"seq":7,"event":{"kind":"llm_comp`))
	case 1:
		return g.record(key, []byte(`{"level":"info","text":"not an event"}`))
	case 2:
		return g.record(key, nil)
	}
	r := g.record(key, []byte(`{"kind":"resumed","type":"turn.started","turn":1}`))
	r.Key = nil
	return r
}
