package worker

import (
	"context"
	"time"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// rebuildBatch is how many records of a hole are folded at a time.
const rebuildBatch = 10_000

// rebuild brings back the timeline rows of offsets that the changelog folded
// beyond the store: rows are derived, so the source is folded again and
// everything but the rows is thrown away. It runs beside the loop, one source
// at a time, until the holes are closed or the source's life ends. The rows are
// the same whoever writes them, so a write that comes late does no harm.
func (w *Worker) rebuild(o *owned, src *wire.Source, holes []row.Span, gaps []fold.Gap, before fold.Frontier) {
	for tries := 1; ; tries++ {
		select {
		case w.rebuilding <- struct{}{}:
		case <-o.ctx.Done():
			return
		}
		left, err := w.closeLost(src, holes, gaps)
		if err == nil {
			err = w.fillHoles(o.ctx, src, left, before)
		}
		<-w.rebuilding
		if err == nil || o.ctx.Err() != nil {
			return
		}
		pause := max(backoff(tries), time.Second)
		w.log.Warn("timeline rows cannot be rebuilt; trying again", "source", o.tp.String(), "pause", pause, "err", err)
		select {
		case <-o.ctx.Done():
			return
		case <-time.After(pause):
		}
		if m, _, err := w.env.Meta(src); err == nil {
			holes, gaps = m.Holes, m.Frontier.Gaps
		}
	}
}

func (w *Worker) fillHoles(ctx context.Context, src *wire.Source, holes []row.Span, before fold.Frontier) error {
	for _, h := range holes {
		if err := w.fillHole(ctx, src, h, before); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worker) fillHole(ctx context.Context, src *wire.Source, h row.Span, before fold.Frontier) error {
	begin := fold.Frontier{Next: h.From}
	if before.Next == h.From {
		begin.Time = before.Time
	}
	var part *Part
	part = NewPart(PartConfig{
		Source: src, Fold: w.env.Fold(src.Stream), Memory: w.env.Memory,
		Load: func(src *wire.Source, ids []wire.ID) (map[wire.ID]*fold.Partial, error) {
			return w.env.Kept(src, ids, part.Frontier().Next)
		},
		CacheSessions: w.cfg.CacheSessions, RowsOnly: true,
	}, begin)
	tp := wire.TopicPartition{Topic: src.Topic, Partition: int32(src.Partition)}
	err := w.env.Scan(ctx, tp, h.From, h.To+1, rebuildBatch, func(raw []wire.Raw) error {
		b, err := part.Fold(raw)
		if err != nil {
			return err
		}
		if err := w.env.ApplyRows(b); err != nil {
			return err
		}
		part.Applied()
		w.env.Memory.Recycle(b)
		w.count(func(s *Stats) { s.RebuiltRecords += uint64(len(raw)) })
		return nil
	})
	if err != nil {
		return err
	}
	if next := part.Frontier().Next; next <= h.To { // the rest is gone, or was no record
		return w.env.ApplyRows(&row.Batch{Source: src, From: next, To: h.To})
	}
	return nil
}
