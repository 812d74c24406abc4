// Package interleave lets many sessions write one log at the same time: each has
// its records in their order, and may start another session or wait for its end.
// Generators of logs are built on it.
package interleave

import (
	"math/rand/v2"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// Writer is one session with what it still has to write.
type Writer struct {
	ID    wire.ID
	beats []beat
	done  bool
}

// beat is one thing that a writer does: write a record, start another writer, or
// wait until one has ended.
type beat struct {
	rec   agdxlog.Record
	start *Writer
	await *Writer
}

// Write adds a record.
func (w *Writer) Write(r agdxlog.Record) { w.beats = append(w.beats, beat{rec: r}) }

// Start lets another writer begin when this one is so far.
func (w *Writer) Start(other *Writer) { w.beats = append(w.beats, beat{start: other}) }

// Await lets this writer wait for the end of another one, which was started.
func (w *Writer) Await(other *Writer) { w.beats = append(w.beats, beat{await: other}) }

// Writers takes records from the writers at work, by turns that are drawn.
type Writers struct {
	// Rand draws the turns, Size is how many writers are at work at one time beside
	// those that others started, and More gives the next one, nil for none.
	Rand *rand.Rand
	Size int
	More func() *Writer

	live []*Writer
}

// Live are the writers at work.
func (ws *Writers) Live() []*Writer { return ws.live }

// Next gives the next record; false when all have ended.
func (ws *Writers) Next() (agdxlog.Record, bool) {
	for {
		for len(ws.live) < ws.Size {
			w := ws.More()
			if w == nil {
				break
			}
			ws.live = append(ws.live, w)
		}
		if len(ws.live) == 0 {
			return agdxlog.Record{}, false
		}
		// From a random one on, the first that has something to say.
		from := ws.Rand.IntN(len(ws.live))
		for i := range ws.live {
			if r, ok := ws.step((from + i) % len(ws.live)); ok {
				return r, true
			}
		}
		ws.sweep()
	}
}

// step takes one record from a writer; false when it waits or has ended.
func (ws *Writers) step(i int) (agdxlog.Record, bool) {
	w := ws.live[i]
	for len(w.beats) > 0 {
		b := w.beats[0]
		switch {
		case b.await != nil && !b.await.done:
			return agdxlog.Record{}, false
		case b.await != nil:
		case b.start != nil:
			ws.live = append(ws.live, b.start)
		default:
			w.beats = w.beats[1:]
			w.done = len(w.beats) == 0
			if w.done {
				ws.sweep()
			}
			return b.rec, true
		}
		w.beats = w.beats[1:]
	}
	w.done = true
	return agdxlog.Record{}, false
}

// sweep lets go of the writers that have ended.
func (ws *Writers) sweep() {
	kept := ws.live[:0]
	for _, w := range ws.live {
		if !w.done {
			kept = append(kept, w)
		}
	}
	clear(ws.live[len(kept):])
	ws.live = kept
}
