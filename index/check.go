package index

import (
	"context"
	"errors"
	"fmt"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// maxProblems bounds the problems a Report lists; it counts all.
const maxProblems = 100

// Report is what Check found.
type Report struct {
	Sources, Sessions, Partials, Entries, Packs, Batches, Rows, Documents uint64

	Linked uint64 // partials with links

	Problems []Problem // the first of them
	Total    int       // how many there are
	Notes    []string  // states that are allowed and limit what was checked
}

// Problem is one disagreement, with the key it was found at in readable form.
type Problem struct {
	Key string
	Why string
}

func (p Problem) String() string { return p.Key + ": " + p.Why }

// Check proves, over one snapshot, that the store agrees with itself: list
// entries follow from the partials and partials have theirs; packed rows agree
// with the partials' counts, ascend and lie below the frontier; batches name the
// packs; state documents can be put together and have their digests; metas are
// well formed. An error means that the check could not be done.
func (s *Store) Check(ctx context.Context) (Report, error) {
	r, err := s.Reader()
	if err != nil {
		return Report{}, err
	}
	c := checker{ctx: ctx, r: r, metas: make(map[row.SourceID]*Meta)}
	for _, pass := range []func() error{c.sources, c.partials, c.entries, c.packs, c.batches, c.states, c.children, c.chunks, c.strangers} {
		if err = pass(); err != nil {
			break
		}
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return c.Report, fmt.Errorf("index: check: %w", err)
	}
	return c.Report, nil
}

type checker struct {
	Report
	ctx   context.Context
	r     *Reader
	metas map[row.SourceID]*Meta
	named uint64 // packs that batches name
}

func (c *checker) problem(key []byte, format string, args ...any) {
	if c.Total++; len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, Problem{Key: row.Describe(key), Why: fmt.Sprintf(format, args...)})
	}
}

// each scans the keys of a tag.
func (c *checker) each(tag byte, f func(key, value []byte) error) error {
	return scan(c.r.snap, []byte{tag}, func(key, value []byte) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		return f(key, value)
	})
}

func (c *checker) sources() error {
	err := c.each(row.TagSource, func(key, value []byte) error {
		c.Sources++
		id, err := row.ParseSource(key)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		m, err := c.r.meta(id, value)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		m.Restoring = m.Restoring || m.Removing // either way the source is whole again only at the end
		c.metas[id] = &m
		c.meta(key, &m)
		return nil
	})
	if err != nil {
		return err
	}
	return c.each(row.TagLocal, func(key, value []byte) error {
		if _, err := row.ParseSource(key); err != nil {
			c.problem(key, "%v", err)
		} else if _, err := row.DecodeLocal(value); err != nil {
			c.problem(key, "%v", err)
		}
		return nil
	})
}

func (c *checker) meta(key []byte, m *Meta) {
	f := &m.Frontier
	next := uint64(0)
	for _, g := range f.Gaps {
		if g.From < next || g.To < g.From || g.To >= f.Next {
			c.problem(key, "gap of offsets %d to %d does not ascend or is not below the frontier %d", g.From, g.To, f.Next)
		}
		next = g.To + 1
	}
	if sum := f.Undecodable + f.Invalid; sum > f.Records || f.Unattributed > f.Records || f.Records > f.Next {
		c.problem(key, "counts do not fit: %d records up to offset %d, %d undecodable, %d invalid, %d unattributed",
			f.Records, f.Next, f.Undecodable, f.Invalid, f.Unattributed)
	}
	if m.Restoring {
		c.Notes = append(c.Notes, fmt.Sprintf("%s: a restore was not ended; its partials may be ahead of its frontier", m.Source))
	}
	if len(m.Holes) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s: timeline rows of %d ranges of offsets are to be rebuilt; row counts of the source were not checked", m.Source, len(m.Holes)))
	}
}

func (c *checker) partials() error {
	var last wire.ID
	return c.each(row.TagPartial, func(key, value []byte) error {
		c.Partials++
		k, err := row.ParsePartial(key)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		if k.Session != last || c.Sessions == 0 {
			c.Sessions++
			last = k.Session
		}
		m := c.metas[row.SourceID{Stream: k.Stream, Source: k.Source}]
		if m == nil {
			c.problem(key, "its source has no meta")
			return nil
		}
		p, err := row.DecodePartial(value)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		if p.Records == 0 && (p.Aside == nil || p.Aside.Mention == nil) || p.Last.Offset < p.First.Offset || p.Last.Time < p.First.Time || p.Rows > p.Records {
			c.problem(key, "%d records, %d rows, from offset %d to %d", p.Records, p.Rows, p.First.Offset, p.Last.Offset)
		}
		if p.Last.Offset >= m.Frontier.Next && !m.Restoring {
			c.problem(key, "its last record %d is not below the frontier %d", p.Last.Offset, m.Frontier.Next)
		}
		if err := c.hasEntries(key, k, p); err != nil {
			return err
		}
		if err := c.state(key, k, p, m); err != nil {
			return err
		}
		if err := errors.Join(c.linked(key, k, p, m), c.chunked(key, k, p, m)); err != nil {
			return err
		}
		return c.rows(key, k, p, m)
	})
}

