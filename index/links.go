package index

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// loadLinks fills in the links of a partial, which lie in a row of their own.
// seek gives the value of a key, nil when it is not there.
func loadLinks(k row.PartialKey, p *fold.Partial, seek func(key []byte) ([]byte, error)) error {
	if p.Links == nil {
		return nil
	}
	key := row.AppendLinks(nil, k)
	v, err := seek(key)
	if err != nil {
		return err
	}
	if v == nil {
		return keyed(key, fmt.Errorf("missing; the partial has %d links (%s)", p.Links.N, rebuildHint))
	}
	list, err := row.DecodeLinks(v)
	if err == nil && uint64(len(list)) != p.Links.N {
		err = fmt.Errorf("%d links, the partial has %d (%s)", len(list), p.Links.N, rebuildHint)
	}
	if err != nil {
		return keyed(key, err)
	}
	p.Links.List = list
	return nil
}

// seekWith looks keys up with an iterator that is at hand.
func seekWith(it *pebble.Iterator) func([]byte) ([]byte, error) {
	return func(key []byte) ([]byte, error) {
		if !it.SeekPrefixGE(key) {
			return nil, it.Error()
		}
		return it.ValueAndErr()
	}
}

// Links fills in the links of a session's partials, as Session gave them.
func (r *Reader) Links(id wire.ID, ks []fold.Keyed) error {
	for i := range ks {
		k := &ks[i]
		err := loadLinks(partialKey(id, k), k.Partial, func(key []byte) ([]byte, error) { return get(r.snap, key) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Children calls f with every session of the stream that names parent as its
// parent, ascending by id, once per source that holds such records. f returns
// false to stop.
func (r *Reader) Children(stream string, parent wire.ID, f func(fold.Child) bool) error {
	id := wire.NameID(stream)
	ss, err := r.sources(id)
	if err != nil {
		return err
	}
	prefix := row.AppendSession(nil, row.TagChild, id, parent)
	return scanRange(r.snap, prefix, row.PrefixEnd(prefix), func(key, _ []byte) (bool, error) {
		c, err := row.ParseChild(key)
		if err != nil {
			return false, err
		}
		pk := row.AppendPartial(nil, row.PartialKey{Stream: id, Session: c.Child, Source: c.Source})
		v, err := get(r.snap, pk)
		if err != nil {
			return false, err
		}
		if v == nil {
			return false, keyed(key, errors.New("no partial to follow from"))
		}
		k, err := ss.keyed(pk, v)
		if err != nil {
			return false, err
		}
		child, ok := k.ChildOf(parent, c.Child)
		if !ok {
			return false, keyed(key, errors.New("its partial does not name the parent"))
		}
		return f(child), nil
	})
}

// ChildIDs gives the ids of the sessions that name parent as their parent,
// ascending, each once, at most limit; more says that there are further ones.
// It reads entries only, no partials.
func (r *Reader) ChildIDs(stream string, parent wire.ID, limit int) (ids []wire.ID, more bool, err error) {
	if err := r.s.health.check(); err != nil {
		return nil, false, err
	}
	prefix := row.AppendSession(nil, row.TagChild, wire.NameID(stream), parent)
	err = scanRange(r.snap, prefix, row.PrefixEnd(prefix), func(key, _ []byte) (bool, error) {
		c, err := row.ParseChild(key)
		if err != nil {
			return false, err
		}
		if n := len(ids); n > 0 && ids[n-1] == c.Child {
			return true, nil
		}
		if more = len(ids) == limit; !more {
			ids = append(ids, c.Child)
		}
		return !more, nil
	})
	return ids, more, err
}
