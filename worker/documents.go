package worker

import (
	"container/list"
	"fmt"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/wire"
)

// DefaultCacheDocuments is how many bytes of state documents a part keeps, the
// one used last always among them.
const DefaultCacheDocuments = 16 << 20

// documents keeps the state documents of a part that were used last.
type documents struct {
	limit int
	bytes int
	order list.List // of *document, the one used last in front
	by    map[wire.ID]*list.Element
}

type document struct {
	id    wire.ID
	state *state.State
	bytes int
}

func (d *documents) get(id wire.ID) *state.State {
	e := d.by[id]
	if e == nil {
		return nil
	}
	d.order.MoveToFront(e)
	return e.Value.(*document).state
}

func (d *documents) put(id wire.ID, s *state.State) {
	if d.by == nil {
		d.by = make(map[wire.ID]*list.Element)
	}
	e := d.by[id]
	if e == nil {
		e = d.order.PushFront(&document{id: id})
		d.by[id] = e
	}
	d.order.MoveToFront(e)
	doc := e.Value.(*document)
	d.bytes -= doc.bytes
	doc.state, doc.bytes = s, s.Memory()
	for d.bytes += doc.bytes; d.bytes > d.limit && d.order.Len() > 1; {
		last := d.order.Remove(d.order.Back()).(*document)
		d.bytes -= last.bytes
		delete(d.by, last.id)
	}
}

// stateStep is what a step that is not in the store yet did to a document. It
// does not hold the document: that is cached, or made again from the store's.
type stateStep struct {
	step *state.Step
	info state.Info // behind it
}

// run says how many of the records may be folded at once, so that the documents
// they need do not take more memory than the cache may: at least one.
func (p *Part) run(recs []wire.Record) int {
	if !p.stateful {
		return len(recs)
	}
	weight, seen := 0, map[wire.ID]bool{}
	for i := range recs {
		r := &recs[i]
		if !fold.NeedsState(r) {
			continue
		}
		weight += r.Rare.State.Size
		if !seen[r.Session] {
			seen[r.Session] = true
			if old := p.batch[r.Session]; old != nil && old.State != nil {
				weight += int(old.State.Size + old.State.BaseSize + old.State.LogBytes)
			}
		}
		if weight > p.documents.limit && i > 0 {
			return i
		}
	}
	return len(recs)
}

// states gives the documents that the records need.
func (p *Part) states(recs []wire.Record) (map[wire.ID]*state.State, error) {
	if !p.stateful {
		return nil, nil
	}
	out := make(map[wire.ID]*state.State)
	for i := range recs {
		r := &recs[i]
		if !fold.NeedsState(r) || out[r.Session] != nil {
			continue
		}
		old := p.batch[r.Session]
		if old == nil || old.State == nil {
			continue
		}
		s := p.documents.get(r.Session)
		if s == nil {
			var err error
			if s, err = p.loadState(r.Session); err != nil {
				return nil, err
			}
		}
		if s == nil || s.Info != old.State.Info {
			return nil, fmt.Errorf("session %s: its state document is not that of its partial", r.Session)
		}
		out[r.Session] = s
	}
	return out, nil
}

// loadState makes a document from what the store has and from the steps that it
// has not yet.
func (p *Part) loadState(id wire.ID) (*state.State, error) {
	if p.cfg.LoadState == nil {
		return nil, fmt.Errorf("session %s has state, and this part was not told how to load it", id)
	}
	s, err := p.cfg.LoadState(p.cfg.Source, id)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = state.New()
	}
	steps := p.folding[id]
	for i := len(p.pendingStates) - 1; i >= 0; i-- {
		steps = append(append([]stateStep{}, p.pendingStates[i][id]...), steps...)
	}
	for _, st := range steps {
		if st.info.Outcomes() <= s.Outcomes() {
			continue // the store has it by now
		}
		if s, err = st.step.After(s, st.info); err != nil {
			return nil, fmt.Errorf("session %s: %w", id, err)
		}
	}
	return s, nil
}

// keepStates notes what a step did to documents.
func (p *Part) keepStates(step *fold.Step) {
	if !p.stateful {
		return
	}
	for i := range step.Sessions {
		ss := &step.Sessions[i]
		if ss.State == nil {
			continue
		}
		p.documents.put(ss.ID, ss.State.State)
		light := *ss.State
		light.State = nil
		if p.folding == nil {
			p.folding = make(map[wire.ID][]stateStep)
		}
		p.folding[ss.ID] = append(p.folding[ss.ID], stateStep{&light, ss.New.State.Info})
	}
}

// dropStates makes the fold of timeline rows pass over state records and over
// what foreign dialects say: rows do not hang on it.
func dropStates(recs []wire.Record) {
	for i := range recs {
		if rare := recs[i].Rare; rare != nil {
			rare.Native = nil // of the decoder's memory, which the next batch writes anew
		}
		if r := &recs[i]; fold.NeedsState(r) {
			rare := *r.Rare
			rare.State = nil
			r.Rare = &rare
		}
	}
}
