package index

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// restoreBatchBytes bounds what a restore keeps in memory before it writes.
const restoreBatchBytes = 4 << 20

// Restorer writes changelog records of one source into the store. Records may
// be seen more than once, newest last. One restore of a source at a time, and no
// Apply to the source until Commit. Not for use by two goroutines.
type Restorer struct {
	s       *Store
	src     *wire.Source
	id      row.SourceID
	begun   bool
	pending map[wire.ID][]byte // partials as in the changelog, not yet written
	order   []wire.ID          // of pending, by arrival
	slots   map[string][]byte  // rows beside them likewise, by key
	bytes   int
	meta    []byte // newest source meta
	next    uint64 // of meta

	// ChangelogID is the generation of the changelog topic that is read.
	ChangelogID uint64
	// Former says that the source's topic is gone. Timeline rows that the store
	// lacks cannot be rebuilt then: those below the last of them are no more.
	Former bool
}

// NewRestorer begins to restore a source.
func (s *Store) NewRestorer(src *wire.Source) *Restorer {
	return &Restorer{s: s, src: src, id: row.IDOf(src), pending: make(map[wire.ID][]byte), slots: make(map[string][]byte)}
}

// Put takes one changelog record. It copies both. A record that is not of this
// source or cannot be read is an error that names it; the restore is then over.
func (r *Restorer) Put(key, value []byte) error {
	if value == nil {
		return keyed(key, fmt.Errorf("the changelog deletes it, which format version %d does not know; run a newer program", row.Version))
	}
	if len(key) > 0 && key[0] == row.TagSource {
		return r.putMeta(key, value)
	}
	if len(key) > 0 && key[0] == row.TagReset {
		return r.putReset(key, value)
	}
	if id, err := row.DurableSource(key); err != nil {
		return err
	} else if id != r.id {
		return r.stranger(key)
	}
	if key[0] != row.TagPartial {
		return r.putSlot(key, value)
	}
	k, err := row.ParsePartial(key)
	if err != nil {
		return err
	}
	if _, err := row.DecodePartial(value); err != nil {
		return keyed(key, err)
	}
	old, seen := r.pending[k.Session]
	if !seen {
		r.order = append(r.order, k.Session)
		r.bytes += len(key)
	}
	r.pending[k.Session] = append(old[:0], value...)
	if r.bytes += len(value) - len(old); r.bytes >= restoreBatchBytes {
		return r.flush(nil)
	}
	return nil
}

// putSlot takes a row that lies beside a partial: of a state document, links, or a
// chunk of a list.
func (r *Restorer) putSlot(key, value []byte) error {
	var err error
	switch key[0] {
	case row.TagHistory:
		_, err = row.DecodeEntry(value)
	case row.TagLinks:
		_, err = row.DecodeLinks(value)
	case row.TagChunk:
		var k row.ChunkKey
		if k, err = row.ParseChunk(key); err == nil {
			err = row.CheckChunk(k, value)
		}
	default:
		_, _, err = row.DecodeSlot(value)
	}
	if err != nil {
		return keyed(key, err)
	}
	old, seen := r.slots[string(key)]
	if !seen {
		r.bytes += len(key)
	}
	r.slots[string(key)] = append(old[:0], value...)
	if r.bytes += len(value) - len(old); r.bytes >= restoreBatchBytes {
		return r.flush(nil)
	}
	return nil
}

func (r *Restorer) putMeta(key, value []byte) error {
	id, err := row.ParseSource(key)
	if err != nil {
		return err
	}
	m, err := row.DecodeSourceMeta(value)
	if err != nil {
		return keyed(key, err)
	}
	if id != r.id || m.Topic != r.src.Topic || m.Stream != r.src.Stream {
		return r.stranger(key)
	}
	r.meta, r.next = append(r.meta[:0], value...), m.Frontier.Next
	return nil
}

func (r *Restorer) stranger(key []byte) error {
	return keyed(key, fmt.Errorf("not of %s %s, whose changelog is restored", r.id, r.src))
}

