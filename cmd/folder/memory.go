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

// tuneMemory leaves a GOGC that was set as it is, and GOMEMLIMIT has the last
// word in any case: near it the runtime collects as often as it must. With
// GODEBUG=disablethp=1 there are no huge pages, as for the runtime itself.
func tuneMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if !slices.Contains(strings.Split(getenv("GODEBUG"), ","), "disablethp=1") {
		hugePages()
	}
}
