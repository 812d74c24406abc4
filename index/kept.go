package index

import (
	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Kept is Load for a rebuild of timeline rows that has come to an offset: it
// gives partials that know of their sessions only how many rows the store keeps
// below the offset, and whether the cap was reached there. That is all that the
// rows of the records from there on hang on. Rows that were pruned are not
// counted, so a session that reached its cap may get some rows too many.
func (s *Store) Kept(src *wire.Source, ids []wire.ID, below uint64) (map[wire.ID]*fold.Partial, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	out := make(map[wire.ID]*fold.Partial)
	for _, id := range ids {
		k := row.PartialKey{Stream: src.StreamID, Session: id, Source: src.Key()}
		whole, err := getPartial(s.db, row.AppendPartial(nil, k))
		if err != nil {
			return nil, err
		}
		p := &fold.Partial{}
		if whole != nil && whole.Truncated && whole.TruncatedFrom < below {
			p.Truncated, p.TruncatedFrom = true, whole.TruncatedFrom
		}
		if err := s.countRows(k, below, p); err != nil {
			return nil, err
		}
		if p.Rows > 0 {
			p.Records = p.Rows
			p.Last = fold.Stamp{Offset: below - 1}
			out[id] = p
		}
	}
	return out, s.health.check()
}

// countRows counts the rows of a session in one source below an offset.
func (s *Store) countRows(k row.PartialKey, below uint64, p *fold.Partial) error {
	from := row.AppendPack(nil, row.PackKey{PartialKey: k})
	to := row.AppendPack(nil, row.PackKey{PartialKey: k, First: below})
	return scanRange(s.db, from, to, func(key, value []byte) (bool, error) {
		pk, err := row.ParsePack(key)
		if err != nil {
			return false, err
		}
		if p.Rows == 0 {
			p.First.Offset = pk.First
		}
		var e row.Event
		pack := row.OpenPack(pk.First, value)
		for pack.Next(&e) && e.Offset < below {
			p.Rows++
		}
		if err := pack.Err(); err != nil && e.Offset < below {
			return false, keyed(key, err)
		}
		return true, nil
	})
}
