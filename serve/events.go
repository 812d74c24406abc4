package serve

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// events gives a page of a session's timeline, in address order.
func (v *view) events(q *wire.SessionEvents) (*wire.SessionEventsPage, error) {
	limit, err := limitOf(q.Limit)
	if err != nil {
		return nil, err
	}
	bound := binding("events", v.stream.Name, q.ID.String(), strconv.FormatBool(q.FixedFrontier), strconv.FormatBool(q.Collapse))
	var fields []byte
	if q.Cursor != nil {
		if fields, err = openCursor(cursorEvents, bound, *q.Cursor); err != nil {
			return nil, err
		}
	}
	s, err := v.session(q.ID, 0)
	if err != nil {
		return nil, err
	}
	var after *wire.Address
	var pinned index.Bounds
	if q.Cursor != nil {
		if after, pinned, err = openEventsCursor(fields, s, q.FixedFrontier); err != nil {
			return nil, err
		}
	}
	if err := v.needEvents(q.ID, after, limit, q.Collapse); err != nil {
		return nil, err
	}
	p, err := v.snap.EventsBut(hiding(q.Collapse), q.ID, s.Sources, after, pinned, limit)
	if err != nil {
		return nil, err
	}
	page := &wire.SessionEventsPage{Items: make([]wire.SessionEvent, len(p.Items)), FixedFrontier: q.FixedFrontier, Collapsed: p.Hidden}
	for i := range p.Items {
		page.Items[i] = event(s, &p.Items[i])
		copied(s, p.Items[i].Source, p.Items[i].Offset, page.Items[i].Summary)
	}
	if err := v.outcomes(s, page.Items, func(i int) (*wire.Source, uint64) { return p.Items[i].Source, p.Items[i].Offset }); err != nil {
		return nil, err
	}
	page.Ranges = ranges(s, p.Items)
	page.Frontier, page.Gaps = v.boundary(s, p.Frontier)
	page.NativeGaps = s.NativeGaps()
	if p.More {
		page.Cursor, err = sealEventsCursor(bound, &p.Items[len(p.Items)-1], s, p.Frontier, q.FixedFrontier)
	}
	return page, err
}

// hiding picks out the rows that a collapsed timeline leaves out.
func hiding(collapse bool) func(*index.Event) bool {
	if collapse {
		return laterChunk
	}
	return nil
}

// laterChunk says that a row is of a chunk stream and not its opening one. The
// opening row stands for the stream; the response has the same correlation. A
// chunk that is invalid belongs to no stream.
func laterChunk(e *index.Event) bool {
	if e.Kind != wire.KindChunk || e.Display == wire.DisplayInvalid {
		return false
	}
	for i := range e.Summary {
		if e.Summary[i].Key == wire.SumSequence {
			return e.Summary[i].Num > 0
		}
	}
	return true
}

// event gives the read type of a timeline row.
func event(s *fold.Session, e *index.Event) wire.SessionEvent {
	src := e.Source
	out := wire.SessionEvent{
		At: src.At(e.Offset).Ref(s.ID), Session: s.ID, BrokerTS: e.Time, Kind: e.Kind.String(), Display: e.Display.String(),
		Operation: present(e.Operation), Agent: e.Agent, Addressee: present(e.Addressee), Tool: present(e.Tool), VerifiedActor: e.Actor,
		AfterEnd: s.AfterEnd(e.Address()), Summary: wire.NewSummary(e.Summary),
		AtText: src.PositionText(e.Offset), Topic: src.Topic, TopicGenerationText: wire.GenerationText(src.Generation),
	}
	if e.HasCorrelation {
		out.Correlation = &e.Correlation
	}
	if e.HasCause {
		out.Cause = &e.Cause
	}
	if e.Usage != nil {
		out.Usage = e.Usage.View()
	}
	if e.Reason != "" {
		if out.Summary == nil {
			out.Summary = wire.Summary{}
		}
		out.Summary[wire.SumReason.String()] = e.Reason
	}
	return out
}

