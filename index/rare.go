package index

import (
	"context"
	"fmt"

	"sessionfold/index/row"
)

// applyRare takes a committed batch that is no step of the fold.
func (s *Store) applyRare(a *Applied) (err error) {
	b := a.Batch
	id := row.IDOf(b.Source)
	switch b.Kind {
	case row.BatchReset:
		s.write.Lock()
		l := s.locals[id]
		s.write.Unlock()
		// Cut off half way it is done again: the mark stays, and the restore reads
		// the changelog from its start.
		err = s.remove(context.Background(), id, func(w *write) {
			for _, op := range b.Ops {
				w.op(op)
			}
			w.nexts[id] = b.Frontier.Next
			w.setLocal(id, row.Local{ChangelogNext: a.ChangelogNext, ChangelogID: l.ChangelogID, Retained: l.Retained})
		})
	case row.BatchCopy: // the store has the rows
	case row.BatchCopyEnd:
		err = s.changelogIs(id, a.ChangelogNext, a.ChangelogID)
	default:
		err = fmt.Errorf("a batch of the unknown kind %d", b.Kind)
	}
	if err != nil {
		return fmt.Errorf("index: apply %s: %w", b.Source, err)
	}
	return nil
}

// changelogIs notes where the source stands in a changelog.
func (s *Store) changelogIs(id row.SourceID, next int64, changelog uint64) error {
	s.write.Lock()
	defer s.write.Unlock()
	w := s.newWrite(256)
	defer w.close()
	l := w.local(id)
	l.ChangelogNext, l.ChangelogID, l.Restoring = next, changelog, false
	w.setLocal(id, l)
	return w.commit()
}

// putReset forgets what was read and what the store has of the source: it is of
// an earlier fold. The end of the restore then makes the whole new fold a hole
// of the timelines.
func (r *Restorer) putReset(key, value []byte) error {
	if id, err := row.ParseReset(key); err != nil {
		return err
	} else if id != r.id {
		return r.stranger(key)
	}
	if _, err := row.DecodeReset(value); err != nil {
		return keyed(key, err)
	}
	clear(r.pending)
	clear(r.slots)
	r.order, r.bytes, r.meta, r.next = r.order[:0], 0, nil, 0
	if err := r.s.enter(); err != nil {
		return err
	}
	defer r.s.leave()
	err := r.s.remove(context.Background(), r.id, func(w *write) {
		w.set(key, value)
		w.setLocal(r.id, row.Local{Restoring: true})
	})
	if err != nil {
		return fmt.Errorf("index: restore %s: %w", r.src, err)
	}
	r.begun = true
	return nil
}
