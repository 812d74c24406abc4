package index

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/index/row"
	"sessionfold/wire"
)

// Bounds of one write of a removal: what it looks at while it holds the writer,
// and what it removes.
const (
	removeLooks = 20_000
	removeKeys  = 4_000
	// rangeKeys is from how many keys in a row one range tombstone is cheaper
	// than their own: many small ranges slow every read down.
	rangeKeys = 100
)

// RemoveSource removes everything that the store knows of a source. The source
// is marked first, so that a removal that was cut off is seen (Meta.Removing)
// and done again. No restore of the source and no Apply to it may go on.
func (s *Store) RemoveSource(ctx context.Context, src *wire.Source) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.remove(ctx, row.IDOf(src), nil); err != nil {
		return fmt.Errorf("index: remove %s: %w", src, err)
	}
	return nil
}

// remove empties a source. The last write, which also takes its metas, is what
// last adds to; nil: the store then knows nothing of it.
func (s *Store) remove(ctx context.Context, id row.SourceID, last func(*write)) error {
	if err := s.beginRemoval(id); err != nil {
		return err
	}
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if _, more, err = s.pruneSome(id, func() uint64 { return math.MaxUint64 }); err != nil {
			return err
		}
	}
	for _, tag := range durableTags {
		end := row.PrefixEnd(row.AppendStream(nil, tag, id.Stream))
		for from := row.AppendStream(nil, tag, id.Stream); from != nil; {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if from, err = s.removeSome(id, from, end); err != nil {
				return err
			}
		}
	}
	return s.endRemoval(id, last)
}

// beginRemoval marks the source. Walks that are open would miss sessions that
// come back, so their cursors are no longer taken.
func (s *Store) beginRemoval(id row.SourceID) error {
	s.write.Lock()
	defer s.write.Unlock()
	w := s.newWrite(256)
	defer w.close()
	l := w.local(id)
	l.Removing, l.ChangelogNext, l.ChangelogID, l.Holes = true, 0, 0, nil
	w.setLocal(id, l)
	w.set(row.KeyIdentity, row.AppendIdentity(nil, s.newWalks()))
	return w.commit()
}

// newWalks gives the store another walk id. It is in place before anything is
// removed, and readers look at it after they took their snapshot.
func (s *Store) newWalks() row.Identity {
	s.life.Lock()
	defer s.life.Unlock()
	rand.Read(s.identity.WalkID[:])
	return s.identity
}

func (s *Store) walkIdentity() row.Identity {
	s.life.Lock()
	defer s.life.Unlock()
	return s.identity
}

func (s *Store) endRemoval(id row.SourceID, last func(*write)) error {
	s.write.Lock()
	defer s.write.Unlock()
	w := s.newWrite(256)
	defer w.close()
	w.delete(row.AppendSource(nil, id))
	w.delete(row.AppendReset(nil, id))
	w.delete(row.AppendLocal(nil, id))
	if last != nil {
		last(w)
	}
	if err := w.commit(); err != nil {
		return err
	}
	if _, kept := w.locals[id]; !kept {
		delete(s.locals, id)
	}
	if _, kept := w.nexts[id]; !kept {
		delete(s.nexts, id)
	}
	return nil
}

// removeSome removes the source's rows of one tag from a key on, a bounded
// number, and gives the key to go on at; nil at the end. A partial goes with its
// list and child entries, so that they agree after every write.
func (s *Store) removeSome(id row.SourceID, from, end []byte) (next []byte, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	w := s.newWrite(removeKeys * 64)
	defer w.close()
	run := keyRun{w: w}
	looked, removed := 0, 0
	err = scanRange(s.db, from, end, func(key, value []byte) (bool, error) {
		if looked == removeLooks || removed >= removeKeys {
			next = append([]byte(nil), key...)
			return false, nil
		}
		looked++
		of, err := row.DurableSource(key)
		if err != nil {
			return false, err
		}
		if of != id {
			run.end()
			return true, nil
		}
		removed++
		if key[0] != row.TagPartial {
			run.add(key)
			return true, nil
		}
		w.delete(key)
		n, err := removeEntries(w, key, value)
		removed += n
		return true, err
	})
	if err != nil {
		return nil, err
	}
	run.end()
	if removed == 0 {
		return next, nil
	}
	return next, w.commit()
}

// removeEntries removes what follows from a partial.
func removeEntries(w *write, key, value []byte) (n int, err error) {
	k, err := row.ParsePartial(key)
	if err != nil {
		return 0, err
	}
	p, err := row.DecodePartial(value)
	if err != nil {
		return 0, keyed(key, err)
	}
	for _, e := range row.AppendEntries(nil, k, p) {
		w.delete(row.AppendList(nil, e))
		n++
	}
	row.ChildEntries(k, nil, p, func(e row.ChildKey) {
		w.delete(row.AppendChild(nil, e))
		n++
	})
	return n, nil
}

// keyRun gathers keys that follow each other in the store.
type keyRun struct {
	w    *write
	keys [][]byte
}

func (r *keyRun) add(key []byte) { r.keys = append(r.keys, append([]byte(nil), key...)) }

func (r *keyRun) end() {
	if n := len(r.keys); n >= rangeKeys {
		r.w.deleteRange(r.keys[0], append(r.keys[n-1], 0))
	} else {
		for _, k := range r.keys {
			r.w.delete(k)
		}
	}
	r.keys = r.keys[:0]
}

func (w *write) deleteRange(from, to []byte) {
	if w.err == nil {
		w.err = w.b.DeleteRange(from, to, pebble.NoSync)
	}
}
