package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index/row"
	"sessionfold/testenv/reach"
	"sessionfold/wire"
)

const stream = "agents"

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// world is a stream of three sources with the log that was folded of each, and
// the changelog that its steps made.
type world struct {
	sources []*worldSource
	clock   uint64 // ms
	cap     uint64
}

type worldSource struct {
	*wire.Source
	front     fold.Frontier
	partials  map[wire.ID]*fold.Partial
	states    map[wire.ID]*state.State
	log       []wire.Record // everything folded
	changelog []row.Op      // durable ops, in order
	batches   []*row.Batch
}

func newWorld(generation uint64) *world {
	w := &world{cap: 12, clock: 1_700_000_000_000}
	for _, s := range []*wire.Source{
		wire.NewSource(stream, stream+".agent.sessions", generation, 0, wire.RoleLane, wire.DialectAGDX),
		wire.NewSource(stream, stream+".agent.sessions", generation, 1, wire.RoleLane, wire.DialectAGDX),
		wire.NewSource(stream, stream+".agent.streams", generation+1, 0, wire.RoleChunks, wire.DialectAGDX),
	} {
		w.sources = append(w.sources, &worldSource{Source: s, partials: map[wire.ID]*fold.Partial{}, states: map[wire.ID]*state.State{}})
	}
	return w
}

func sessionID(n int) wire.ID {
	var id wire.ID
	binary.BigEndian.PutUint64(id[8:], uint64(n)*0x9e3779b97f4a7c15) // spread, so that ids are in no order of time
	return id
}

// record makes the next record of a source for a session.
func (w *world) record(t *rapid.T, s *worldSource, session int) wire.Record {
	w.clock += rapid.SampledFrom([]uint64{0, 0, 1, 7}).Draw(t, "ms")
	offset := s.front.Next
	if n := len(s.log); n > 0 {
		offset = max(offset, s.log[n-1].Offset+1)
	}
	offset += rapid.SampledFrom([]uint64{0, 0, 0, 1, 5}).Draw(t, "hole")
	rec := wire.Record{
		Offset: offset, Time: (w.clock - rapid.SampledFrom([]uint64{0, 0, 0, 30}).Draw(t, "late")) * 1000,
		HasSession: true, Session: sessionID(session), Kind: wire.KindEvent, Display: wire.DisplayAgentMessage,
		Agent: fmt.Appendf(nil, "agent-%d", session%5), Facts: wire.FactAuthor,
		Summary: []wire.SummaryItem{{Key: wire.SumSize, Type: wire.SumNumber, Num: offset}},
	}
	switch rapid.IntRange(0, 13).Draw(t, "record") {
	case 0:
		if s.Role == wire.RoleLane {
			rec.Display, rec.Facts = wire.DisplaySessionStarted, rec.Facts|wire.FactLane
			rec.Lifecycle = &wire.Lifecycle{Status: wire.StatusActive, Start: &wire.Start{Label: fmt.Appendf(nil, "session %d", session), HasLabel: true, Agent: []byte("owner")}}
		}
	case 1:
		if s.Role == wire.RoleLane {
			rec.Display, rec.Facts = wire.DisplaySessionCompleted, rec.Facts|wire.FactLane
			rec.Lifecycle = &wire.Lifecycle{Status: wire.StatusCompleted, Reason: []byte("done")}
		}
	case 2:
		rec.Kind, rec.Display, rec.Tool = wire.KindCommand, wire.DisplayToolCall, []byte("search")
		rec.Facts |= wire.FactToolCall | wire.FactUsage
		rec.Usage = &wire.Usage{In: 10, Out: 3}
	case 3:
		rec = wire.Record{Offset: offset, Time: rec.Time, Reason: "cbor"} // undecodable, unattributed
	case 4, 5, 6:
		if s.Role == wire.RoleLane {
			rec.Display, rec.Facts = wire.DisplayStateUpdated, rec.Facts|wire.FactLane
			rec.Rare = &wire.Rare{State: s.stateRecord(t, rec.Session)}
		}
	case 7, 8:
		rec.Rare = &wire.Rare{Links: genLinks(t, rec.Session)}
	case 9:
		rec.HasParent, rec.Parent = true, sessionID(rapid.IntRange(0, 9).Draw(t, "parent"))
		rec.HasParent = rec.Parent != rec.Session
	case 10:
		p := &wire.Parking{Unparked: rapid.Bool().Draw(t, "unparked")}
		p.Source = s.At(uint64(rapid.IntRange(0, 5).Draw(t, "held")))
		rec.Rare = &wire.Rare{Parking: p}
	case 11:
		rec.Rare = &wire.Rare{Control: &wire.Control{Op: wire.ControlOp(rapid.IntRange(1, 3).Draw(t, "asked")), Participants: [][]byte{[]byte("owner")}}}
	}
	return rec
}

// genLinks draws links of a record, now and then to a session that nobody wrote
// to.
func genLinks(t *rapid.T, id wire.ID) []wire.Link {
	out := make([]wire.Link, rapid.IntRange(1, 3).Draw(t, "links"))
	for i := range out {
		l := wire.Link{Session: id, Surface: wire.SurfaceKV, Relation: wire.RelationWrote, Item: fmt.Appendf(nil, "item-%d", rapid.IntRange(0, 9).Draw(t, "item"))}
		if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
			l.Session = sessionID(rapid.IntRange(0, 9).Draw(t, "linked"))
		}
		out[i] = l
	}
	return out
}

