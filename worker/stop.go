package worker

import (
	"context"
	"fmt"
	"time"
)

// stop finishes the commit in flight and commits the rest. Sources that are
// being restored are left.
func (w *Worker) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), w.cfg.StopTimeout)
	defer cancel()
	for {
		if w.folding == nil && w.flight == nil && w.ready == nil {
			w.fold()
		}
		if w.folding == nil && w.flight == nil && w.ready != nil {
			w.launch(ctx)
		}
		if w.folding == nil && w.flight == nil {
			return nil
		}
		select {
		case f := <-w.folded:
			w.takeFolded(f)
		case r := <-w.results:
			if r.fail != nil {
				w.log.WarnContext(r.context(ctx), "the last commit failed; what it held is folded again after the next start", "where", r.fail.Where, "err", r.fail.Err)
				w.flight = nil
				return nil
			}
			if err := w.finish(r); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("worker: the last commit did not end within %s; what it held is settled after the next start", w.cfg.StopTimeout)
		}
	}
}

// shut ends every goroutine of the worker. A commit that does not end is
// abandoned: it writes nothing to the store any more, and what it did at the
// brokers is settled by the restore after the next start.
func (w *Worker) shut() {
	w.apply.Lock()
	w.end()
	w.apply.Unlock()
	w.restores.Wait()
	if w.folding != nil {
		<-w.folded
	}
	if w.flight != nil {
		select {
		case <-w.results:
		case <-time.After(w.cfg.StopTimeout):
		}
	}
}
