package fold

import "sessionfold/wire"

// MaxKin is how many parents beside the first a partial keeps: a session has
// one, and more are a fault of its writers.
const MaxKin = 31

// Kin is a parent that records of the session named, beside the first one.
type Kin struct {
	ID          wire.ID
	First, Last Stamp
}

// parent folds a record that names a parent. The session's own parent follows
// from the first; the parents' child links from all.
func (p *Partial) parent(id wire.ID, at Stamp) {
	switch {
	case !p.Parent.Set:
		p.Parent, p.ParentLast = Named{ID: id, At: at, Set: true}, at
	case p.Parent.ID == id:
		p.ParentLast = at
	default:
		p.otherParent(id, at)
	}
}

// otherParent: the list is shared with earlier steps, so a change means a new
// one.
func (p *Partial) otherParent(id wire.ID, at Stamp) {
	kin := p.groups().Kin
	for i := range kin {
		if kin[i].ID == id {
			kin = append([]Kin(nil), kin...)
			kin[i].Last = at
			p.aside().Kin = kin
			return
		}
	}
	if len(kin) >= MaxKin {
		p.Flags |= FlagOverflow
		return
	}
	p.aside().Kin = append(kin[:len(kin):len(kin)], Kin{ID: id, First: at, Last: at})
}

// Child is what one source says of a child: the first and the last record of it
// that name the parent.
type Child struct {
	ID          wire.ID
	Item        string // the id as links spell it
	Source      *wire.Source
	First, Last Stamp
}

// ChildOf gives the session as a child of parent, false when no record of this
// source names it so.
func (k *Keyed) ChildOf(parent, id wire.ID) (Child, bool) {
	p := k.Partial
	if p.Parent.Set && p.Parent.ID == parent {
		return Child{ID: id, Item: k.item(id), Source: k.Source, First: p.Parent.At, Last: p.ParentLast}, true
	}
	for _, kin := range p.groups().Kin {
		if kin.ID == parent {
			return Child{ID: id, Item: k.item(id), Source: k.Source, First: kin.First, Last: kin.Last}, true
		}
	}
	return Child{}, false
}

// item is a session's id as links spell it: in a foreign dialect the native one.
func (k *Keyed) item(id wire.ID) string {
	if n := k.Partial.Native; n != nil && n.ID != "" {
		return n.ID
	}
	return id.String()
}

// Parents calls f with every parent that the partial's records name.
func (p *Partial) Parents(f func(wire.ID)) {
	if p.Parent.Set {
		f(p.Parent.ID)
	}
	for _, kin := range p.groups().Kin {
		f(kin.ID)
	}
}
