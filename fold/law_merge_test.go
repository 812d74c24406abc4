package fold

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sessionfold/wire"
)

func diffSessions(a, b *Session) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Session{})) + cmp.Diff(a.ListPosition(), b.ListPosition())
}

// TestLawMerge: Merge is commutative, associative and idempotent, and of two
// copies of one source only the better one counts (law 2). The sources share
// their times, so that addresses decide often.
func TestLawMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sources := []*folded{
			newFolded("s.agent.sessions", 0), newFolded("s.agent.sessions", 1), newFolded("s.agent.control", 0),
			newFolded("s.agent.sessions", 10), newFolded("s.agent.audit", 1),
		}
		old := []*folded{}
		for _, f := range sources {
			recs := genLog(t, f.src.String(), 12, 2)
			cut := rapid.IntRange(0, len(recs)).Draw(t, "older copy ends")
			f.fold(&Config{TimelineCap: 3}, recs[:cut])
			older := &folded{src: wire.NewSource("s", f.src.Topic, 1, f.src.Partition, f.src.Role, f.src.Dialect), front: f.front, partials: map[wire.ID]*Partial{}}
			for id, p := range f.partials {
				older.partials[id] = p
			}
			if f.fold(&Config{TimelineCap: 3}, recs[cut:]) != nil {
				old = append(old, older)
			}
		}
		id := sessionID(0)
		ks := keyed(id, sources)
		want := Merge(id, ks)
		if want == nil {
			return
		}
		check := func(what string, s *Session) {
			t.Helper()
			if d := diffSessions(want, s); d != "" {
				t.Fatalf("%s (once -, other +):\n%s", what, d)
			}
		}
		shuffled := rapid.Permutation(ks).Draw(t, "order")
		check("another order", Merge(id, shuffled))
		check("twice", Merge(id, slices.Concat(shuffled, ks)))
		check("of itself", Merge(id, want.Sources))
		cut := rapid.IntRange(0, len(ks)).Draw(t, "group")
		var grouped []Keyed
		for _, group := range [][]Keyed{shuffled[:cut], shuffled[cut:]} {
			if s := Merge(id, group); s != nil {
				grouped = append(grouped, s.Sources...)
			}
		}
		check("in groups", Merge(id, grouped))
		stale := slices.Concat(keyed(id, old), ks)
		check("with older copies", Merge(id, rapid.Permutation(stale).Draw(t, "with older")))
	})
}
