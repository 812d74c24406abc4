package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// headsWait bounds how long a read waits for the broker: heads are a help, not
// a part of the answer.
const headsWait = 2 * time.Second

// view is one read over one snapshot.
type view struct {
	h      *handler
	ctx    context.Context
	stream Stream
	snap   *index.Reader
	union  *union                       // what other workers have is gathered here, and snap reads it; nil: everything is here
	hold   *Holding                     // with Peers
	heads  map[wire.TopicPartition]Head // nil: not known
	states map[wire.SourceKey]fold.SourceState
	now    uint64
}

// open takes a snapshot, or begins a union of several workers'. The heads are
// looked at after it, so that no head is older than what was folded.
func (h *handler) open(ctx context.Context, s Stream) (*view, error) {
	v := &view{h: h, ctx: ctx, stream: s, now: h.opt.Now()}
	var all []wire.TopicPartition
	var err error
	switch {
	case h.opt.Peers != nil:
		if all, err = h.opt.Partitions(s.Name); err != nil {
			return nil, wire.Errorf(wire.ErrUnavailable, "stream %q: %v", s.Name, err)
		}
		hold := h.opt.Holding(s.Name)
		v.hold = &hold
	case h.opt.Coverage != nil:
		if err := h.opt.Coverage(s.Name); err != nil {
			return nil, wire.Errorf(wire.ErrUnavailable, "stream %q is not whole on this worker: %v", s.Name, err)
		}
	}
	if v.snap, err = h.snapshot(); err != nil {
		return nil, err
	}
	if v.hold != nil && !v.hold.has(all) {
		rows, err := v.snap.Union()
		if err = errors.Join(err, v.snap.Close()); err != nil {
			return nil, err
		}
		v.union = &union{h: h, ctx: ctx, stream: s.Name, want: all, rows: rows}
		v.snap = rows.Reader
	}
	v.heads = h.lookAtHeads(ctx)
	if err = v.look(); err == nil {
		return v, nil
	}
	return nil, errors.Join(err, v.snap.Close())
}

// look takes in what is known of the sources.
func (v *view) look() error {
	sources, err := v.snap.Sources(v.stream.Name)
	if err != nil {
		return err
	}
	v.states = make(map[wire.SourceKey]fold.SourceState, len(sources))
	for i := range sources {
		v.states[sources[i].Source.Key()] = v.state(&sources[i])
	}
	return nil
}

func (h *handler) snapshot() (*index.Reader, error) {
	snap, err := h.opt.Snapshot()
	if errors.Is(err, index.ErrClosed) {
		return nil, wire.Errorf(wire.ErrUnavailable, "this worker is stopping")
	}
	return snap, err
}

func (h *handler) lookAtHeads(ctx context.Context) map[wire.TopicPartition]Head {
	if h.opt.Heads == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, headsWait)
	defer cancel()
	heads, err := h.opt.Heads(ctx)
	if err != nil {
		h.opt.Logger.Debug("heads are not known", slog.String("error", err.Error()))
		return nil
	}
	return heads
}

// state joins what the index and the broker know of a source. A head of another
// generation is another source's.
func (v *view) state(m *index.Meta) fold.SourceState {
	st := m.State()
	head, ok := v.heads[wire.TopicPartition{Topic: m.Source.Topic, Partition: int32(m.Source.Partition)}]
	if !ok || head.Generation != m.Source.Generation {
		return st
	}
	st.Head = &head.High
	if st.RetainedFrom == nil && head.Start == 0 {
		st.RetainedFrom = &head.Start // a later start is told when its rows are gone here
	}
	return st
}

// read answers one request.
func (v *view) read(q any) (any, error) {
	switch q := q.(type) {
	case *wire.SessionGet:
		s, err := v.session(q.ID, wholeParts)
		if err != nil {
			return nil, err
		}
		info, err := v.whole(s)
		if err == nil && q.Subtree {
			info.Subtree, err = v.subtree(s)
		}
		return &info, err
	case *auditRead:
		return v.audit(q)
	case *wire.SessionList:
		return v.list(q)
	case *wire.SessionEvents:
		return v.events(q)
	case *wire.SessionState:
		return v.document(q)
	case *wire.SessionLinks:
		return v.links(q)
	case *wire.SessionSourcesRequest:
		return v.sources(q)
	}
	return nil, wire.Errorf(wire.ErrUnsupported, "this version does not serve this read")
}

// session merges what every source knows of a session. The parts are those that
// are looked at afterwards.
func (v *view) session(id wire.ID, parts index.Parts) (*fold.Session, error) {
	if err := v.need(parts, id); err != nil {
		return nil, err
	}
	return v.gathered(id)
}

// gathered is session of one that is known to be at hand.
func (v *view) gathered(id wire.ID) (*fold.Session, error) {
	ks, err := v.snap.Session(v.stream.Name, id)
	if err != nil {
		return nil, err
	}
	s := fold.Merge(id, ks)
	if s == nil {
		return nil, wire.Errorf(wire.ErrNotFound, "session %s: stream %q has no record of it", id, v.stream.Name)
	}
	return s, nil
}

func (v *view) info(s *fold.Session) wire.SessionInfo {
	in := fold.ViewInput{Now: v.now, Idle: uint64(v.stream.Idle.Microseconds()), Sources: v.states}
	if v.h.opt.Liveness != nil {
		in.Liveness = v.h.opt.Liveness(v.stream.Name, s.ID)
	}
	return fold.View(s, in)
}

// sources lists the sources that hold records of the session. The lane alone is
// for writers, who ask before a session exists.
func (v *view) sources(q *wire.SessionSourcesRequest) (*wire.SessionSources, error) {
	out := &wire.SessionSources{Lane: v.lane()}
	if out.Lane != nil {
		out.LaneTopic = v.stream.Lane
	}
	if q.LaneOnly {
		if out.Lane == nil {
			return nil, wire.Errorf(wire.ErrUnavailable, "lane_only: the lane topic %q is not known right now; try again", v.stream.Lane)
		}
		return out, nil
	}
	s, err := v.session(q.ID, 0)
	if err != nil {
		return nil, err
	}
	info := v.info(s)
	out.Sources = info.Frontier
	return out, nil
}

// lane names the stream's lane topic as the broker has it, nil when it is not
// known.
func (v *view) lane() *wire.Lane {
	head, ok := v.heads[wire.TopicPartition{Topic: v.stream.Lane}]
	if !ok {
		return nil
	}
	return &wire.Lane{TopicID: wire.NameID(v.stream.Lane), TopicGeneration: head.Generation, Partitions: uint32(head.Partitions)}
}