// Commit ends the restore: the source's state is that of the changelog up to
// the given offset, the next to read. Offsets that the changelog folded beyond
// the store's own have no timeline rows yet: they become holes of Meta.
func (r *Restorer) Commit(changelogNext int64) error {
	before, _, err := r.s.Meta(r.src)
	if err != nil {
		return err
	}
	if r.meta != nil && r.next < before.Frontier.Next {
		return fmt.Errorf("index: restore %s: the changelog ends before offset %d, the store before %d: the changelog topic was cut or made again (%s)",
			r.src, r.next, before.Frontier.Next, rebuildHint)
	}
	return r.flush(func(w *write) error {
		l := w.local(r.id)
		l.ChangelogNext, l.ChangelogID, l.Restoring = changelogNext, r.ChangelogID, false
		if r.meta != nil {
			m, err := row.DecodeSourceMeta(r.meta)
			if err != nil {
				return err
			}
			l.Holes = holesAfter(l.Holes, before.Frontier.Next, m.Frontier)
			w.set(row.AppendSource(nil, r.id), r.meta)
			w.nexts[r.id] = m.Frontier.Next
		}
		if n := len(l.Holes); r.Former && n > 0 {
			l.Retained, l.Holes = max(l.Retained, l.Holes[n-1].To+1), nil
		}
		w.setLocal(r.id, l)
		return nil
	})
}

// holesAfter adds the offsets from next on to the frontier, but for those that
// the source did not have.
func holesAfter(holes []row.Span, next uint64, f fold.Frontier) []row.Span {
	if f.Next <= next {
		return holes
	}
	fresh := []row.Span{{From: next, To: f.Next - 1}}
	for _, g := range f.Gaps {
		fresh = row.CutHoles(fresh, row.Span{From: g.From, To: g.To})
	}
	for _, h := range fresh {
		holes = row.AddHole(holes, h)
	}
	return holes
}

// flush writes what is pending; last adds to the final write. Between the first
// and the last the source is marked as being restored.
func (r *Restorer) flush(last func(*write) error) error {
	s := r.s
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.write.Lock()
	defer s.write.Unlock()
	w := s.newWrite(r.bytes + 256)
	defer w.close()
	if err := r.writePartials(w); err != nil {
		return err
	}
	for key, value := range r.slots { // the store puts them in order
		w.set([]byte(key), value)
	}
	if last != nil {
		if err := last(w); err != nil {
			return err
		}
	} else if !r.begun {
		if err := r.begin(w); err != nil {
			return err
		}
	}
	if err := w.commit(); err != nil {
		return fmt.Errorf("index: restore %s: %w", r.src, err)
	}
	r.begun = true
	clear(r.pending)
	clear(r.slots)
	r.order, r.bytes = r.order[:0], 0
	return nil
}

// writePartials adds the pending partials in the order of their keys: one
// iterator that goes forward costs less than as many look-ups.
func (r *Restorer) writePartials(w *write) (err error) {
	if len(r.order) == 0 {
		return nil
	}
	it, err := r.s.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	slices.SortFunc(r.order, wire.ID.Compare)
	for _, id := range r.order {
		if err := r.write(w, it, id); err != nil {
			return err
		}
	}
	return nil
}

// begin marks the source. One that the store has never met gets a meta that
// stands at its beginning, so that readers know whose the partials are.
func (r *Restorer) begin(w *write) error {
	l := w.local(r.id)
	l.Restoring = true
	w.setLocal(r.id, l)
	key := row.AppendSource(nil, r.id)
	known, err := get(r.s.db, key)
	if err == nil && known == nil {
		m := row.MetaOf(r.src, fold.Frontier{})
		w.set(key, row.AppendSourceMeta(nil, &m))
		w.nexts[r.id] = 0
	}
	return err
}

// write adds a partial and the list entries that it has and the stored one has
// not: an entry once written keeps its apply sequence, which open walks rely on.
func (r *Restorer) write(w *write, it *pebble.Iterator, id wire.ID) error {
	k := row.PartialKey{Stream: r.id.Stream, Session: id, Source: r.id.Source}
	key := row.AppendPartial(nil, k)
	v, err := seekWith(it)(key)
	if err != nil {
		return keyed(key, err)
	}
	var before *fold.Partial
	if v != nil {
		if before, err = row.DecodePartial(v); err != nil {
			return keyed(key, err)
		}
	}
	now, err := row.DecodePartial(r.pending[id])
	if err != nil {
		return keyed(key, err)
	}
	w.set(key, r.pending[id])
	for _, e := range row.NewEntries(nil, k, before, now) {
		w.set(row.AppendList(nil, e), w.value)
	}
	row.ChildEntries(k, before, now, func(e row.ChildKey) {
		w.set(row.AppendChild(nil, e), row.EntryMark())
	})
	return nil
}
