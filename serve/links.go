package serve

import (
	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// maxChildEntries bounds how many child entries one read looks at.
const maxChildEntries = 10_000

// links gives what a session wrote, recalled or touched, and its children.
func (v *view) links(q *wire.SessionLinks) (*wire.SessionLinksView, error) {
	var surface wire.LinkSurface
	if q.Surface != nil {
		var ok bool
		if surface, ok = wire.ParseSurface(*q.Surface); !ok {
			return nil, word("surface", *q.Surface, "memory", "kv", "graph_node", "graph_edge", "projection", "child")
		}
	}
	s, err := v.session(q.ID, index.PartLinks|index.PartChunks|index.PartChildren|index.PartChildSource)
	if err != nil {
		return nil, err
	}
	set, err := v.linksOf(s)
	if err != nil {
		return nil, err
	}
	if surface == 0 || surface == wire.SurfaceChild {
		if err := v.addChildren(set, s.ID); err != nil {
			return nil, err
		}
	}
	sorted := set.Sorted(surface)
	out := &wire.SessionLinksView{
		Links: make([]wire.SessionLink, len(sorted)), Frontier: v.info(s).Frontier, Truncated: set.Truncated,
	}
	for i := range sorted {
		out.Links[i] = sorted[i].View()
	}
	return out, v.outcomesOf(s, out.Links)
}

// linksOf merges the links that records name, without derived ones.
func (v *view) linksOf(s *fold.Session) (*fold.LinkSet, error) {
	if err := v.snap.Links(s.ID, s.Sources); err != nil {
		return nil, err
	}
	set := &fold.LinkSet{}
	for i := range s.Sources {
		if l := s.Sources[i].Partial.Links; l != nil {
			set.Add(s.Sources[i].Source, l)
		}
	}
	return set, nil
}

// addChildren adds the links to the sessions that name this one as their
// parent, at most fold.MaxSet per source.
func (v *view) addChildren(set *fold.LinkSet, id wire.ID) error {
	looked, kept := 0, map[wire.SourceKey]int{}
	return v.snap.Children(v.stream.Name, id, func(c fold.Child) bool {
		looked++
		k := c.Source.Key()
		if kept[k] == fold.MaxSet {
			set.Truncated = true
		} else {
			kept[k]++
			set.AddChild(&c)
		}
		if looked == maxChildEntries {
			set.Truncated = true
		}
		return looked < maxChildEntries
	})
}

// children counts the distinct child links of a session, of records that link
// and of sessions that name it; more says that the number is a lower bound.
func (v *view) children(s *fold.Session) (n uint64, more bool, err error) {
	ids, more, err := v.snap.ChildIDs(v.stream.Name, s.ID, maxChildEntries)
	if err != nil {
		return 0, false, err
	}
	n = uint64(len(ids))
	linked := false
	for i := range s.Sources {
		linked = linked || s.Sources[i].Partial.Links != nil
	}
	if !linked {
		return n, more, nil
	}
	set, err := v.linksOf(s)
	if err != nil {
		return 0, false, err
	}
	items := map[string]bool{}
	for _, l := range set.Sorted(wire.SurfaceChild) {
		items[l.Item] = true
	}
	known := make(map[wire.ID]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	d := s.Sources[0].Source.Dialect
	for item := range items { // a session that names this one and is named by it is one child
		if id, ok := wire.ChildID(d, v.stream.Name, item); ok && known[id] {
			delete(items, item)
		}
	}
	return n + uint64(len(items)), more, nil
}

// wholeParts are what whole looks at.
const wholeParts = index.PartLinks | index.PartChildren

// whole is info with what takes more than the session's partials.
func (v *view) whole(s *fold.Session) (wire.SessionInfo, error) {
	info := v.info(s)
	n, more, err := v.children(s)
	info.Children = n
	info.Flags.Overflow = info.Flags.Overflow || more
	return info, err
}
