package worker

import (
	"testing"

	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/wire"
)

// A cache may forget, but what it answers must be the newest that was added:
// an old partial would make the fold count from the past.
func TestCacheNeverAnswersWithAnOlderPartial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(2, 8).Draw(t, "limit")
		c := cache{limit: limit}
		newest := map[wire.ID]*fold.Partial{}
		for range rapid.IntRange(1, 20).Draw(t, "batches") {
			ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 10, rapid.ID).Draw(t, "ids")
			m := map[wire.ID]*fold.Partial{}
			for _, n := range ids {
				id := wire.ID{15: byte(n)}
				p := &fold.Partial{}
				m[id], newest[id] = p, p
			}
			c.addAll(m)
			for id, want := range newest {
				if got := c.get(id); got != nil && got != want {
					t.Fatalf("limit %d: session %d is answered with an older partial", limit, id[15])
				}
			}
			if n := len(c.young) + len(c.old); n > limit {
				t.Fatalf("limit %d, but %d partials are held", limit, n)
			}
		}
	})
}
