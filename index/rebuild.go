package index

import (
	"fmt"

	"sessionfold/index/row"
)

// ApplyRows writes only the timeline rows of a step that was folded again, into
// a hole of its source (Meta.Holes), and closes that part of the hole. A step
// outside all holes writes nothing. One that lies partly in a hole is refused:
// batches of a rebuild are cut at the holes' bounds.
func (s *Store) ApplyRows(b *row.Batch) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.write.Lock()
	defer s.write.Unlock()
	id := row.IDOf(b.Source)
	w := s.newWrite(256)
	defer w.close()
	l := w.local(id)
	in, err := within(l.Holes, row.Span{From: b.From, To: b.To})
	if err != nil {
		return fmt.Errorf("index: rebuild %s: %w", b.Source, err)
	}
	if !in {
		return nil
	}
	for _, op := range b.Ops {
		if op.Key[0] == row.TagPack || op.Key[0] == row.TagBatch {
			w.op(op)
		}
	}
	l.Holes = row.CutHoles(l.Holes, row.Span{From: b.From, To: b.To})
	w.setLocal(id, l)
	if err := w.commit(); err != nil {
		return fmt.Errorf("index: rebuild %s: %w", b.Source, err)
	}
	return nil
}

// within says whether a span lies in one hole; touching one without lying in it
// is an error.
func within(holes []row.Span, s row.Span) (bool, error) {
	for _, h := range holes {
		switch {
		case h.From <= s.From && s.To <= h.To:
			return true, nil
		case s.From <= h.To && h.From <= s.To:
			return false, fmt.Errorf("the step of offsets %d to %d crosses the bound of the hole %d to %d", s.From, s.To, h.From, h.To)
		}
	}
	return false, nil
}
