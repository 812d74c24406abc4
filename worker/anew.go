package worker

import (
	"context"
	"errors"
	"fmt"

	"sessionfold/wire"
)

// ask is somebody's wish that a source be begun anew.
type ask struct {
	lossy bool
	done  chan error // buffered
}

// ErrNotOwned says that another worker has the source, or nobody yet.
var ErrNotOwned = errors.New("worker: the source is not this worker's")

// ErrLossy says that a new fold could not count everything again.
var ErrLossy = errors.New("worker: the brokers no longer hold all that was folded")

// BeginAnew drops what was folded of a source and folds it again from its log
// start. It returns when that is committed and the fold goes on; the source is
// being rebuilt until the fold has come to where it was. Offsets that were
// folded and that the brokers no longer hold would be missing then, so lossy
// must allow it. The change sequence goes on.
func (w *Worker) BeginAnew(ctx context.Context, tp wire.TopicPartition, lossy bool) error {
	a := &ask{lossy: lossy, done: make(chan error, 1)}
	w.mu.Lock()
	o := w.owned[tp]
	switch {
	case o == nil:
		w.mu.Unlock()
		return fmt.Errorf("%w: %s", ErrNotOwned, tp)
	case o.ask != nil:
		w.mu.Unlock()
		return fmt.Errorf("worker: %s is being begun anew already", tp)
	}
	o.ask = a
	w.mu.Unlock()
	w.wake()
	select {
	case err := <-a.done:
		return err
	case <-w.life.Done():
		return errors.New("worker: it is stopping")
	case <-ctx.Done():
		return fmt.Errorf("worker: %s will still be begun anew: %w", tp, ctx.Err())
	}
}

// asked looks, at the end of a restore, whether the source is to be begun anew.
func (w *Worker) asked(r *restored, m *Meta) error {
	w.mu.Lock()
	a := r.o.ask
	w.mu.Unlock()
	if a == nil || r.anew != nil {
		return nil
	}
	if n := lossy(&m.Frontier, r.id.LogStart); n > 0 && !a.lossy {
		w.answer(r.o, fmt.Errorf("%w: %d offsets of %s were folded and lie before the log start %d; their counts would be lost", ErrLossy, n, r.o.tp, r.id.LogStart))
		return nil
	}
	if m.Frontier.Seq == 0 {
		w.answer(r.o, nil) // nothing was folded of it
		return nil
	}
	r.reset(m.Frontier.Seq, max(m.Frontier.Next, m.RefoldTo))
	return nil
}

// reopen restores the active sources that are to be begun anew. The loop calls
// it with no commit in flight.
func (w *Worker) reopen() {
	for _, o := range w.living() {
		w.mu.Lock()
		wanted := o.ask != nil && o.status.State == Active
		w.mu.Unlock()
		if wanted {
			w.drop(o)
			w.again(o, nil, 0)
		}
	}
}

// answer tells whoever asked.
func (w *Worker) answer(o *owned, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.ask != nil {
		o.ask.done <- err
		o.ask = nil
	}
}

// gone answers for a life that ends for good; w.mu is held. One that begins
// again keeps the wish.
func (w *Worker) gone(o *owned) {
	if o.ask != nil && !o.kept {
		o.ask.done <- fmt.Errorf("%w any more: %s was given up", ErrNotOwned, o.tp)
		o.ask = nil
	}
}
