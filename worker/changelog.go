package worker

import (
	"context"
	"fmt"
	"time"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Changelog is a source's changelog partition as the brokers have it now.
type Changelog struct {
	ID          uint64 // generation of the topic; 0 when the brokers do not tell
	Start, High int64
	Tombstones  time.Duration // how long they are kept; 0 when it is not known
}

// lost says that the changelog is not the one that the store's state stands on.
func (c *Changelog) lost(m *Meta) bool {
	return m.ChangelogNext > c.High || m.ChangelogID != 0 && c.ID != 0 && m.ChangelogID != c.ID
}

// usable gives what the store knows of a source, without what must not be used:
// a state whose removal was cut off, and one that is to be restored onto but is
// older than the changelog keeps tombstones, which may miss that rows went.
func (w *Worker) usable(ctx context.Context, src *wire.Source, c *Changelog) (Meta, error) {
	m, _, err := w.env.Meta(src)
	if err != nil {
		return m, fmt.Errorf("worker: restore %s: %w", src, err)
	}
	old := !c.lost(&m) && c.Tombstones > 0 && !m.AppliedAt.IsZero() && w.cfg.Now().Sub(m.AppliedAt) > c.Tombstones
	if !old && !m.Removing {
		return m, nil
	}
	if old {
		w.log.Warn("the local state of a source is too old to restore onto; it is restored whole", "source", src.String(), "written", m.AppliedAt, "tombstones_kept", c.Tombstones)
	}
	return Meta{}, w.env.Remove(ctx, src)
}

// relost answers a changelog that was deleted, cut or made anew. If somebody has
// written the source's state to the new one, that is the truth; if nobody has,
// and the local state is what the group committed last, it becomes the new
// changelog; else the source is folded again from its log.
func (w *Worker) relost(r *restored, m Meta, c *Changelog) (Meta, error) {
	ctx, tp, src := r.o.ctx, r.o.tp, r.id.Source
	whole, end, err := w.probe(ctx, tp, src, c)
	if err != nil {
		return m, err
	}
	if whole {
		w.log.Warn("the changelog was made anew and holds the source's state; the local one is dropped", "source", tp.String())
		return Meta{}, w.env.Remove(ctx, src)
	}
	r.expect = end
	committed, known, err := w.env.Committed(ctx, tp)
	if err != nil {
		return m, err
	}
	if known && m.Frontier.Next > 0 && committed == m.Frontier.Next {
		w.log.Warn("the changelog was deleted or made anew; it is written again from the local state, which is what the group committed last", "source", tp.String(), "next", committed)
		r.prelude, err = w.env.Copy(src)
		return m, err
	}
	w.log.Error("the changelog was deleted or made anew, and the local state is not what the group committed last; the source is folded again from its log",
		"source", tp.String(), "local", m.Frontier.Next, "committed", committed)
	return m, w.begin(r, &m, committed)
}

// probe reads a changelog for a state of the source that is whole: a meta, with
// no reset behind it.
func (w *Worker) probe(ctx context.Context, tp wire.TopicPartition, src *wire.Source, c *Changelog) (whole bool, end int64, err error) {
	id := row.IDOf(src)
	end, err = w.env.ReadChangelog(ctx, tp, c.Start, func(_ int64, key, _ []byte) error {
		if len(key) == 0 || key[0] != row.TagSource && key[0] != row.TagReset {
			return nil
		}
		of, err := row.DurableSource(key)
		if err == nil && of == id {
			whole = key[0] == row.TagSource
		}
		return err
	})
	return whole, end, err
}

// begin plans to begin the source anew at its log start. Its change sequence
// goes on behind the highest known of it.
func (w *Worker) begin(r *restored, m *Meta, committed uint64) error {
	seq, err := w.env.LastSeq(r.o.ctx, r.id.Source)
	if err != nil {
		return err
	}
	r.reset(max(seq, m.Frontier.Seq), max(m.Frontier.Next, m.RefoldTo, committed))
	return nil
}

// reset makes the one batch that begins the source anew.
func (r *restored) reset(seq, until uint64) {
	b := row.ResetBatch(r.id.Source, seq, until, r.id.LogStart)
	r.prelude = func() (*row.Batch, error) { return b, nil }
	r.anew = &b.Frontier
}

// orphan answers a changelog without a state of the source, and no local one.
// Mostly that is a first start. But when the group has committed something and
// change rows tell of the source, its changelog and its owner's disk are both
// gone; and rows without a meta are what a copy that was cut off has left.
func (w *Worker) orphan(r *restored, m *Meta) error {
	committed, _, err := w.env.Committed(r.o.ctx, r.o.tp)
	if err != nil {
		return err
	}
	if committed == 0 && r.mine == 0 {
		return nil
	}
	if err := w.begin(r, m, committed); err != nil {
		return err
	}
	if r.anew.Seq == 1 && r.mine == 0 { // never folded: the offset is somebody else's, or of an earlier topic
		r.prelude, r.anew = nil, nil
		return nil
	}
	w.log.Error("neither a changelog nor a local state is left of a source that was folded; it is folded again from its log", "source", r.o.tp.String(), "committed", committed)
	return nil
}

// lossy says how many offsets that were folded the log has no more: what a new
// fold could not count again.
func lossy(f *fold.Frontier, logStart uint64) uint64 {
	n := min(f.Next, logStart)
	for _, g := range f.Gaps {
		if to := min(g.To+1, f.Next, logStart); g.From < to {
			n -= to - g.From
		}
	}
	return n
}
