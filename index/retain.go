package index

import (
	"context"
	"fmt"

	"sessionfold/index/row"
	"sessionfold/wire"
)

// pruneKeys bounds the keys that one batch of Prune removes.
const pruneKeys = 2_000

// touchSeconds is how old the stamp of a source may grow before SetRetained
// writes although nothing changed.
const touchSeconds = 60

// SetRetained notes the first offset that the source still retains. Timeline
// rows below it are no longer shown from here on; Prune removes them. Only the
// source's owner calls it, again and again: that keeps Meta.AppliedAt fresh. An
// offset below the known one changes nothing.
func (s *Store) SetRetained(src *wire.Source, offset uint64) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.write.Lock()
	defer s.write.Unlock()
	w := s.newWrite(256)
	defer w.close()
	id := row.IDOf(src)
	l := w.local(id)
	if offset <= l.Retained && s.opts.Now().Unix() < int64(l.AppliedAt)+touchSeconds {
		return nil
	}
	l.Retained = max(l.Retained, offset)
	if l.Retained > 0 {
		l.Holes = row.CutHoles(l.Holes, row.Span{To: l.Retained - 1})
	}
	w.setLocal(id, l)
	if err := w.commit(); err != nil {
		return fmt.Errorf("index: note the first offset of %s: %w", src, err)
	}
	return nil
}

// Prune removes the timeline rows of batches that the source no longer retains,
// in bounded writes, and says how many packs it removed. Counters stay. A batch
// of which the source retains a part stays until all of it is gone.
func (s *Store) Prune(ctx context.Context, src *wire.Source) (int, error) {
	id := row.IDOf(src)
	total := 0
	for ctx.Err() == nil {
		n, more, err := s.pruneSome(id, func() uint64 { return s.locals[id].Retained })
		if err != nil {
			return total, fmt.Errorf("index: prune %s: %w", src, err)
		}
		total += n
		if !more {
			return total, nil
		}
	}
	return total, ctx.Err()
}

// pruneSome removes the oldest batches below an offset, about pruneKeys keys.
func (s *Store) pruneSome(id row.SourceID, below func() uint64) (packs int, more bool, err error) {
	if err := s.enter(); err != nil {
		return 0, false, err
	}
	defer s.leave()
	s.write.Lock()
	defer s.write.Unlock()
	retained := below()
	w := s.newWrite(pruneKeys * 64)
	defer w.close()
	keys := 0
	err = scanRange(s.db, row.AppendBatch(nil, row.BatchKey{SourceID: id}), row.AppendBatch(nil, row.BatchKey{SourceID: id, From: retained}),
		func(key, value []byte) (bool, error) {
			k, err := row.ParseBatch(key)
			if err != nil {
				return false, err
			}
			p, err := row.DecodePacks(k.From, value)
			if err != nil {
				return false, keyed(key, err)
			}
			if p.To >= retained {
				return false, nil
			}
			if keys >= pruneKeys {
				more = true
				return false, nil
			}
			for _, ref := range p.Packs {
				w.delete(row.AppendPack(nil, row.PackKey{
					PartialKey: row.PartialKey{Stream: id.Stream, Session: ref.Session, Source: id.Source}, First: ref.First,
				}))
			}
			w.delete(key)
			packs += len(p.Packs)
			keys += len(p.Packs) + 1
			return true, nil
		})
	if err != nil || keys == 0 {
		return 0, false, err
	}
	return packs, more, w.commit()
}