func present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ranges gives per source the offsets between which the page's payloads lie.
func ranges(s *fold.Session, items []index.Event) []wire.PayloadRange {
	type span struct{ first, last uint64 }
	spans := map[wire.SourceKey]span{}
	for i := range items {
		e := &items[i]
		k := e.Source.Key()
		r, ok := spans[k]
		if !ok {
			r = span{e.Offset, e.Offset}
		}
		spans[k] = span{min(r.first, e.Offset), max(r.last, e.Offset)}
	}
	var out []wire.PayloadRange
	for i := range s.Sources {
		if r, ok := spans[s.Sources[i].Source.Key()]; ok {
			out = append(out, wire.NewPayloadRange(s.Sources[i].Source, r.first, r.last))
		}
	}
	return out
}

// boundary says up to where the page was read and what is missing below. A
// source that a pinned frontier does not name came later.
func (v *view) boundary(s *fold.Session, pinned index.Bounds) ([]wire.SourceFrontier, []wire.SourceGap) {
	var front []wire.SourceFrontier
	var gaps []wire.SourceGap
	for i := range s.Sources {
		k := &s.Sources[i]
		next, ok := pinned[k.Source.Key()]
		if !ok || next == 0 {
			continue
		}
		st := v.states[k.Source.Key()]
		f := wire.NewSourceFrontier(k.Source)
		folded := next - 1
		f.Folded, f.Head, f.RetainedFrom = &folded, st.Head, st.RetainedFrom
		front = append(front, f)
		for _, g := range k.Gaps(st) {
			if g.From > folded {
				continue
			}
			g.To = min(g.To, folded)
			gaps = append(gaps, g)
		}
	}
	return front, gaps
}

// tag names a source in a cursor: its whole key would leave no room for the
// frontiers of a session spread over many sources.
type tag [5]byte

func tagOf(k wire.SourceKey) tag {
	d := sha256.Sum256(k[:])
	return tag(d[:5])
}

// sealEventsCursor writes the address of the page's last row and, when the
// frontier is pinned, the frontier of every source.
func sealEventsCursor(bound [8]byte, last *index.Event, s *fold.Session, pinned index.Bounds, fixed bool) (string, error) {
	t := tagOf(last.Source.Key())
	b := append([]byte{}, t[:]...)
	b = binary.AppendUvarint(b, last.Time)
	b = binary.AppendUvarint(b, last.Offset)
	if fixed {
		for i := range s.Sources {
			k := s.Sources[i].Source.Key()
			if next := pinned[k]; next > 0 {
				t := tagOf(k)
				b = binary.AppendUvarint(append(b, t[:]...), next)
			}
		}
	}
	c := sealCursor(cursorEvents, bound, b)
	if len(c) > MaxCursorBytes {
		return "", invalid("fixed_frontier: the session lies in %d sources, more than a cursor can pin; read without it, or with a limit that needs no further page", len(s.Sources))
	}
	return c, nil
}

// openEventsCursor reads it back. A source that is not there any more makes it
// stale: its topic was deleted or made anew.
func openEventsCursor(b []byte, s *fold.Session, fixed bool) (*wire.Address, index.Bounds, error) {
	sources := make(map[tag]*wire.Source, len(s.Sources))
	for i := range s.Sources {
		sources[tagOf(s.Sources[i].Source.Key())] = s.Sources[i].Source
	}
	f := &fields{b: b}
	at := tag(f.take(len(tag{})))
	time, offset := f.uint(), f.uint()
	pins := map[tag]uint64{}
	for fixed && len(f.b) > 0 {
		t := tag(f.take(len(tag{})))
		pins[t] = f.uint()
	}
	if err := f.end(); err != nil {
		return nil, nil, err
	}
	src := sources[at]
	if src == nil {
		return nil, nil, errVanished
	}
	after := src.Address(time, offset)
	if !fixed {
		return &after, nil, nil
	}
	pinned := make(index.Bounds, len(pins))
	for t, next := range pins {
		src := sources[t]
		if src == nil {
			return nil, nil, errVanished
		}
		pinned[src.Key()] = next
	}
	return &after, pinned, nil
}

var errVanished = wire.Errorf(wire.ErrStale, "cursor: a topic generation it names is gone; start again without it")
