package app

import (
	"net"
	"strconv"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/broker"
	"sessionfold/worker"
)

// A broker that goes away and comes back needs no restart of the worker.
func TestBrokerGoesAndComes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := testenv.Fake(t, broker.Options{DataDir: dir})
	b := k.Fake
	_, text, err := net.SplitHostPort(k.Addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOn(t, k, 2)
	r.sessions(20)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	for range 2 {
		b.Close()
		time.Sleep(300 * time.Millisecond) // long enough for requests to fail
		if b, err = broker.Start(broker.Options{DataDir: dir, Port: port}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		r.sessions(10)
		r.caughtUp(w)
	}
	r.same(w)
	r.changes()
	if s := w.Stats(); s.LastLoop.IsZero() || w.Live(10*time.Second) != nil {
		t.Fatal("the loop stood still")
	}
	w.stop() // before the broker goes for good
}

// A stop with no broker there ends within its bounds, whatever is in flight.
func TestStopWithoutBroker(t *testing.T) {
	t.Parallel()
	k := testenv.Fake(t, broker.Options{})
	r := newRigOn(t, k, 2)
	r.sessions(20)
	cfg := r.config(t.TempDir(), "a")
	cfg.StopTimeout = 3 * time.Second
	w := r.start(cfg)
	r.caughtUp(w)
	r.sessions(50)
	k.Fake.Close()
	begin := time.Now()
	_ = w.end() // it says that the group could not be left, and perhaps of a last commit
	if took := time.Since(begin); took > 25*time.Second {
		t.Fatalf("the stop took %s", took)
	}
	// The directory is free and whole.
	cfg.LeaveOnStop = false
	again, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.Sources() {
		if s.State != worker.Active {
			continue
		}
		if _, ok, err := again.Store().Meta(s.Source); !ok || err != nil {
			t.Errorf("%s: %v", s.Source, err)
		}
	}
	r.must(again.Close())
}
