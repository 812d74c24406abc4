package index

import (
	"errors"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Parts says what of a session is shared beside its partials.
type Parts uint16

// The parts.
const (
	PartLinks       Parts = 1 << iota // links that records name
	PartChunks                        // the lists that lie in chunks
	PartState                         // documents and their outcomes
	PartChildren                      // child entries
	PartChildSource                   // the partials that child entries follow from
	PartEntries                       // list entries
)

// Share is what one worker asks another for: rows of sessions, of the sources
// that the other one owns.
type Share struct {
	Sources  map[wire.SourceKey]bool // whose rows; others are left over from former ownership
	Parts    Parts
	Children int    // child entries of a session: of at most so many children
	Seq      uint64 // list entries that were there at this apply sequence
}

// Seq is the apply sequence of the reader's state.
func (r *Reader) Seq() uint64 { return r.seq }

// Identity names the store for walks of its list: it changes when what a walk
// has seen may have gone.
func (r *Reader) Identity() row.Identity { return r.identity }

// Metas calls put with the rows of the sources themselves. Key and value are
// valid during the call, here and below.
func (r *Reader) Metas(stream string, of map[wire.SourceKey]bool, put func(key, value []byte) error) error {
	if _, err := r.Sources(stream); err != nil { // refuses another stream of the same number
		return err
	}
	for _, tag := range dumpedSources {
		err := scan(r.snap, row.AppendStream(nil, tag, wire.NameID(stream)), func(key, value []byte) error {
			id, err := row.ParseSource(key)
			if err != nil || !of[id.Source] {
				return err
			}
			return put(key, value)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Share calls put with the rows of a session.
func (r *Reader) Share(stream string, id wire.ID, o *Share, put func(key, value []byte) error) error {
	s := sharer{r: r, stream: wire.NameID(stream), o: o, put: put}
	ks, err := r.shared(stream, id, o)
	if err != nil {
		return err
	}
	for i := range ks {
		if err := s.partial(partialKey(id, &ks[i]), ks[i].Partial); err != nil {
			return err
		}
	}
	if o.Parts&PartChildren != 0 {
		return s.children(id)
	}
	return nil
}

// shared are the partials of a session in the sources asked for.
func (r *Reader) shared(stream string, id wire.ID, o *Share) ([]fold.Keyed, error) {
	all, err := r.Session(stream, id)
	ks := all[:0]
	for i := range all {
		if o.Sources[all[i].Source.Key()] {
			ks = append(ks, all[i])
		}
	}
	return ks, err
}

type sharer struct {
	r      *Reader
	stream uint32
	o      *Share
	put    func(key, value []byte) error
}

// row gives one row, which must be there.
func (s *sharer) row(key []byte) error {
	v, err := get(s.r.snap, key)
	if err == nil && v == nil {
		err = keyed(key, errors.New("it is missing ("+rebuildHint+")"))
	}
	if err != nil {
		return err
	}
	return s.put(key, v)
}

func (s *sharer) partial(k row.PartialKey, p *fold.Partial) error {
	err := s.row(row.AppendPartial(nil, k))
	if err == nil && s.o.Parts&PartLinks != 0 && p.Links != nil {
		err = s.row(row.AppendLinks(nil, k))
	}
	if err == nil && s.o.Parts&PartChunks != 0 && p.Native != nil {
		err = row.Chunks(k, p, func(c row.ChunkKey) error { return s.row(row.AppendChunk(nil, c)) })
	}
	if err == nil && s.o.Parts&PartState != 0 && p.State != nil {
		err = s.tags(k, row.TagBase, row.TagLog, row.TagHistory)
	}
	if err == nil && s.o.Parts&PartEntries != 0 {
		err = s.entries(k, p)
	}
	return err
}

// tags gives all rows of a session in one source.
func (s *sharer) tags(k row.PartialKey, tags ...byte) error {
	for _, tag := range tags {
		prefix := append(row.AppendSession(nil, tag, k.Stream, k.Session), k.Source[:]...)
		if err := scan(s.r.snap, prefix, s.put); err != nil {
			return err
		}
	}
	return nil
}

// entries gives the list entries that were there when the walk began.
func (s *sharer) entries(k row.PartialKey, p *fold.Partial) error {
	for _, e := range row.AppendEntries(nil, k, p) {
		key := row.AppendList(nil, e)
		v, err := get(s.r.snap, key)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		if seq, err := row.DecodeSeq(v); err != nil {
			return keyed(key, err)
		} else if seq > s.o.Seq {
			continue
		}
		if err := s.put(key, thereSince); err != nil {
			return err
		}
	}
	return nil
}

// thereSince is the value of a shared list entry: apply sequences of different
// stores say nothing to each other, so only what was there is shared.
var thereSince = row.AppendSeq(nil, 0)

// children gives the child entries of the first children, ascending by id.
func (s *sharer) children(parent wire.ID) error {
	prefix := row.AppendSession(nil, row.TagChild, s.stream, parent)
	n := 0
	var last wire.ID
	return scanRange(s.r.snap, prefix, row.PrefixEnd(prefix), func(key, value []byte) (bool, error) {
		c, err := row.ParseChild(key)
		if err != nil || !s.o.Sources[c.Source] {
			return true, err
		}
		if n == 0 || c.Child != last {
			if n == s.o.Children {
				return false, nil
			}
			n, last = n+1, c.Child
		}
		if err := s.put(key, value); err != nil {
			return false, err
		}
		if s.o.Parts&PartChildSource == 0 {
			return true, nil
		}
		return true, s.row(row.AppendPartial(nil, row.PartialKey{Stream: s.stream, Session: c.Child, Source: c.Source}))
	})
}

// ShareEvents calls put with packed timeline rows of a session: per source
// enough for limit rows of a reading within bounds, and one more. Where a row is
// of a state record, the kept outcomes come too.
func (r *Reader) ShareEvents(stream string, id wire.ID, o *Share, rd *Reading, bounds Bounds, limit int, put func(key, value []byte) error) error {
	s := sharer{r: r, stream: wire.NameID(stream), o: o, put: put}
	ks, err := r.shared(stream, id, o)
	if err != nil {
		return err
	}
	for i := range ks {
		if err := s.lane(id, &ks[i], rd, min(ks[i].Next, bounds[ks[i].Source.Key()]), limit); err != nil {
			return err
		}
	}
	return nil
}

func (s *sharer) lane(id wire.ID, k *fold.Keyed, rd *Reading, bound uint64, limit int) (err error) {
	l, err := s.r.lane(id, k, rd, bound)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	var pack *row.Pack
	stateful := false
	for n := 0; n <= limit && l.next(); {
		if pack != l.pack {
			pack = l.pack
			v, err := l.it.ValueAndErr()
			if err == nil {
				err = s.put(l.it.Key(), v)
			}
			if err != nil {
				return err
			}
		}
		stateful = stateful || l.event.Operation == wire.OpStateDelta || l.event.Operation == wire.OpStateSnapshot
		if shown, _ := rd.shows(&l.event); shown {
			n++
		}
	}
	if l.err == nil && stateful && k.Partial.State != nil {
		return s.tags(partialKey(id, k), row.TagHistory)
	}
	return l.err
}

// ShareList calls put with the list entries behind a position, the first n
// positions of them, as they were at the apply sequence of o; a position that
// has not begun is the beginning. It gives the last position; more says that
// there are further ones.
func (r *Reader) ShareList(stream string, from Cursor, o *Share, n int, put func(key, value []byte) error) (last Cursor, more bool, err error) {
	id := wire.NameID(stream)
	prefix := row.AppendStream(nil, row.TagList, id)
	lower := prefix
	if from.Begun {
		lower = afterPosition(id, from.Time, from.Session)
	}
	last = from
	err = scanRange(r.snap, lower, row.PrefixEnd(prefix), func(key, value []byte) (bool, error) {
		k, err := row.ParseList(key)
		if err != nil || !o.Sources[k.Source] {
			return true, err
		}
		seq, err := row.DecodeSeq(value)
		if err != nil {
			return false, keyed(key, err)
		}
		if seq > o.Seq {
			return true, nil
		}
		if !last.Begun || k.Time != last.Time || k.Session != last.Session {
			if more = n == 0; more {
				return false, nil
			}
			n--
			last.Begun, last.Time, last.Session = true, k.Time, k.Session
		}
		return true, put(key, thereSince)
	})
	return last, more, err
}
