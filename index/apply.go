package index

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/index/row"
)

// Applied is a step whose transaction is committed, with the changelog offset
// that the source's next restore reads from.
type Applied struct {
	Batch         *row.Batch
	ChangelogNext int64
	ChangelogID   uint64 // generation of the changelog topic; looked at behind a BatchCopyEnd
}

// Apply writes steps in one batch, not synced: after a crash all of them are
// there or none. A step that does not begin where its source stands is refused,
// and all with it: the source needs a restore.
func (s *Store) Apply(steps []Applied) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if len(steps) == 1 && steps[0].Batch.Kind != row.BatchStep {
		return s.applyRare(&steps[0])
	}
	s.write.Lock()
	defer s.write.Unlock()
	size := 0
	for i := range steps {
		for _, op := range steps[i].Batch.Ops {
			size += len(op.Key) + len(op.Value) + 8
		}
	}
	w := s.newWrite(size + 256)
	defer w.close()
	for i := range steps {
		a := &steps[i]
		if a.Batch.Kind != row.BatchStep {
			return fmt.Errorf("index: apply %s: a batch of kind %d among others", a.Batch.Source, a.Batch.Kind)
		}
		if err := w.advance(a.Batch); err != nil {
			return err
		}
		for _, op := range a.Batch.Ops {
			w.op(op)
		}
		id := row.IDOf(a.Batch.Source)
		l := w.local(id)
		l.ChangelogNext = a.ChangelogNext
		l.Restoring = false
		w.setLocal(id, l)
	}
	if err := w.commit(); err != nil {
		return fmt.Errorf("index: apply %d steps: %w", len(steps), err)
	}
	return nil
}

// write is one batch of the store's writer, which holds the lock of that name.
// What it changes in memory becomes so when it is committed.
type write struct {
	s      *Store
	b      *pebble.Batch
	seq    uint64
	value  []byte // of list entries: this write's apply sequence
	locals map[row.SourceID]row.Local
	nexts  map[row.SourceID]uint64
	err    error
}

func (s *Store) newWrite(size int) *write {
	seq := s.seq + 1
	return &write{
		s: s, b: s.db.NewBatchWithSize(size), seq: seq, value: row.AppendSeq(nil, seq),
		locals: make(map[row.SourceID]row.Local), nexts: make(map[row.SourceID]uint64),
	}
}

// advance moves a source's next offset over a step.
func (w *write) advance(b *row.Batch) error {
	id := row.IDOf(b.Source)
	at, known := w.nexts[id]
	if !known {
		at, known = w.s.nexts[id]
	}
	if known && b.From != at {
		return fmt.Errorf("index: apply %s: the step begins at offset %d, the store stands at %d: restore the source", b.Source, b.From, at)
	}
	w.nexts[id] = b.Frontier.Next
	return nil
}

func (w *write) op(op row.Op) {
	switch {
	case op.Key[0] == row.TagList:
		w.set(op.Key, w.value)
	case op.Value == nil:
		w.delete(op.Key)
	default:
		w.set(op.Key, op.Value)
	}
}

func (w *write) set(key, value []byte) {
	if w.err == nil {
		w.err = w.b.Set(key, value, nil)
	}
}

func (w *write) delete(key []byte) {
	if w.err == nil {
		w.err = w.b.Delete(key, nil)
	}
}

// local is a source's local state as this write will leave it.
func (w *write) local(id row.SourceID) row.Local {
	if l, ok := w.locals[id]; ok {
		return l
	}
	return w.s.locals[id]
}

// setLocal stamps (see Meta.AppliedAt) and writes a source's local state.
func (w *write) setLocal(id row.SourceID, l row.Local) {
	l.AppliedAt = uint64(max(0, w.s.opts.Now().Unix()))
	w.locals[id] = l
	w.set(row.AppendLocal(nil, id), row.AppendLocalValue(nil, &l))
}

// commit writes the batch. The store may fail while the write waits for room in
// memory; then it never ends, and this does not wait for it.
func (w *write) commit() error {
	w.set(row.KeyApplied, w.value)
	if w.err != nil {
		return w.err
	}
	h, b := w.s.health, w.b
	w.b = nil // committed or not, it is no longer ours to close
	done := make(chan error, 1)
	w.s.calls.Add(1) // the database is not closed under it
	go func() {
		defer w.s.calls.Done()
		done <- errors.Join(b.Commit(pebble.NoSync), b.Close())
	}()
	select {
	case err := <-done:
		// A failed commit is reported through the logger only.
		if err = errors.Join(h.check(), err); err != nil {
			return err
		}
	case <-h.failed:
		return h.err
	}
	w.s.seq = w.seq
	for id, l := range w.locals {
		w.s.locals[id] = l
	}
	for id, next := range w.nexts {
		w.s.nexts[id] = next
	}
	return nil
}

// close gives an uncommitted batch back.
func (w *write) close() {
	if w.b != nil {
		_ = w.b.Close() // nothing was written
	}
}
