package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"sessionfold/wire"
)

// show prints the table, newest session first.
func (f *follower) show() {
	all := slices.Collect(maps.Values(f.table))
	slices.SortFunc(all, func(a, b wire.SessionInfo) int {
		return cmp.Or(cmp.Compare(began(&b), began(&a)), a.ID.Compare(b.ID))
	})
	fmt.Fprintf(f.out, "%d active sessions\n", len(all))
	w := tabwriter.NewWriter(f.out, 0, 4, 2, ' ', 0)
	for i := range all {
		s := &all[i]
		label, parent := "", "-"
		if s.Label != nil {
			label = *s.Label
		}
		if s.Parent != nil {
			parent = s.Parent.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\tevents %d\ttools %d\tchild of %s\t%s\n", s.ID, s.Status, s.Agent, s.Events, s.ToolCalls, parent, label)
	}
	_ = w.Flush()
}

func began(s *wire.SessionInfo) uint64 {
	switch {
	case s.StartedAt != nil:
		return *s.StartedAt
	case s.FirstEventAt != nil:
		return *s.FirstEventAt
	}
	return 0
}
