package index

import (
	"fmt"

	"sessionfold/fold"
	"sessionfold/index/row"
)

// state: the document of a partial can be put together, with the digest of its
// last outcome, and the kept outcomes ascend.
func (c *checker) state(key []byte, k row.PartialKey, p *fold.Partial, m *Meta) error {
	if p.State == nil || m.Restoring {
		return nil
	}
	c.Documents++
	s := p.State
	if s.First.Offset < p.First.Offset || s.First.Offset > p.Last.Offset || s.Outcomes() == 0 || s.Outcomes() > p.Records || s.Revision > 0 && !s.Known {
		c.problem(key, "state records from offset %d on, %d outcomes, revision %d do not fit", s.First.Offset, s.Outcomes(), s.Revision)
		return nil
	}
	if _, err := readState(c.r.snap, k, s.Info); err != nil {
		c.problem(key, "%v", err)
		return nil
	}
	history, err := readHistory(c.r.snap, k, s.Outcomes(), int(min(s.Outcomes(), 1_000)))
	if err != nil {
		return err
	}
	for i := range history {
		e := &history[i]
		if e.Offset < s.First.Offset || e.Offset > p.Last.Offset || i > 0 && (e.Offset <= history[i-1].Offset || e.Time < history[i-1].Time || e.Old != history[i-1].New) {
			c.problem(key, "outcome %d at offset %d does not follow the one before", e.Number, e.Offset)
		}
	}
	if last := &history[len(history)-1]; last.Revision != s.Revision {
		c.problem(key, "revision %d, of the last outcome %d", s.Revision, last.Revision)
	}
	return nil
}

// states: what a source folded of documents has a partial with state.
func (c *checker) states() error {
	for _, tag := range []byte{row.TagBase, row.TagLog, row.TagHistory} {
		var last row.PartialKey
		known, first := false, true
		err := c.each(tag, func(key, value []byte) error {
			var k row.PartialKey
			var err error
			if tag == row.TagHistory {
				if k, _, err = row.ParseHistory(key); err == nil {
					_, err = row.DecodeEntry(value)
				}
			} else {
				var slot row.SlotKey
				if slot, err = row.ParseSlot(key); err == nil {
					_, _, err = row.DecodeSlot(value)
				}
				k = slot.PartialKey
			}
			if err != nil {
				c.problem(key, "%v", err)
				return nil
			}
			if first || k != last {
				p, err := getPartial(c.r.snap, row.AppendPartial(nil, k))
				if err != nil {
					return fmt.Errorf("index: check the state of %s: %w", k, err)
				}
				last, known, first = k, p != nil && p.State != nil, false
			}
			if !known {
				c.problem(key, "a state document of a session without state")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
