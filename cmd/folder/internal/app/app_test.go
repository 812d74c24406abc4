package app

import (
	"testing"
)

func TestFirstRunFoldsFromTheStart(t *testing.T) {
	r := newRig(t, 4)
	r.sessions(50)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	r.same(w)
	r.sessions(50)
	r.caughtUp(w)
	r.same(w)
	if len(r.changes()) < 4 {
		t.Fatal("fewer change rows than sources")
	}
	w.stop()
}

func TestRestartContinues(t *testing.T) {
	r := newRig(t, 4)
	dir := t.TempDir()
	for range 3 {
		r.sessions(40)
		w := r.start(r.config(dir, "a"))
		r.caughtUp(w)
		r.sessions(10)
		r.caughtUp(w)
		r.same(w)
		w.stop()
	}
	r.changes()
}
