package index

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// LoadState gives the state document of a session in one source, with the
// stored partial's Info; nil when the stored session has no state.
func (s *Store) LoadState(src *wire.Source, id wire.ID) (*state.State, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	snap := s.db.NewSnapshot() // an apply may come between the rows
	k := row.PartialKey{Stream: src.StreamID, Session: id, Source: src.Key()}
	st, err := loadState(snap, k)
	return st, errors.Join(err, snap.Close(), s.health.check())
}

func loadState(r pebble.Reader, k row.PartialKey) (*state.State, error) {
	p, err := getPartial(r, row.AppendPartial(nil, k))
	if err != nil || p == nil || p.State == nil {
		return nil, err
	}
	return readState(r, k, p.State.Info)
}

// State gives the state document of a session in one of its sources, as
// fold.Session.State names it.
func (r *Reader) State(id wire.ID, k *fold.Keyed) (*state.State, error) {
	return readState(r.snap, partialKey(id, k), k.Partial.State.Info)
}

// History gives the last outcomes of a session's state records in one of its
// sources, oldest first, at most limit.
func (r *Reader) History(id wire.ID, k *fold.Keyed, limit int) ([]state.Entry, error) {
	return readHistory(r.snap, partialKey(id, k), k.Partial.State.Outcomes(), limit)
}

func partialKey(id wire.ID, k *fold.Keyed) row.PartialKey {
	return row.PartialKey{Stream: k.Source.StreamID, Session: id, Source: k.Source.Key()}
}

// readState puts a document together from its rows.
func readState(r pebble.Reader, k row.PartialKey, info state.Info) (*state.State, error) {
	var base, log string
	var err error
	if info.Base > 0 {
		pieces := (info.BaseSize + state.SlotBytes - 1) / state.SlotBytes
		if base, err = readSlots(r, row.TagBase, k, info.Base, pieces); err != nil {
			return nil, err
		}
	}
	if log, err = readSlots(r, row.TagLog, k, info.Base, info.Slots); err != nil {
		return nil, err
	}
	history, err := readHistory(r, k, info.Outcomes(), state.HistoryLen)
	if err != nil {
		return nil, err
	}
	s, err := state.Restore(info, base, log, history)
	if err != nil {
		return nil, keyed(row.AppendPartial(nil, k), fmt.Errorf("%w (%s)", err, rebuildHint))
	}
	return s, nil
}

// readSlots joins the first n slots of a base or log. Further ones are left over
// from an earlier base.
func readSlots(r pebble.Reader, tag byte, k row.PartialKey, base, n uint64) (string, error) {
	if n == 0 {
		return "", nil
	}
	key := row.AppendBase
	if tag == row.TagLog {
		key = row.AppendLog
	}
	var out strings.Builder
	next := uint32(0)
	err := scanRange(r, key(nil, row.SlotKey{PartialKey: k}), key(nil, row.SlotKey{PartialKey: k, Slot: uint32(n)}), func(key, value []byte) (bool, error) {
		slot, err := row.ParseSlot(key)
		if err != nil {
			return false, err
		}
		of, content, err := row.DecodeSlot(value)
		if err == nil && (slot.Slot != next || of != base) {
			err = fmt.Errorf("it is of base %d where slot %d of base %d belongs (%s)", of, next, base, rebuildHint)
		}
		if err != nil {
			return false, keyed(key, err)
		}
		next++
		out.Write(content)
		return true, nil
	})
	if err == nil && uint64(next) != n {
		err = keyed(key(nil, row.SlotKey{PartialKey: k, Slot: next}), fmt.Errorf("it is missing (%s)", rebuildHint))
	}
	return out.String(), err
}

// readHistory gives the last outcomes before the next number.
func readHistory(r pebble.Reader, k row.PartialKey, next uint64, limit int) ([]state.Entry, error) {
	n := min(next, uint64(limit), state.HistoryLen)
	out := make([]state.Entry, 0, n)
	if n == 0 {
		return out, nil
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: row.AppendHistory(nil, k, 0), UpperBound: append(row.AppendHistory(nil, k, state.HistoryLen-1), 0)})
	if err != nil {
		return nil, err
	}
	for number := next - n; number < next && err == nil; number++ {
		key := row.AppendHistory(nil, k, number)
		// Slots lie in the order of their numbers but for one turn.
		if (number == next-n || number%state.HistoryLen == 0) && !it.SeekGE(key) || string(it.Key()) != string(key) {
			err = errors.Join(keyed(key, fmt.Errorf("it is missing (%s)", rebuildHint)), it.Error())
			break
		}
		var v []byte
		if v, err = it.ValueAndErr(); err != nil {
			break
		}
		e, why := row.DecodeEntry(v)
		if why == nil && e.Number != number {
			why = fmt.Errorf("it is outcome %d where %d belongs (%s)", e.Number, number, rebuildHint)
		}
		if why != nil {
			err = keyed(key, why)
			break
		}
		out = append(out, e)
		if number+1 < next && (number+1)%state.HistoryLen != 0 && !it.Next() {
			err = errors.Join(keyed(row.AppendHistory(nil, k, number+1), fmt.Errorf("it is missing (%s)", rebuildHint)), it.Error())
		}
	}
	if err = errors.Join(err, it.Close()); err != nil {
		return nil, err
	}
	return out, nil
}
