package index

import (
	"errors"
	"fmt"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// loadChunks fills in the lists of a partial that lie in chunks. seek gives the
// value of a key, nil when it is not there.
func loadChunks(k row.PartialKey, p *fold.Partial, seek func(key []byte) ([]byte, error)) error {
	if p.Native == nil {
		return nil
	}
	return row.Chunks(k, p, func(c row.ChunkKey) error {
		key := row.AppendChunk(nil, c)
		v, err := seek(key)
		if err != nil {
			return err
		}
		if v == nil {
			return keyed(key, fmt.Errorf("missing; the partial has entries in it (%s)", rebuildHint))
		}
		if err := row.ReadChunk(p, c, v); err != nil {
			return keyed(key, err)
		}
		return nil
	})
}

// Lists fills in the lists of a session's partials that lie in chunks, as
// Session gave them.
func (r *Reader) Lists(id wire.ID, ks []fold.Keyed) error {
	for i := range ks {
		k := &ks[i]
		err := loadChunks(partialKey(id, k), k.Partial, func(key []byte) ([]byte, error) { return get(r.snap, key) })
		if err != nil {
			return err
		}
	}
	return nil
}

// chunked: the chunks of a partial are there and readable.
func (c *checker) chunked(key []byte, k row.PartialKey, p *fold.Partial, m *Meta) error {
	if m.Restoring {
		return nil
	}
	if err := loadChunks(k, p, func(key []byte) ([]byte, error) { return get(c.r.snap, key) }); err != nil {
		c.problem(key, "%v", err)
	}
	return nil
}

// chunks: every chunk has the form of its list and is one of a partial's.
func (c *checker) chunks() error {
	return c.each(row.TagChunk, func(key, value []byte) error {
		k, err := row.ParseChunk(key)
		if err == nil {
			err = row.CheckChunk(k, value)
		}
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		if m := c.metas[row.SourceID{Stream: k.Stream, Source: k.Source}]; m != nil && m.Restoring {
			return nil // the partial may come later
		}
		p, err := getPartial(c.r.snap, row.AppendPartial(nil, k.PartialKey))
		if err != nil || p == nil {
			c.problem(key, "no partial to follow from (%v)", err)
			return nil
		}
		found := errors.New("found")
		if row.Chunks(k.PartialKey, p, func(have row.ChunkKey) error {
			if have == k {
				return found
			}
			return nil
		}) == nil {
			c.problem(key, "its partial has no such chunk")
		}
		return nil
	})
}
