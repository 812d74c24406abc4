package main

import (
	"runtime/debug"
	"testing"
)

func TestGOGCHasPrecedence(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, c := range []struct {
		env  []string
		want int
	}{{nil, gcPercent}, {[]string{"GOGC="}, gcPercent}, {[]string{"GOGCX=1", "A=GOGC=2"}, gcPercent}, {[]string{"GOGC=off"}, 100}, {[]string{"A=1", "GOGC=50"}, 100}} {
		debug.SetGCPercent(100)
		tuneMemory((&cli{env: c.env}).getenv)
		if got := debug.SetGCPercent(100); got != c.want {
			t.Errorf("%q: %d, want %d", c.env, got, c.want)
		}
	}
}