// hasEntries: a partial has its list entries, written by an apply of this store.
func (c *checker) hasEntries(key []byte, k row.PartialKey, p *fold.Partial) error {
	for _, e := range row.AppendEntries(nil, k, p) {
		v, err := get(c.r.snap, row.AppendList(nil, e))
		if err != nil {
			return err
		}
		if v == nil {
			c.problem(key, "its list entry %s at %d µs is missing", e.Kind, e.Time)
			continue
		}
		if seq, err := row.DecodeSeq(v); err != nil || seq == 0 || seq > c.r.seq {
			c.problem(row.AppendList(nil, e), "apply sequence %d of %d (%v)", seq, c.r.seq, err)
		}
	}
	return nil
}

// rows: the packed rows of a partial are as many as it says, but for those that
// were pruned or are to be rebuilt.
func (c *checker) rows(key []byte, k row.PartialKey, p *fold.Partial, m *Meta) error {
	var rows uint64
	next := p.First.Offset
	err := scan(c.r.snap, row.AppendSessionSource(nil, k), func(key, value []byte) error {
		pk, err := row.ParsePack(key)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		pack := row.OpenPack(pk.First, value)
		for e := (row.Event{}); pack.Next(&e); rows++ {
			if e.Offset < next || e.Offset > p.Last.Offset || p.Truncated && e.Offset >= p.TruncatedFrom {
				c.problem(key, "row of offset %d outside what its partial and the rows before allow", e.Offset)
			}
			next = e.Offset + 1
		}
		if err := pack.Err(); err != nil {
			c.problem(key, "%v", err)
		}
		return nil
	})
	c.Rows += rows
	partly := m.Retained > p.First.Offset || len(m.Holes) > 0 || m.Restoring
	if rows > p.Rows || rows < p.Rows && !partly {
		c.problem(key, "it counts %d timeline rows, %d are stored", p.Rows, rows)
	}
	return err
}

// entries: every list entry follows from a partial.
func (c *checker) entries() error {
	return c.each(row.TagList, func(key, _ []byte) error {
		c.Entries++
		e, err := row.ParseList(key)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		k := row.PartialKey{Stream: e.Stream, Session: e.Session, Source: e.Source}
		p, err := getPartial(c.r.snap, row.AppendPartial(nil, k))
		if err != nil || p == nil {
			c.problem(key, "no partial to follow from (%v)", err)
			return nil
		}
		for _, want := range row.AppendEntries(nil, k, p) {
			if want == e {
				return nil
			}
		}
		c.problem(key, "does not follow from its partial")
		return nil
	})
}

// packs: every pack has a partial.
func (c *checker) packs() error {
	var last row.PartialKey
	var known bool
	return c.each(row.TagPack, func(key, _ []byte) error {
		c.Packs++
		k, err := row.ParsePack(key)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		if k.PartialKey != last || c.Packs == 1 {
			v, err := get(c.r.snap, row.AppendPartial(nil, k.PartialKey))
			if err != nil {
				return err
			}
			last, known = k.PartialKey, v != nil
		}
		if !known {
			c.problem(key, "rows of a session without a partial")
		}
		return nil
	})
}

// batches: the packs that batches name are there, and no others.
func (c *checker) batches() error {
	err := c.each(row.TagBatch, func(key, value []byte) error {
		c.Batches++
		k, err := row.ParseBatch(key)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		b, err := row.DecodePacks(k.From, value)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		for _, ref := range b.Packs {
			c.named++
			pk := row.AppendPack(nil, row.PackKey{PartialKey: row.PartialKey{Stream: k.Stream, Session: ref.Session, Source: k.Source}, First: ref.First})
			v, err := get(c.r.snap, pk)
			if err != nil {
				return err
			}
			if v == nil {
				c.problem(key, "names the %s, which is missing", row.Describe(pk))
			} else if n := countRows(ref.First, v); n != ref.Rows {
				c.problem(key, "names %d rows in the %s, which has %d", ref.Rows, row.Describe(pk), n)
			}
		}
		return nil
	})
	if err == nil && c.named != c.Packs {
		c.problem([]byte{row.TagBatch}, "batches name %d packs, %d are stored", c.named, c.Packs)
	}
	return err
}

func countRows(first uint64, value []byte) (n uint64) {
	p := row.OpenPack(first, value)
	for e := (row.Event{}); p.Next(&e); {
		n++
	}
	return n
}

// strangers: no key has a tag that the format does not know.
func (c *checker) strangers() error {
	it, err := c.r.snap.NewIter(nil)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; {
		switch tag := it.Key()[0]; tag {
		case row.TagStore, row.TagSource, row.TagLocal, row.TagPartial, row.TagPack, row.TagBatch, row.TagList,
			row.TagBase, row.TagLog, row.TagHistory, row.TagLinks, row.TagChunk, row.TagChild, row.TagReset:
			ok = it.SeekGE([]byte{tag + 1})
		default:
			c.problem(it.Key(), "a key of no known kind")
			ok = it.Next()
		}
	}
	return errors.Join(it.Error(), it.Close())
}
