package worker

import (
	"errors"
	"fmt"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// ErrSourceShrunk says that the source ends before what was folded of it. After
// an unclean election the fold waits until the log has grown past the lost
// offsets (decision 0007).
var ErrSourceShrunk = errors.New("worker: the source ends before what was folded of it: records were lost by the brokers, or the topic was created anew on brokers that do not tell topics apart; the fold goes on when the log has grown past them")

// HasGap says that the next step makes a gap known, with or without records.
func (p *Part) HasGap() bool { return p.frontier.Skipped > 0 || p.frontier.Lost }

// Lose notes that the brokers hold the folded offsets from end on no more: the
// next step carries the gap, if it is news.
func (p *Part) Lose(end uint64) { p.frontier = p.frontier.Lose(end) }

func shrunk(r *restored, next uint64) error {
	return fmt.Errorf("%w (%s ends at %d, folded to %d)", ErrSourceShrunk, r.o.tp, r.held.High, next)
}

// looks is how often a loss must be seen when only the log's end tells it: a
// broker that was frozen may not know yet that it leads no longer.
const looks = 5

// holds finds out what the leader still has of the folded offsets. It is asked
// after the changelog was read: an older answer may be from before another
// owner's last steps.
func (w *Worker) holds(r *restored, next uint64) (err error) {
	r.held.Epoch = -1
	if next == 0 {
		r.held.High = r.id.High
		return nil
	}
	if r.held, err = w.env.Held(r.o.ctx, r.o.tp, next); err != nil {
		return err
	}
	if r.held.End < next && !r.held.Sure && (r.id.Source.Generation == 0 || r.o.tries < looks) {
		return shrunk(r, next)
	}
	return nil
}

// closeLost closes the parts of holes that the source has lost, without rows:
// other records stand there now, which were never counted. It gives what is left
// to fold again.
func (w *Worker) closeLost(src *wire.Source, holes []row.Span, gaps []fold.Gap) ([]row.Span, error) {
	for _, g := range gaps {
		if g.Reason != fold.GapSourceLost {
			continue
		}
		for _, h := range holes {
			if from, to := max(h.From, g.From), min(h.To, g.To); from <= to {
				if err := w.env.ApplyRows(&row.Batch{Source: src, From: from, To: to}); err != nil {
					return holes, err
				}
			}
		}
		holes = row.CutHoles(holes, row.Span{From: g.From, To: g.To})
	}
	return holes, nil
}
