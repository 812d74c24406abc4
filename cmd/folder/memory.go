package main

import (
	"runtime/debug"
	"slices"
	"strings"
)

// gcPercent is how much a worker's heap grows between two collections. Most of
// what it holds is fetched bytes and rows on their way, which are used again and
// cost the collector little to keep and much to look at often.
const gcPercent = 200

// tuneMemory leaves a GOGC that was set as it is. GOMEMLIMIT has the last word
// in any case: near it the runtime collects as often as it must.
func tuneMemory(env []string) {
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "GOGC=") && v != "GOGC=" }) {
		debug.SetGCPercent(gcPercent)
	}
}
