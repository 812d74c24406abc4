// Package reach checks properties that must also have met certain cases: a law
// over logs in which nothing ever pauses says nothing about pauses.
package reach

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rounds is how often the property is checked at most until every case was met.
// A case that one round of twenty draws misses every other time is missed by
// all of them once in 10^12 runs, so a failure says that the generator is poor,
// and never that the draws were unlucky.
const rounds = 40

// Check checks the property with rapid, and again until every counter of cases,
// which the property counts up, is above zero. It fails when one never is.
func Check(t *testing.T, cases map[string]*int, property func(*rapid.T)) {
	t.Helper()
	for range rounds {
		rapid.Check(t, property)
		if len(missed(cases)) == 0 || flag.Lookup("rapid.seed").Value.String() != "0" {
			return // with a seed, to see a failure again, every round would draw the same
		}
	}
	t.Errorf("never met in %d rounds, so the property says nothing about it: %s", rounds, strings.Join(missed(cases), ", "))
}

// missed names the cases that were not met, in order.
func missed(cases map[string]*int) (names []string) {
	for name, n := range cases {
		if *n == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
