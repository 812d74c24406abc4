package fold

import "fmt"

// validNative holds the group of a foreign dialect against its bounds, orders
// and the group before.
func validNative(p, old *Partial) error {
	n, o := p.Native, old.Native
	if n == o {
		return nil
	}
	if n == nil {
		return fmt.Errorf("the native group was lost")
	}
	if o == nil {
		o = &Native{}
	}
	switch {
	case n.Redelivered < o.Redelivered, n.Runs < o.Runs, o.HasSeq && (!n.HasSeq || n.Min > o.Min || n.Max < o.Max), n.Min > n.Max:
		return fmt.Errorf("native numbers fell: %d redelivered, %d runs, %d to %d", n.Redelivered, n.Runs, n.Min, n.Max)
	case len(n.Missing) > MaxNativeGaps, len(n.Said) < len(o.Said):
		return fmt.Errorf("%d native gaps, %d statements", len(n.Missing), len(n.Said))
	case n.Attempts.N > MaxSet || n.Kids.N > MaxSet:
		return fmt.Errorf("%d attempts, %d children", n.Attempts.N, n.Kids.N)
	}
	for i, g := range n.Missing {
		if g.From > g.To || g.From <= n.Min || g.To >= n.Max || i > 0 && g.From <= n.Missing[i-1].To+1 {
			return fmt.Errorf("native gap %d to %d is out of place in %d to %d", g.From, g.To, n.Min, n.Max)
		}
	}
	for i := range n.Said {
		if i > 0 && n.Said[i-1].Key >= n.Said[i].Key {
			return fmt.Errorf("statement %s follows %s", n.Said[i].Key, n.Said[i-1].Key)
		}
	}
	if o.Audit != nil && n.Audit == nil {
		return fmt.Errorf("the audit snapshot was lost")
	}
	for _, err := range [...]error{validRing("seen", &n.Seen, &o.Seen), validRing("attempts", &n.Attempts, &o.Attempts), validRing("children", &n.Kids, &o.Kids)} {
		if err != nil {
			return err
		}
	}
	return nil
}

// validRing: the newest chunk has as many entries as the count says, and no more
// slots are there than are used.
func validRing[T any](what string, r, old *Ring[T]) error {
	if r.N < old.N {
		return fmt.Errorf("%s: %d entries, before %d", what, r.N, old.N)
	}
	if want := min((r.N+RingChunk-1)/RingChunk, RingSlots); uint64(len(r.Slots)) != want {
		return fmt.Errorf("%s: %d slots for %d entries", what, len(r.Slots), r.N)
	}
	for i, c := range r.Slots {
		if from, to := r.Span(i); c == nil || uint64(len(c.Items)) != to-from {
			return fmt.Errorf("%s: slot %d does not hold entries %d to %d", what, i, from, to)
		}
	}
	return nil
}
