package index

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Reader reads one committed state of the store: whatever it answers belongs
// together. Close it soon; the store's Close waits for it. Not for use by two
// goroutines.
type Reader struct {
	s        *Store
	snap     pebble.Reader // a snapshot, or what a union gathered
	seq      uint64        // apply sequence of the snapshot
	identity row.Identity
	streams  map[uint32]*streamSources
}

// streamSources are the sources of one stream.
type streamSources struct {
	list []Meta // ascending by topic, partition, generation
	by   map[wire.SourceKey]*Meta
}

// Reader opens a reader of the present state.
func (s *Store) Reader() (*Reader, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	r := &Reader{s: s, snap: s.db.NewSnapshot(), streams: make(map[uint32]*streamSources)}
	r.identity = s.walkIdentity() // after the snapshot, see newWalks
	v, err := get(r.snap, row.KeyApplied)
	if err == nil && v != nil {
		r.seq, err = row.DecodeSeq(v)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close lets the state go.
func (r *Reader) Close() error {
	if r.snap == nil {
		return nil
	}
	err := r.snap.Close()
	r.snap = nil
	r.s.leave()
	return err
}

// Sources gives what the store knows of the sources of a stream, ascending by
// topic, partition and generation; none means that the stream is unknown.
func (r *Reader) Sources(stream string) ([]Meta, error) {
	ss, err := r.sources(wire.NameID(stream))
	if err != nil {
		return nil, err
	}
	for i := range ss.list {
		if got := ss.list[i].Source.Stream; got != stream {
			return nil, fmt.Errorf("index: stream %q has the same number as %q, which is stored; rename one of them", stream, got)
		}
	}
	return slices.Clone(ss.list), nil
}

// Sources gives what the store knows now of the sources of a stream.
func (s *Store) Sources(stream string) ([]Meta, error) {
	r, err := s.Reader()
	if err != nil {
		return nil, err
	}
	list, err := r.Sources(stream)
	return list, errors.Join(err, r.Close())
}

// States gives the sources' states as views and gaps want them.
func (r *Reader) States(stream string) (map[wire.SourceKey]fold.SourceState, error) {
	ss, err := r.sources(wire.NameID(stream))
	if err != nil {
		return nil, err
	}
	out := make(map[wire.SourceKey]fold.SourceState, len(ss.list))
	for i := range ss.list {
		out[ss.list[i].Source.Key()] = ss.list[i].State()
	}
	return out, nil
}

func (r *Reader) sources(stream uint32) (*streamSources, error) {
	if err := r.s.health.check(); err != nil {
		return nil, err
	}
	if ss := r.streams[stream]; ss != nil {
		return ss, nil
	}
	ss := &streamSources{by: make(map[wire.SourceKey]*Meta)}
	err := scan(r.snap, row.AppendStream(nil, row.TagSource, stream), func(key, value []byte) error {
		id, err := row.ParseSource(key)
		if err != nil {
			return err
		}
		m, err := r.meta(id, value)
		if err != nil {
			return keyed(key, err)
		}
		ss.list = append(ss.list, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ss.list, func(a, b Meta) int {
		x, y := a.Source, b.Source
		return cmp.Or(cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Partition, y.Partition), cmp.Compare(x.Generation, y.Generation))
	})
	for i := range ss.list {
		ss.by[ss.list[i].Source.Key()] = &ss.list[i]
	}
	r.streams[stream] = ss
	return ss, nil
}

// meta joins a source's durable and local state.
func (r *Reader) meta(id row.SourceID, value []byte) (Meta, error) {
	d, err := row.DecodeSourceMeta(value)
	if err != nil {
		return Meta{}, err
	}
	src, err := d.SourceAt(id)
	if err != nil {
		return Meta{}, err
	}
	m := Meta{Source: src, Frontier: d.Frontier}
	if m.RefoldTo, err = readReset(r.snap, id); err != nil {
		return m, err
	}
	v, err := get(r.snap, row.AppendLocal(nil, id))
	if err != nil || v == nil {
		return m, err
	}
	l, err := row.DecodeLocal(v)
	m.setLocal(l)
	return m, err
}

// Session gives every source's partial of a session, ascending by source key;
// none means that the session is unknown.
func (r *Reader) Session(stream string, id wire.ID) ([]fold.Keyed, error) {
	return r.session(wire.NameID(stream), id)
}

func (r *Reader) session(stream uint32, id wire.ID) ([]fold.Keyed, error) {
	ss, err := r.sources(stream)
	if err != nil {
		return nil, err
	}
	var out []fold.Keyed
	err = scan(r.snap, row.AppendSession(nil, row.TagPartial, stream, id), func(key, value []byte) error {
		k, err := ss.keyed(key, value)
		if err == nil {
			out = append(out, k)
		}
		return err
	})
	return out, err
}

// keyed reads one partial with its source.
func (ss *streamSources) keyed(key, value []byte) (fold.Keyed, error) {
	k, err := row.ParsePartial(key)
	if err != nil {
		return fold.Keyed{}, err
	}
	m := ss.by[k.Source]
	if m == nil {
		return fold.Keyed{}, keyed(key, fmt.Errorf("its source has no meta"))
	}
	p, err := row.DecodePartial(value)
	if err != nil {
		return fold.Keyed{}, keyed(key, err)
	}
	return fold.Keyed{Source: m.Source, Partial: p, Next: m.Frontier.Next}, nil
}