// stateRecord draws a state record, often one that applies; some are large
// enough for the document's base to move.
func (s *worldSource) stateRecord(t *rapid.T, id wire.ID) *wire.StateRecord {
	var revision uint64
	if st := s.states[id]; st != nil {
		revision = st.Revision
	}
	revision += uint64(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 1, 2, 3}).Draw(t, "ahead"))
	value := fmt.Sprintf("%q", strings.Repeat("v", rapid.SampledFrom([]int{0, 5, 5, 5, 5, 300, 300, 40_000}).Draw(t, "size")))
	if rapid.IntRange(0, 9).Draw(t, "snapshot") == 0 {
		return wire.DecodeState(true, wire.ContentJSON, fmt.Appendf(nil, `{"base_revision":%d,"document":{"a":%s,"n":[1,2]}}`, revision, value))
	}
	op := rapid.SampledFrom([]string{
		`{"op":"add","path":"/a","value":%s}`, `{"op":"add","path":"/b","value":%s}`, `{"op":"add","path":"/n","value":[%s]}`,
		`{"op":"add","path":"/n/0","value":%s}`, `{"op":"replace","path":"/a","value":%s}`,
	}).Draw(t, "op")
	return wire.DecodeState(false, wire.ContentJSON, fmt.Appendf(nil, `{"base_revision":%d,"op_id":"op-%d","patch":[`+op+`]}`,
		revision, rapid.IntRange(0, 60).Draw(t, "op id"), value))
}

// step folds records onto a source; it does not touch any store.
func (w *world) step(s *worldSource, recs []wire.Record) *row.Batch {
	step := new(fold.Scratch).Apply(&fold.Config{TimelineCap: w.cap}, s.Source, s.front, s.partials, s.states, recs)
	if step == nil {
		return nil
	}
	for i := range step.Sessions {
		s.partials[step.Sessions[i].ID] = step.Sessions[i].New
		if st := step.Sessions[i].State; st != nil {
			s.states[step.Sessions[i].ID] = st.State
		}
	}
	s.log = append(s.log, recs...)
	s.front = step.Frontier
	b := row.Encode(step)
	for _, op := range b.Ops {
		if op.Durable {
			s.changelog = append(s.changelog, op)
		}
	}
	s.batches = append(s.batches, b)
	return b
}

// draw makes and folds a batch of some records of few sessions.
func (w *world) draw(t *rapid.T, sessions, most int) *row.Batch {
	s := rapid.SampledFrom(w.sources).Draw(t, "source")
	start := len(s.log)
	for range rapid.IntRange(1, most).Draw(t, "records") {
		s.log = append(s.log, w.record(t, s, rapid.IntRange(1, sessions).Draw(t, "session")))
	}
	recs := slices.Clone(s.log[start:])
	s.log = s.log[:start]
	return w.step(s, recs)
}

// refold is a store that folded the world's logs in one batch each.
func (w *world) refold(t tb, generation uint64) *Store {
	t.Helper()
	again := newWorld(generation)
	again.cap = w.cap
	s := open(t, vfs.NewMem())
	for i, src := range w.sources {
		if b := again.step(again.sources[i], src.log); b != nil {
			apply(t, s, b)
		}
	}
	return s
}

func open(t tb, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open(Options{Dir: "store", FS: fs, CacheBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t tb, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func apply(t tb, s *Store, bs ...*row.Batch) {
	t.Helper()
	var steps []Applied
	for _, b := range bs {
		steps = append(steps, Applied{Batch: b, ChangelogNext: int64(b.Frontier.Next) * 3})
	}
	if err := s.Apply(steps); err != nil {
		t.Fatal(err)
	}
}

func check(t tb, s *Store) Report {
	t.Helper()
	r, err := s.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.Total > 0 {
		t.Fatalf("check found %d problems: %v", r.Total, r.Problems)
	}
	return r
}

func digest(t tb, s *Store) Digest {
	t.Helper()
	d, err := s.Digest(context.Background(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func reader(t tb, s *Store) *Reader {
	t.Helper()
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWorldIsRich: the generator reaches the cases the properties are about.
func TestWorldIsRich(t *testing.T) {
	var moved, truncated, several, rebased, logged, linked, asked, held, all int
	cases := map[string]*int{
		"a session that moved": &moved, "a truncated partial": &truncated, "a session in several sources": &several,
		"a new base": &rebased, "a log of patches": &logged,
		"links": &linked, "a control request": &asked, "held work": &held, "a session with state, links, control and held work": &all,
	}
	reach.Check(t, cases, func(rt *rapid.T) {
		w := newWorld(1)
		for range 20 {
			w.draw(rt, 4, 20)
		}
		for n := 1; n <= 4; n++ {
			sources, has := 0, [4]bool{}
			for _, s := range w.sources {
				if p := s.partials[sessionID(n)]; p != nil {
					sources++
					if p.Start != nil && p.Start.At != p.First {
						moved++
					}
					if p.State != nil && p.State.Base > 0 {
						rebased++
					}
					if p.State != nil && p.State.Slots > 0 {
						logged++
					}
					if p.Truncated {
						truncated++
					}
					if p.Links != nil {
						linked++
					}
					if p.Aside != nil && p.Aside.Control != nil {
						asked++
					}
					if p.Aside != nil && p.Aside.Held != nil && len(p.Aside.Held.Open) > 0 {
						held++
					}
					has[0], has[1] = has[0] || p.State != nil, has[1] || p.Links != nil
					has[2], has[3] = has[2] || p.Aside != nil && p.Aside.Control != nil, has[3] || p.Aside != nil && p.Aside.Held != nil
				}
			}
			if sources > 1 {
				several++
			}
			if has == [4]bool{true, true, true, true} {
				all++
			}
		}
	})
}
