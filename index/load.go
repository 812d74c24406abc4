package index

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Load gives the stored partials of the source's sessions, whole; an
// id that is absent from the result was never seen.
func (s *Store) Load(src *wire.Source, ids []wire.ID) (map[wire.ID]*fold.Partial, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	out, err := s.load(src, ids)
	if err = errors.Join(err, s.health.check()); err != nil {
		return nil, err
	}
	return out, nil
}

// load goes through the keys in their order with one iterator, which costs less
// than as many look-ups; bloom filters answer for those that are not there.
func (s *Store) load(src *wire.Source, ids []wire.ID) (map[wire.ID]*fold.Partial, error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, wire.ID.Compare)
	out := make(map[wire.ID]*fold.Partial)
	k := row.PartialKey{Stream: src.StreamID, Source: src.Key()}
	var key []byte
	for _, id := range sorted {
		k.Session = id
		key = row.AppendPartial(key[:0], k)
		if !it.SeekPrefixGE(key) { // a key is its own prefix
			continue
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, errors.Join(keyed(key, err), it.Close())
		}
		if out[id], err = row.DecodePartial(v); err != nil {
			return nil, errors.Join(keyed(key, err), it.Close())
		}
		if err := errors.Join(loadLinks(k, out[id], seekWith(it)), loadChunks(k, out[id], seekWith(it))); err != nil {
			return nil, errors.Join(err, it.Close())
		}
	}
	return out, errors.Join(it.Error(), it.Close())
}

// getPartial is nil when there is none.
func getPartial(r pebble.Reader, key []byte) (*fold.Partial, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, keyed(key, err)
	}
	p, err := row.DecodePartial(v)
	if err = errors.Join(err, closer.Close()); err != nil {
		return nil, keyed(key, err)
	}
	return p, nil
}

// Meta is what the store knows of one source.
type Meta struct {
	Source        *wire.Source
	Frontier      fold.Frontier
	ChangelogNext int64      // next offset of the changelog partition to read
	ChangelogID   uint64     // generation of the changelog topic that this is of; 0 not known
	Retained      uint64     // first offset the source retains, as SetRetained said; 0 not known
	AppliedAt     time.Time  // when the source's owner last wrote, to the second: a state older than the changelog keeps tombstones is stale
	Restoring     bool       // a restore was begun and not ended
	Removing      bool       // a removal was begun and not ended: call RemoveSource before anything else
	RefoldTo      uint64     // the source was begun anew when it was folded to here; 0 when it never was
	Holes         []row.Span // folded offsets whose timeline rows are to be rebuilt
}

// State is what reads need to know of the source.
func (m *Meta) State() fold.SourceState {
	st := fold.SourceState{Gaps: m.Frontier.Gaps, Rebuilding: m.Restoring || m.Removing || len(m.Holes) > 0}
	if m.RefoldTo > m.Frontier.Next {
		st.RefoldTo = m.RefoldTo
	}
	if m.Retained > 0 {
		st.RetainedFrom = &m.Retained
	}
	if len(m.Holes) > 0 {
		st.RebuildFrom = m.Holes[0].From
	}
	return st
}

// Meta gives a source's state; false when the store never heard of the source.
func (s *Store) Meta(src *wire.Source) (Meta, bool, error) {
	if err := s.enter(); err != nil {
		return Meta{}, false, err
	}
	defer s.leave()
	id := row.IDOf(src)
	m := Meta{Source: src}
	key := row.AppendSource(nil, id)
	v, err := get(s.db, key)
	if err != nil {
		return Meta{}, false, err
	}
	if v != nil {
		d, err := row.DecodeSourceMeta(v)
		if err == nil && (d.Stream != src.Stream || d.Topic != src.Topic) {
			err = fmt.Errorf("it is of topic %q in stream %q, which has the same number; rename one of them", d.Topic, d.Stream)
		}
		if err != nil {
			return Meta{}, false, keyed(key, err)
		}
		m.Frontier = d.Frontier
	}
	s.write.Lock()
	l, known := s.locals[id]
	s.write.Unlock()
	m.setLocal(l)
	if m.RefoldTo, err = readReset(s.db, id); err != nil {
		return Meta{}, false, err
	}
	return m, known || v != nil, nil
}

// readReset gives how far a source had been folded when it was begun anew.
func readReset(r pebble.Reader, id row.SourceID) (uint64, error) {
	key := row.AppendReset(nil, id)
	v, err := get(r, key)
	if err != nil || v == nil {
		return 0, err
	}
	d, err := row.DecodeReset(v)
	if err != nil {
		return 0, keyed(key, err)
	}
	return d.Until, nil
}

func (m *Meta) setLocal(l row.Local) {
	m.ChangelogNext, m.ChangelogID, m.Retained, m.Restoring, m.Removing, m.Holes = l.ChangelogNext, l.ChangelogID, l.Retained, l.Restoring, l.Removing, l.Holes
	if l.AppliedAt > 0 {
		m.AppliedAt = time.Unix(int64(l.AppliedAt), 0)
	}
}
