package worker

import (
	"errors"

	"sessionfold/index/row"
)

// prelude is what a source commits between its restore and its fold: the rows
// of a changelog that was lost, or the one batch that begins it anew. Each batch
// is committed by itself, and the source is not fetched until the last is in the
// store: what is folded then loads partials that are right.
type prelude struct {
	r   *restored
	out bool // a batch is on its way
}

// nextPrelude seals the next batch of a source that has one.
func (w *Worker) nextPrelude() {
	for _, o := range w.living() {
		p := o.prelude
		if p == nil || p.out || o.trouble != nil {
			continue
		}
		b, err := p.r.prelude()
		if err == nil && b == nil {
			err = errors.New("worker: a prelude without an end")
		}
		if err != nil {
			o.trouble = err
			continue
		}
		p.out = true
		w.ready = &sealed{lives: []*owned{o}, steps: []Step{{Batch: b, TopicUUID: o.uuid, Epoch: o.epoch}}, count: []int{0}, folds: []int{0}, alone: true}
		return
	}
}

// preludeDone takes a committed batch of a prelude in.
func (w *Worker) preludeDone(o *owned, b *row.Batch) {
	p := o.prelude
	p.out = false
	if b.Kind == row.BatchCopy {
		return // more follow
	}
	o.prelude = nil
	switch b.Kind {
	case row.BatchReset:
		w.count(func(s *Stats) { s.Begun++ })
		w.log.Warn("the source was begun anew", "source", o.tp.String(), "log_start", b.Frontier.Next, "folded_before", b.To+1)
	case row.BatchCopyEnd:
		w.count(func(s *Stats) { s.Healed++ })
		w.log.Info("the changelog was written again from the local state", "source", o.tp.String())
	}
	w.answer(o, nil)
	w.activate(o, p.r)
}

// waiting says that the source is not to be folded yet.
func (o *owned) waiting() bool { return o.prelude != nil }
