package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// result is what became of a commit.
type result struct {
	*sealed
	next       []int64
	fail       *Failure
	took, disk time.Duration
	err        error // the store's, after Kafka committed
	fatal      error
}

// outcome is what keeps the steps from being in the store; nil: they are there.
func (r *result) outcome() error {
	switch {
	case r.fail != nil:
		return r.fail
	case r.err != nil:
		return &Failure{Err: r.err, Where: "store"}
	}
	return nil
}

// tally counts what is buffered; sources that were given up took theirs along.
func (w *Worker) tally() {
	w.buffered, w.bufferedBytes = 0, 0
	for _, o := range w.living() {
		w.buffered += len(o.buffer.raw)
		w.bufferedBytes += o.buffer.bytes
	}
}

// drop empties a source's buffer.
func (w *Worker) drop(o *owned) {
	w.buffered -= len(o.buffer.raw)
	w.bufferedBytes -= o.buffer.bytes
	o.buffer = buffer{raw: o.buffer.empty()}
}

// launch commits the steps that are ready, without those of sources that were
// given up since. The loop calls it with no commit in flight.
func (w *Worker) launch(ctx context.Context) {
	s := w.ready
	w.ready = nil
	s.live(func(o *owned) bool { return !w.isDead(o) && o.trouble == nil })
	if len(s.lives) == 0 {
		s.end(errGivenUp)
		return
	}
	for i, o := range s.lives {
		s.steps[i].Expect, s.steps[i].Marker = o.expect, o.marker
	}
	w.flight, w.launched = s, time.Now()
	w.large = s.records >= min(foldAt, w.cfg.BatchRecords)
	go func() {
		r := w.commit(s.context(ctx), s)
		s.end(r.outcome())
		w.results <- r
		w.wake()
	}()
}

// commit ends a transaction and brings the store to it.
func (w *Worker) commit(ctx context.Context, s *sealed) *result {
	r := &result{sealed: s}
	begin := time.Now()
	next, err := w.env.Commit(ctx, &Txn{Steps: s.steps, Batches: s.batches, Own: func() (string, int32, func(), error) { return w.owns(s.lives) }})
	r.took = time.Since(begin)
	if err != nil {
		if !errors.As(err, &r.fail) {
			r.fail = &Failure{Err: err, Where: "other"}
		}
		if r.fail.Renew && !r.fail.Exit {
			r.fatal = w.renew(ctx, r.fail.Fenced)
		}
		return r
	}
	r.next = next
	applied := make([]Applied, len(s.steps))
	for i := range s.steps {
		applied[i] = Applied{Batch: s.steps[i].Batch, ChangelogNext: next[i]}
		if p := s.lives[i].prelude; p != nil {
			applied[i].ChangelogID = p.r.changelog
		}
	}
	begin = time.Now()
	w.apply.Lock()
	defer w.apply.Unlock()
	if err := w.life.Err(); err != nil { // abandoned: the store may be closed
		r.err = fmt.Errorf("worker: committed, but not stored: the worker has stopped")
	} else if err := w.env.Apply(applied); err != nil {
		r.err = fmt.Errorf("worker: committed, but not stored: %w", err)
	}
	r.disk = time.Since(begin)
	return r
}

// finish takes a commit's outcome in.
func (w *Worker) finish(r *result) error {
	w.flight = nil
	switch {
	case r.fail != nil:
		return w.failed(r)
	case r.err != nil:
		w.count(func(s *Stats) { s.CommitFailures["store"]++ })
		w.log.ErrorContext(r.context(w.life), "a commit could not be stored; its sources are restored from their changelogs", "err", r.err)
		for _, o := range r.lives {
			o.tries++
			w.again(o, r.err, max(backoff(o.tries), time.Second))
		}
		return nil
	}
	records := 0
	for i, o := range r.lives {
		records += r.count[i]
		o.tries = 0
		o.expect, o.marker = r.next[i], true
		if o.prelude != nil {
			w.preludeDone(o, r.steps[i].Batch)
			continue
		}
		o.applied += r.folds[i] // the part may be at work
		w.env.Memory.Recycle(r.steps[i].Batch)
		if o.short != nil {
			w.again(o, o.short, time.Second)
		}
	}
	w.mu.Lock()
	for i, o := range r.lives {
		f := r.steps[i].Batch.Frontier
		if o.prelude == nil { // behind it is the step with the gaps
			w.stats.Gaps += uint64(o.gaps)
			o.gaps = 0
		}
		o.status.Next, o.status.Frontier, o.status.Tries = f.Next, f, 0
	}
	w.stats.Records += uint64(records)
	w.stats.Bytes += uint64(r.bytes)
	w.stats.Commits++
	w.stats.CommitSeconds += r.took.Seconds()
	w.stats.ApplySeconds += r.disk.Seconds()
	w.stats.LastCommit = time.Now()
	w.mu.Unlock()
	w.log.DebugContext(r.context(w.life), "committed", "records", records, "sources", len(r.lives), "took", r.took, "store", r.disk)
	return nil
}

// failed restores the sources of a commit that is not known to have happened.
func (w *Worker) failed(r *result) error {
	f := r.fail
	w.count(func(s *Stats) { s.CommitFailures[f.Where]++ })
	if f.Exit {
		return f.Err
	}
	if r.fatal != nil {
		return r.fatal
	}
	w.log.WarnContext(r.context(w.life), "a commit failed; its sources are restored", "where", f.Where, "sources", len(r.lives), "err", f.Err)
	hold := make(map[int]bool, len(f.Hold))
	for _, i := range f.Hold {
		hold[i] = true
	}
	for i, o := range r.lives {
		o.tries++
		pause := backoff(o.tries)
		if f.Wait {
			pause = max(pause, w.env.Heartbeat)
		}
		var shown error
		if hold[i] {
			pause = max(pause, time.Second)
			shown = f.Err
		} else if o.tries > 2 {
			shown = f.Err
		}
		w.again(o, shown, pause)
	}
	return nil
}

// ErrFenced says that other producers of the same name keep taking over.
var ErrFenced = errors.New("worker: fenced again and again: another process has the same group and instance, or transactions time out all the time")

// renew makes a new producer; it tries until it has one.
func (w *Worker) renew(ctx context.Context, fenced bool) error {
	if fenced {
		now := time.Now()
		w.fences = append(w.fences, now)
		for len(w.fences) > 0 && now.Sub(w.fences[0]) > time.Minute {
			w.fences = w.fences[1:]
		}
		if len(w.fences) > 3 {
			return ErrFenced
		}
	}
	for tries := 1; ; tries++ {
		err := w.env.Renew(ctx)
		if err == nil {
			w.count(func(s *Stats) { s.ProducerRuns++ })
			return nil
		}
		if ctx.Err() != nil {
			return nil // the next commit fails and says so; there is none when we stop
		}
		pause := max(backoff(tries), 100*time.Millisecond)
		w.log.Warn("no producer; trying again", "pause", pause, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
