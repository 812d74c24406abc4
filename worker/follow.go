package worker

import (
	"context"
	"errors"
	"time"

	"sessionfold/wire"
)

// Batch follows what is folded at one time from its poll to the store, for
// traces. The worker hands on what Env.Follow gave it and looks into none of it.
type Batch interface {
	// Fold says that a source's records, of which the first was polled at since, go
	// into their fold now, and gives what is called with its error at its end. The
	// sources of a batch are folded in parallel; the records must not be kept.
	Fold(tp wire.TopicPartition, since time.Time, raw []wire.Raw) (done func(error))
	// Context gives a context below which the batch's commit is followed.
	Context(context.Context) context.Context
	// End is called once, with nil when the batch is in the store.
	End(error)
}

// errGivenUp ends a batch whose sources went before it was committed.
var errGivenUp = &Failure{Err: errors.New("worker: the sources were given up before their step was committed"), Where: "given_up"}

// follow begins to follow a fold, if anybody wants to. What will be committed
// together is followed as one: steps that are ready do not leave before this fold
// has joined them, unless they are worth a commit of their own.
func (w *Worker) follow(f *folding) {
	if w.env.Follow == nil {
		return
	}
	if r := w.ready; r != nil && len(r.batches) > 0 && !w.full() {
		f.batch, f.joins = r.batches[0], true
		return
	}
	since := time.Now()
	for _, j := range f.jobs {
		if !j.since.IsZero() && j.since.Before(since) {
			since = j.since
		}
	}
	f.batch = w.env.Follow(since)
}

// foldOne is one source's part of a fold.
func (w *Worker) foldOne(b Batch, j *job) {
	var done func(error)
	if b != nil {
		done = b.Fold(j.o.tp, j.since, j.raw)
	}
	begin := time.Now()
	j.batch, j.err = j.o.part.Fold(j.raw)
	if w.env.Folded != nil {
		w.env.Folded(j.o.tp, time.Since(begin), j.err)
	}
	if done != nil {
		done(j.err)
	}
}

// context is below the first batch that is followed of the steps.
func (s *sealed) context(ctx context.Context) context.Context {
	if len(s.batches) == 0 {
		return ctx
	}
	return s.batches[0].Context(ctx)
}

// end tells those who follow what became of the steps.
func (s *sealed) end(err error) {
	for _, b := range s.batches {
		b.End(err)
	}
}
