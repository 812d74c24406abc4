package fold

import (
	"cmp"
	"slices"
	"strings"

	"sessionfold/wire"
)

// LinkKey names a link: what a session did with which resource.
type LinkKey struct {
	Surface        wire.LinkSurface
	Resource, Item string
	Relation       wire.LinkRelation
}

func (a *LinkKey) compare(b *LinkKey) int {
	return cmp.Or(cmp.Compare(a.Surface, b.Surface), strings.Compare(a.Resource, b.Resource),
		strings.Compare(a.Item, b.Item), cmp.Compare(a.Relation, b.Relation))
}

// Link is one link of a session in one source, with the first and the last
// record that says so.
type Link struct {
	LinkKey
	First, Last Stamp
}

// Links are the links of a session in one source (spec session-index.md,
// section 8). They lie beside the stored partial, which holds only how many
// there are: a partial that was read without them has List nil.
type Links struct {
	N    uint64
	Over bool   // one was turned away
	List []Link // ascending by key, at most MaxSet
}

// CompareLinks orders links by their keys.
func CompareLinks(a, b Link) int { return a.LinkKey.compare(&b.LinkKey) }

func (l *Links) find(k *LinkKey) (int, bool) {
	return slices.BinarySearchFunc(l.List, k, func(a Link, k *LinkKey) int { return a.LinkKey.compare(k) })
}

// links folds the record's links: each to the session that it names, which then
// exists.
func (b *batch) links(rec *wire.Record, at Stamp) {
	for i := range rec.Rare.Links {
		l := &rec.Rare.Links[i]
		to := &b.seen[b.touch(l.Session)]
		to.last = at.Offset
		if p := to.new; p.Records == 0 && p.groups().Mention == nil {
			first := at
			p.aside().Mention = &first
		}
		to.link(l, at)
	}
}

// link keeps the first MaxSet links and goes on moving their last record.
func (t *touched) link(w *wire.Link, at Stamp) {
	k := LinkKey{Surface: w.Surface, Relation: w.Relation}
	k.Resource, _ = wire.Clean(w.Resource, maxText)
	k.Item, _ = wire.Clean(w.Item, maxText)
	l := t.ownLinks()
	i, known := l.find(&k)
	switch {
	case known:
		l.List[i].Last = at
	case len(l.List) >= MaxSet:
		l.Over = true
		t.new.Flags |= FlagOverflow
	default:
		l.List = slices.Insert(l.List, i, Link{LinkKey: k, First: at, Last: at})
		l.N++
	}
}

// ownLinks gives the group to change: copied once a batch, because earlier steps
// hold the old one.
func (t *touched) ownLinks() *Links {
	if t.owns&ownsLinks == 0 {
		l := &Links{}
		if old := t.new.Links; old != nil {
			*l = *old
			l.List = slices.Clone(old.List)
		}
		t.new.Links, t.owns = l, t.owns|ownsLinks
	}
	return t.new.Links
}

// SessionLink is a link of a session over all its sources.
type SessionLink struct {
	LinkKey
	First, Last             wire.Address
	FirstSource, LastSource *wire.Source
}

// LinkSet merges links: of equal ones the smallest first and the greatest last
// address count, whatever the order in which they come.
type LinkSet struct {
	by        map[LinkKey]*SessionLink
	kids      map[wire.ID]LinkKey // links to children that records of a foreign dialect named
	Truncated bool                // a source turned links away
}

// Add joins the links that one source has of the session.
func (s *LinkSet) Add(src *wire.Source, l *Links) {
	s.Truncated = s.Truncated || l.Over
	for i := range l.List {
		k := l.List[i].LinkKey
		s.put(src, k, l.List[i].First, l.List[i].Last)
		if k.Surface == wire.SurfaceChild && src.Dialect != wire.DialectAGDX {
			if s.kids == nil {
				s.kids = make(map[wire.ID]LinkKey)
			}
			id := wire.NativeID(src.Dialect, src.Stream, []byte(k.Item))
			if old, known := s.kids[id]; !known || k.compare(&old) < 0 {
				s.kids[id] = k
			}
		}
	}
}

// AddChild joins what one source has of a session that names this one as its
// parent: a link to it, with the records that name the parent.
func (s *LinkSet) AddChild(c *Child) {
	k, named := s.kids[c.ID]
	if !named {
		k = LinkKey{Surface: wire.SurfaceChild, Item: c.Item, Relation: wire.RelationWrote}
	}
	s.put(c.Source, k, c.First, c.Last)
}

func (s *LinkSet) put(src *wire.Source, k LinkKey, first, last Stamp) {
	l := s.by[k]
	if l == nil {
		if s.by == nil {
			s.by = make(map[LinkKey]*SessionLink)
		}
		l = &SessionLink{LinkKey: k}
		s.by[k] = l
	}
	if at := src.Address(first.Time, first.Offset); l.FirstSource == nil || at.Compare(l.First) < 0 {
		l.First, l.FirstSource = at, src
	}
	if at := src.Address(last.Time, last.Offset); l.LastSource == nil || at.Compare(l.Last) > 0 {
		l.Last, l.LastSource = at, src
	}
}

// Sorted gives the links of a surface, 0 for all, ascending by key.
func (s *LinkSet) Sorted(surface wire.LinkSurface) []SessionLink {
	out := make([]SessionLink, 0, len(s.by))
	for _, l := range s.by {
		if surface == 0 || l.Surface == surface {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b SessionLink) int { return a.LinkKey.compare(&b.LinkKey) })
	return out
}

// View gives the read type.
func (l *SessionLink) View() wire.SessionLink {
	return wire.SessionLink{
		Surface: l.Surface.String(), Resource: l.Resource, Item: l.Item, Relation: l.Relation.String(),
		First: l.FirstSource.At(l.First.Offset).Locator(), Last: l.LastSource.At(l.Last.Offset).Locator(),
		FirstText: l.FirstSource.PositionText(l.First.Offset), LastText: l.LastSource.PositionText(l.Last.Offset),
	}
}

// mergeMention takes the place of a session of which a source knows only that
// another one links resources to it.
func (s *Session) mergeMention(k *Keyed) {
	at := k.address(*k.Partial.groups().Mention)
	if !s.mentioned || at.Compare(s.mention) < 0 {
		s.mention, s.mentionKey, s.mentioned = at, k.Source.Key(), true
	}
}
