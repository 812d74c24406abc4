package fold

import (
	"fmt"
	"slices"
)

// validLast: the session's last record in the step is one of its own, or one
// that links a resource to it.
func (s *Step) validLast(ss *SessionStep, old *Partial) error {
	p, last := ss.New, uint64(0)
	if p.Records > old.Records {
		last = p.Last.Offset
	}
	more := false // a link that found no place leaves no trace but the mark
	if p.Links != nil && p.Links != old.Links {
		more = p.Links.Over
		for i := range p.Links.List {
			last = max(last, p.Links.List[i].Last.Offset)
		}
	}
	if ss.Last < last || ss.Last > last && !more || ss.Last < s.Before.Next || ss.Last > s.To {
		return fmt.Errorf("last offset %d, of the partial %d", ss.Last, last)
	}
	return nil
}

// validGroups holds the optional groups against their bounds and orders.
func validGroups(p, old *Partial) error {
	a, before := p.groups(), old.groups()
	switch {
	case a.Mention != before.Mention && (before.Mention != nil || old.Records > 0):
		return fmt.Errorf("the mention went from %v to %v", before.Mention, a.Mention)
	case p.Records == 0 && a.Mention == nil:
		return fmt.Errorf("neither records nor a mention")
	case p.Parent.Set && (p.ParentLast.Offset < p.Parent.At.Offset || p.ParentLast.Offset < old.ParentLast.Offset):
		return fmt.Errorf("parent named at %v, last at %v, before that %v", p.Parent.At, p.ParentLast, old.ParentLast)
	case len(a.Kin) > MaxKin || len(a.Kin) < len(before.Kin):
		return fmt.Errorf("%d further parents, before %d", len(a.Kin), len(before.Kin))
	case len(a.Acks) > MaxSet || !slices.IsSortedFunc(a.Acks, func(x, y Ack) int { return x.compare(&y) }):
		return fmt.Errorf("%d acknowledgments out of bounds or order", len(a.Acks))
	case a.Held != nil && (len(a.Held.Open) > MaxSet || len(a.Held.Done) > MaxSet):
		return fmt.Errorf("%d held, %d taken up", len(a.Held.Open), len(a.Held.Done))
	case p.Links == old.Links:
	case p.Links == nil, p.Links.N != uint64(len(p.Links.List)), p.Links.N > MaxSet, old.Links != nil && p.Links.N < old.Links.N,
		!slices.IsSortedFunc(p.Links.List, func(x, y Link) int { return x.LinkKey.compare(&y.LinkKey) }):
		return fmt.Errorf("links were lost, or are out of bounds or order")
	}
	return nil
}
