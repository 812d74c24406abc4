package worker

import (
	"time"

	"golang.org/x/sync/errgroup"

	"sessionfold/index/row"
	"sessionfold/wire"
)

// foldAt is how many records are worth folding before their commit is due: in
// a catch-up the fold overlaps with fetching and with the commit in flight, and
// what was fetched is let go early.
const foldAt = 8_192

// buffer holds what was polled of a source and is not folded yet.
type buffer struct {
	raw   []wire.Raw
	bytes int
	since time.Time // when the first of them was polled
	epoch int32     // leader epoch of the last record
	// release gives the memory behind raw back.
	release []func()
}

// empty lets go of everything and gives the slice of records for reuse.
func (b *buffer) empty() []wire.Raw {
	clear(b.raw)
	for _, release := range b.release {
		release()
	}
	return b.raw[:0]
}

// job is one source's part of a fold.
type job struct {
	o *owned
	buffer
	batch *row.Batch
	err   error
}

// folding is a fold that is going on beside the loop.
type folding struct {
	jobs    []*job
	records int
	bytes   int
	took    time.Duration
	batch   Batch // nil: nobody follows
	joins   bool  // the batch is that of the steps that are ready
}

// canFold says whether a fold may start: one at a time, and not more on top of a
// step that waits than one commit should hold.
func (w *Worker) canFold() bool {
	switch {
	case w.folding != nil:
		return false
	case w.ready == nil:
		return true
	}
	return !w.ready.alone && w.ready.records+w.buffered <= w.cfg.BatchRecords && w.ready.bytes+w.bufferedBytes <= w.cfg.BatchBytes
}

// foldDue says whether it is time to fold: much has come, or the commit could go
// out right after. While a commit is in flight little is left to grow, because
// each fold is a step with rows of its own.
func (w *Worker) foldDue(now time.Time) bool {
	if !w.canFold() {
		return false
	}
	if w.buffered >= min(foldAt, w.cfg.BatchRecords) || w.bufferedBytes >= w.cfg.BatchBytes {
		return true
	}
	if w.buffered > 0 {
		return w.flight == nil && w.commitDue(now)
	}
	for _, o := range w.living() {
		if o.part != nil && o.trouble == nil && !o.waiting() && o.part.HasGap() {
			return true // a gap without records
		}
	}
	return false
}

// commitDue says whether the cadence allows a commit of what is there.
func (w *Worker) commitDue(now time.Time) bool {
	return now.Sub(w.launched) >= w.cfg.BatchInterval || w.full() || w.rest()
}

// rest says that only the end of a catch-up is left. It does not wait for the
// cadence, which spares the brokers many small transactions: the last one was a
// large one.
func (w *Worker) rest() bool {
	if !w.large || w.folding != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.owned {
		if o.part != nil && o.next < o.status.High {
			return false
		}
	}
	return true
}

// full says that what is ready is worth a commit of its own, and does not wait
// for the cadence or for a fold that is going on.
func (w *Worker) full() bool {
	r := w.ready
	return r != nil && (r.alone || r.records >= min(foldAt, w.cfg.BatchRecords) || r.bytes >= w.cfg.BatchBytes)
}

// fold turns everything buffered into steps, each source by itself, beside the
// loop: takeFolded gets what came of it. Until then the parts belong to the fold.
func (w *Worker) fold() {
	f := &folding{}
	for _, o := range w.living() {
		if o.part == nil || o.trouble != nil || o.waiting() {
			continue
		}
		for ; o.applied > 0; o.applied-- {
			o.part.Applied()
		}
		if len(o.buffer.raw) == 0 && !o.part.HasGap() {
			continue
		}
		f.jobs = append(f.jobs, &job{o: o, buffer: o.buffer})
		f.records += len(o.buffer.raw)
		f.bytes += o.buffer.bytes
		o.buffer, o.spare = buffer{raw: o.spare}, nil
	}
	if len(f.jobs) == 0 {
		return
	}
	w.folding = f
	w.follow(f)
	go func() {
		begin := time.Now()
		var g errgroup.Group
		g.SetLimit(w.cfg.Parallel)
		for _, j := range f.jobs {
			g.Go(func() error {
				w.foldOne(f.batch, j)
				return nil
			})
		}
		_ = g.Wait() // each job keeps its own error
		f.took = time.Since(begin)
		w.folded <- f
		w.wake()
	}()
}

// takeFolded puts the steps of a fold behind those that wait for a commit.
func (w *Worker) takeFolded(f *folding) {
	w.folding = nil
	if w.ready == nil {
		w.ready = &sealed{}
	}
	for _, j := range f.jobs {
		o := j.o
		if j.err != nil {
			o.trouble = j.err
		} else {
			if len(j.raw) > 0 {
				o.epoch = j.epoch
			}
			w.ready.add(o, j)
		}
		o.spare = j.empty()
	}
	if f.batch != nil && !f.joins {
		w.ready.batches = append(w.ready.batches, f.batch)
	}
	if len(w.ready.lives) == 0 {
		w.ready.end(errGivenUp)
		w.ready = nil
	}
	w.count(func(st *Stats) { st.FoldSeconds += f.took.Seconds() })
}

// sealed is a set of steps on its way to a commit.
type sealed struct {
	lives   []*owned
	steps   []Step
	count   []int // records per step
	folds   []int // folds per step: how often its part has to be told that it is applied
	records int
	bytes   int
	alone   bool    // of a prelude: nothing may join it
	batches []Batch // those that are followed, oldest first
}

// add joins a source's step to the one it has here already.
func (s *sealed) add(o *owned, j *job) {
	s.records += len(j.raw)
	s.bytes += j.bytes
	for i := range s.lives {
		if s.lives[i] == o {
			s.steps[i].Batch.Append(j.batch)
			s.steps[i].Epoch = o.epoch
			s.count[i] += len(j.raw)
			s.folds[i]++
			return
		}
	}
	s.lives = append(s.lives, o)
	s.steps = append(s.steps, Step{Batch: j.batch, TopicUUID: o.uuid, Epoch: o.epoch})
	s.count = append(s.count, len(j.raw))
	s.folds = append(s.folds, 1)
}

// live leaves out the steps of sources that were given up since.
func (s *sealed) live(ok func(*owned) bool) {
	keep := 0
	for i, o := range s.lives {
		if ok(o) {
			s.lives[keep], s.steps[keep], s.count[keep], s.folds[keep] = o, s.steps[i], s.count[i], s.folds[i]
			keep++
		}
	}
	s.lives, s.steps, s.count, s.folds = s.lives[:keep], s.steps[:keep], s.count[:keep], s.folds[:keep]
}
