package serve

import (
	"math"
	"math/bits"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// subtree adds up a session and everything below it along parent, each session
// once. It looks at SubtreeBudget sessions at most; beyond, the sums are lower
// bounds and say so. They stand beside the session's own numbers and never in
// them.
func (v *view) subtree(top *fold.Session) (*wire.SubtreeSums, error) {
	sums := &wire.SubtreeSums{}
	seen := map[wire.ID]bool{top.ID: true}
	left := v.h.opt.SubtreeBudget
	var nano uint64
	level := 0 // how many of the queue have their children at hand
	for queue := []*fold.Session{top}; len(queue) > 0; queue, level = queue[1:], level-1 {
		if level == 0 {
			level = len(queue)
			if err := v.needChildren(queue, seen, left); err != nil {
				return nil, err
			}
		}
		s := queue[0]
		add(sums, s, &nano)
		ids, more, err := v.snap.ChildIDs(v.stream.Name, s.ID, left)
		if err != nil {
			return nil, err
		}
		sums.Truncated = sums.Truncated || more
		for _, id := range ids {
			if seen[id] {
				continue
			}
			if err := v.ctx.Err(); err != nil {
				return nil, err
			}
			if left == 0 {
				sums.Truncated = true
				break
			}
			left--
			child, err := v.gathered(id)
			if err != nil {
				return nil, err
			}
			// A record may name a parent that the session's start does not.
			if child.Parent != nil && *child.Parent == s.ID {
				seen[id] = true
				queue = append(queue, child)
			}
		}
	}
	sums.CostMicros = nano / 1_000
	return sums, nil
}

// needChildren gathers the children of sessions that were not seen, as many as
// are looked at.
func (v *view) needChildren(of []*fold.Session, seen map[wire.ID]bool, left int) error {
	if v.union == nil {
		return nil
	}
	var all []wire.ID
	listed := map[wire.ID]bool{}
	for _, s := range of {
		ids, _, err := v.snap.ChildIDs(v.stream.Name, s.ID, left)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !seen[id] && !listed[id] && len(all) < left {
				listed[id] = true
				all = append(all, id)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return v.need(index.PartChildren, all...)
}

// add adds one session; costs in nano-units, so that no remainder is lost.
func add(t *wire.SubtreeSums, s *fold.Session, nano *uint64) {
	c := &s.Counters
	for _, term := range []struct {
		to *uint64
		n  uint64
	}{
		{&t.Sessions, 1}, {&t.Events, s.Records}, {&t.ModelCalls, c.ModelCalls}, {&t.ToolCalls, c.ToolCalls},
		{&t.TokensIn, c.TokensIn}, {&t.TokensOut, c.TokensOut}, {nano, c.CostNano}, {&t.Errors, c.Errors},
	} {
		sum, carry := bits.Add64(*term.to, term.n, 0)
		if carry != 0 {
			sum = math.MaxUint64
		}
		*term.to = sum
	}
}
