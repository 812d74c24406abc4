package index

import (
	"slices"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// linked: the links of a partial are there, in bounds and order, and so are its
// child entries.
func (c *checker) linked(key []byte, k row.PartialKey, p *fold.Partial, m *Meta) error {
	if !m.Restoring && p.Links != nil {
		c.Linked++
		err := loadLinks(k, p, func(key []byte) ([]byte, error) { return get(c.r.snap, key) })
		if err != nil {
			c.problem(key, "%v", err)
		}
		for i := range p.Links.List {
			if l := &p.Links.List[i]; l.Last.Offset < l.First.Offset || l.Last.Time < l.First.Time || l.Last.Offset >= m.Frontier.Next {
				c.problem(key, "link %d: from offset %d to %d", i, l.First.Offset, l.Last.Offset)
			}
		}
		if len(p.Links.List) > fold.MaxSet || !slices.IsSortedFunc(p.Links.List, fold.CompareLinks) {
			c.problem(key, "%d links out of bounds or order", len(p.Links.List))
		}
	}
	var err error
	row.ChildEntries(k, nil, p, func(e row.ChildKey) {
		v, getErr := get(c.r.snap, row.AppendChild(nil, e))
		if err = getErr; err == nil && v == nil {
			c.problem(key, "its child entry of %s is missing", e.Parent)
		}
	})
	return err
}

// children: every child entry follows from a partial, and so does every row of
// links.
func (c *checker) children() error {
	err := c.each(row.TagChild, func(key, _ []byte) error {
		e, err := row.ParseChild(key)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		p, err := getPartial(c.r.snap, row.AppendPartial(nil, row.PartialKey{Stream: e.Stream, Session: e.Child, Source: e.Source}))
		if err != nil || p == nil {
			c.problem(key, "no partial to follow from (%v)", err)
			return nil
		}
		named := false
		p.Parents(func(id wire.ID) { named = named || id == e.Parent })
		if !named {
			c.problem(key, "does not follow from its partial")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.each(row.TagLinks, func(key, _ []byte) error {
		k, err := row.ParseLinks(key)
		if err != nil {
			c.problem(key, "%v", err)
			return nil
		}
		p, err := getPartial(c.r.snap, row.AppendPartial(nil, k))
		if m := c.metas[row.SourceID{Stream: k.Stream, Source: k.Source}]; m != nil && m.Restoring {
			return nil // the partial may come later
		}
		if err != nil || p == nil || p.Links == nil {
			c.problem(key, "no partial with links (%v)", err)
		}
		return nil
	})
}
