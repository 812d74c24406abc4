package index

import (
	"fmt"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Bounds of one batch of a copy.
const (
	copyKeys  = 5_000
	copyBytes = 2 << 20
)

// durableTags are those of the durable rows that belong to sessions.
var durableTags = []byte{row.TagPartial, row.TagLinks, row.TagChunk, row.TagBase, row.TagLog, row.TagHistory}

// Copier gives a source's durable rows as batches, for a changelog that has lost
// them. No Apply to the source and no restore of it may go on meanwhile.
type Copier struct {
	s        *Store
	src      *wire.Source
	id       row.SourceID
	frontier fold.Frontier
	meta     []byte
	refoldTo uint64
	begun    bool
	tag      int
	from     []byte
}

// Copy begins a copy. It is an error when the store has no state of the source.
func (s *Store) Copy(src *wire.Source) (*Copier, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	c := &Copier{s: s, src: src, id: row.IDOf(src)}
	key := row.AppendSource(nil, c.id)
	var err error
	if c.meta, err = get(s.db, key); err != nil {
		return nil, err
	}
	if c.meta == nil {
		return nil, fmt.Errorf("index: copy %s: the store has nothing of it", src)
	}
	m, err := row.DecodeSourceMeta(c.meta)
	if err != nil {
		return nil, keyed(key, err)
	}
	c.frontier = m.Frontier
	c.refoldTo, err = readReset(s.db, c.id)
	return c, err
}

// Next gives the next batch; nil behind the last. The first begins with a reset
// row, which makes a restore forget what a copy that was cut off has left; the
// last ends with the source meta, without which a restore takes nothing for
// whole.
func (c *Copier) Next() (*row.Batch, error) {
	if c.meta == nil {
		return nil, nil
	}
	if err := c.s.enter(); err != nil {
		return nil, err
	}
	defer c.s.leave()
	b := &row.Batch{Kind: row.BatchCopy, Source: c.src, From: c.frontier.Next, To: c.frontier.Next, Frontier: c.frontier}
	size := 0
	add := func(key, value []byte) {
		b.Ops = append(b.Ops, row.Op{Key: append([]byte(nil), key...), Value: append([]byte{}, value...), Durable: true})
		size += len(key) + len(value)
	}
	if !c.begun {
		add(row.AppendReset(nil, c.id), row.AppendResetValue(nil, row.Reset{Until: c.refoldTo}))
		c.begun = true
	}
	for c.tag < len(durableTags) {
		prefix := row.AppendStream(nil, durableTags[c.tag], c.id.Stream)
		if c.from == nil {
			c.from = prefix
		}
		full := false
		err := scanRange(c.s.db, c.from, row.PrefixEnd(prefix), func(key, value []byte) (bool, error) {
			of, err := row.DurableSource(key)
			if err != nil || of != c.id {
				return true, err
			}
			if full = len(b.Ops) >= copyKeys || size >= copyBytes; full {
				c.from = append([]byte(nil), key...)
				return false, nil
			}
			add(key, value)
			return true, nil
		})
		if err != nil {
			return nil, fmt.Errorf("index: copy %s: %w", c.src, err)
		}
		if full {
			return b, nil
		}
		c.tag, c.from = c.tag+1, nil
	}
	add(row.AppendSource(nil, c.id), c.meta)
	b.Kind, c.meta = row.BatchCopyEnd, nil
	return b, nil
}
