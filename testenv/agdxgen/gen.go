package agdxgen

import (
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"time"

	"sessionfold/testenv/agdxlog"
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
	live    []*actor
	started int
	made    uint64
	into    *actor // whose beats the log is collecting
}

// actor is one session with what it still has to say.
type actor struct {
	id    wire.ID
	beats []beat
	done  bool
}

// beat is one thing that a session does: write a record, start a child, or wait
// until a child has ended.
type beat struct {
	rec   agdxlog.Record
	start *actor
	await *actor
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
	g.log.Emit = func(r agdxlog.Record) { g.into.beats = append(g.into.beats, beat{rec: r}) }
	return g
}

// Topics lists the topics that the log is spread over, with their roles.
func (g *Generator) Topics() []wire.TopicRole { return wire.TopicsOf(g.o.Stream) }

// Started is how many sessions have been started.
func (g *Generator) Started() int { return g.started }

// Next gives the next record; false at the end.
func (g *Generator) Next() (Event, bool) {
	if g.made > 0 && g.made%heartbeatEvery == 0 && len(g.live) > 0 {
		return g.event(g.heartbeat()), true
	}
	for {
		for len(g.live) < g.o.Live && g.mayStart() {
			g.live = append(g.live, g.newRoot())
		}
		if len(g.live) == 0 {
			return Event{}, false
		}
		// From a random one on, the first that has something to say.
		from := g.rng.IntN(len(g.live))
		for i := range g.live {
			if r, ok := g.step((from + i) % len(g.live)); ok {
				return g.event(r), true
			}
		}
		g.sweep()
	}
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

// step takes one record from an actor; false when it waits or has ended.
func (g *Generator) step(i int) (agdxlog.Record, bool) {
	a := g.live[i]
	for len(a.beats) > 0 {
		b := a.beats[0]
		switch {
		case b.await != nil && !b.await.done:
			return agdxlog.Record{}, false
		case b.await != nil:
		case b.start != nil:
			g.live = append(g.live, b.start)
		default:
			a.beats = a.beats[1:]
			a.done = len(a.beats) == 0
			if a.done {
				g.sweep()
			}
			return b.rec, true
		}
		a.beats = a.beats[1:]
	}
	a.done = true
	return agdxlog.Record{}, false
}

// sweep lets go of the actors that have ended.
func (g *Generator) sweep() {
	kept := g.live[:0]
	for _, a := range g.live {
		if !a.done {
			kept = append(kept, a)
		}
	}
	clear(g.live[len(kept):])
	g.live = kept
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
	ids := make([]wire.ID, 0, len(g.live))
	for _, a := range g.live {
		ids = append(ids, a.id)
	}
	sink := &actor{}
	g.into = sink
	g.log.Heartbeat("worker-"+string('a'+rune(g.made/heartbeatEvery%3)), ids...)
	return sink.beats[0].rec
}
