package agdxgen

import (
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"time"

	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/interleave"
	"sessionfold/wire"
)

// Options of a generator. The zero value is stream "demo", seed 0, no end.
type Options struct {
	Stream   string
	Seed     uint64
	Epoch    time.Time // the moment of offset 0, told in session ids (they sort by it)
	Sessions int       // sessions to start, children included; 0: no end
	Rate     float64   // records per second; 0: no pace, every offset is 0
	Live     int       // sessions at work at one time; 0 is 16
	Clean    bool      // no bad records
	Signed   bool      // agents sign, each with agdxlog.KeyNamed of its name, every second one with the context
}

// Event is a record and when it is meant to be produced.
type Event struct {
	At time.Duration // since Epoch
	agdxlog.Record
}

// Generator gives the records of a log one by one.
type Generator struct {
	o       Options
	rng     *rand.Rand
	log     *agdxlog.Log
	writers interleave.Writers
	started int
	made    uint64
	into    *interleave.Writer // whose records the log is collecting
}

// heartbeatEvery is how many records lie between two heartbeats.
const heartbeatEvery = 200

// New makes a generator.
func New(o Options) *Generator {
	if o.Stream == "" {
		o.Stream = "demo"
	}
	if o.Live == 0 {
		o.Live = 16
	}
	g := &Generator{o: o, rng: rand.New(rand.NewPCG(o.Seed, uint64(wire.NameID(o.Stream)))), log: agdxlog.New(o.Stream)}
	g.log.Emit = func(r agdxlog.Record) { g.into.Write(r) }
	g.writers = interleave.Writers{Rand: g.rng, Size: o.Live, More: func() *interleave.Writer {
		if !g.mayStart() {
			return nil
		}
		return g.newRoot()
	}}
	return g
}

// Topics lists the topics that the log is spread over, with their roles.
func (g *Generator) Topics() []wire.TopicRole { return wire.TopicsOf(g.o.Stream) }

// Started is how many sessions have been started.
func (g *Generator) Started() int { return g.started }

// Next gives the next record; false at the end.
func (g *Generator) Next() (Event, bool) {
	if g.made > 0 && g.made%heartbeatEvery == 0 && len(g.writers.Live()) > 0 {
		return g.event(g.heartbeat()), true
	}
	r, ok := g.writers.Next()
	if !ok {
		return Event{}, false
	}
	return g.event(r), true
}

// All gives the records until the end, or until the loop breaks.
func (g *Generator) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			e, ok := g.Next()
			if !ok || !yield(e) {
				return
			}
		}
	}
}

func (g *Generator) event(r agdxlog.Record) Event {
	e := Event{At: g.now(), Record: r}
	g.made++
	return e
}

// now is the offset of the next record.
func (g *Generator) now() time.Duration {
	if g.o.Rate <= 0 {
		return 0
	}
	return time.Duration(float64(g.made) / g.o.Rate * float64(time.Second))
}

func (g *Generator) mayStart() bool { return g.o.Sessions == 0 || g.started < g.o.Sessions }

// newID makes an id that carries the moment of the session, as a ULID does.
func (g *Generator) newID() wire.ID {
	var id wire.ID
	ms := max(g.o.Epoch.Add(g.now()).UnixMilli(), 0)
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16|g.rng.Uint64()&0xffff)
	binary.BigEndian.PutUint64(id[8:], g.rng.Uint64())
	return id
}

// heartbeat is the process of the live sessions saying so.
func (g *Generator) heartbeat() agdxlog.Record {
	live := g.writers.Live()
	ids := make([]wire.ID, 0, len(live))
	for _, w := range live {
		ids = append(ids, w.ID)
	}
	into := g.log.Emit
	defer func() { g.log.Emit = into }()
	var beat agdxlog.Record
	g.log.Emit = func(r agdxlog.Record) { beat = r }
	g.log.Heartbeat("worker-"+string('a'+rune(g.made/heartbeatEvery%3)), ids...)
	return beat
}
