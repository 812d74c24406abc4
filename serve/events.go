package serve

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// events gives a page of a session's timeline, in address order or against it.
func (v *view) events(q *wire.SessionEvents) (*wire.SessionEventsPage, error) {
	limit, err := limitOf(q.Limit)
	if err != nil {
		return nil, err
	}
	rd, err := readingOf(nil, q.Back, q.Display, q.Collapse)
	if err != nil {
		return nil, err
	}
	bound := boundEvents(v.stream.Name, q)
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
	bounds := index.BoundsOf(s.Sources)
	if q.Cursor != nil {
		var pinned index.Bounds
		if rd.From, pinned, err = openEventsCursor(fields, s, q.FixedFrontier); err != nil {
			return nil, err
		}
		if pinned != nil {
			bounds = pinned
		}
	}
	p, err := v.rows(q, rd, s, bounds, limit)
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

// boundEvents is what a cursor of a timeline is bound to.
func boundEvents(stream string, q *wire.SessionEvents) [8]byte {
	parts := []string{"events", stream, q.ID.String(), strconv.FormatBool(q.FixedFrontier), strconv.FormatBool(q.Collapse)}
	if q.Back || q.Around != nil || q.Display != nil { // cursors from before these stay good
		parts = append(parts, strconv.FormatBool(q.Back), number(q.Around), strings.Join(q.Display, ","))
	}
	return binding(parts...)
}

// readingOf checks the words of a request.
func readingOf(from *wire.Address, back bool, display []string, collapse bool) (*index.Reading, error) {
	rd := &index.Reading{From: from, Back: back}
	if collapse {
		rd.But = laterChunk
	}
	if display == nil {
		return rd, nil
	}
	only := map[wire.Display]bool{}
	for _, w := range display {
		d, ok := wire.ParseDisplay(w)
		if !ok {
			return nil, word("display", w, wire.DisplayWords()...)
		}
		only[d] = true
	}
	rd.Only = func(e *index.Event) bool { return only[e.Display] }
	return rd, nil
}

// rows reads a page. One about a time begins with up to half of it before the
// time, and goes on behind it; backwards the other way round.
func (v *view) rows(q *wire.SessionEvents, rd *index.Reading, s *fold.Session, bounds index.Bounds, limit int) (index.Page, error) {
	if q.Around == nil || q.Cursor != nil {
		return v.rowsOf(q, rd, s, bounds, limit)
	}
	rd.From = &wire.Address{Time: *q.Around} // before every row of that time
	var first index.Page
	if half := limit / 2; half > 0 {
		before := *rd
		before.Back = !rd.Back
		var err error
		if first, err = v.rowsOf(q, &before, s, bounds, half); err != nil {
			return first, err
		}
		slices.Reverse(first.Items)
	}
	p, err := v.rowsOf(q, rd, s, bounds, limit-len(first.Items))
	p.Items, p.Hidden = append(first.Items, p.Items...), first.Hidden+p.Hidden
	return p, err
}

func (v *view) rowsOf(q *wire.SessionEvents, rd *index.Reading, s *fold.Session, bounds index.Bounds, limit int) (index.Page, error) {
	if err := v.needEvents(q, rd, bounds, limit); err != nil {
		return index.Page{}, err
	}
	return v.snap.EventsOf(q.ID, s.Sources, rd, bounds, limit)
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
