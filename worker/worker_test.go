package worker

import (
	"errors"
	"testing"
	"time"

	"sessionfold/wire"
)

var quick = Config{BatchInterval: 2 * time.Millisecond, StopTimeout: 5 * time.Second}

func TestCommitsEveryOffsetOnce(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 100)
	w, stop := f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part0})
	f.until("100 committed", func() bool { return len(f.committed) == 100 })
	f.add(part0, 50)
	f.until("150 committed", func() bool { return len(f.committed) == 150 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	f.ascending(150)
	if f.renewed != 1 {
		t.Fatalf("%d producers were made", f.renewed)
	}
}

// While a commit waits for the broker the next batch is folded on top of it,
// and polling ends when two batches wait: memory is bounded.
func TestFoldsAheadWithinBounds(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 1000)
	gate := make(chan struct{})
	f.commit = func(*Txn) error { <-gate; return nil }
	w, _ := f.start(Config{BatchInterval: time.Millisecond, BatchRecords: 100, StopTimeout: 5 * time.Second})
	w.Assigned("m1", []wire.TopicPartition{part0})
	f.until("three batches are polled", func() bool { return f.polled >= 300 })
	f.until("it polls no more", func() bool { return f.inFlight == 1 })
	if got := w.Stats().Commits; got != 0 {
		t.Fatalf("%d commits ended", got)
	}
	f.lock(func() {
		if f.polled > 300 {
			t.Errorf("%d records are in memory, with batches of 100", f.polled)
		}
	})
	close(gate)
	f.until("all committed", func() bool { return len(f.committed) == 1000 })
	f.ascending(1000)
}

// Every failure drops what was folded of the step's sources, and what was
// folded ahead on top of it.
func TestFailedCommitsAreFoldedAgain(t *testing.T) {
	for name, fail := range map[string]*Failure{
		"plain": {Err: errors.New("x"), Where: "produce"},
		"wait":  {Err: errors.New("x"), Where: "offsets", Wait: true},
		"renew": {Err: errors.New("x"), Where: "end", Renew: true},
		"hold":  {Err: errors.New("x"), Where: "produce", Hold: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorld(t)
			f.add(part0, 500)
			n := 0
			f.commit = func(*Txn) error {
				if n++; n == 2 || n == 3 {
					return fail
				}
				return nil
			}
			w, _ := f.start(Config{BatchInterval: time.Millisecond, BatchRecords: 100})
			w.Assigned("m1", []wire.TopicPartition{part0})
			f.until("all committed", func() bool { return len(f.committed) == 500 })
			f.ascending(500)
			if got := w.Stats().CommitFailures[fail.Where]; got != 2 {
				t.Errorf("%d failures counted", got)
			}
		})
	}
}

func TestFencedForGoodExits(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 10)
	want := errors.New("another one")
	f.commit = func(*Txn) error { return &Failure{Err: want, Exit: true} }
	w := New(quick, f.env())
	w.Assigned("m1", []wire.TopicPartition{part0})
	if err := w.Run(t.Context()); !errors.Is(err, want) {
		t.Fatal(err)
	}
}

func TestFencedAgainAndAgainExits(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 10)
	f.commit = func(*Txn) error { return &Failure{Err: errors.New("fenced"), Renew: true, Fenced: true} }
	w := New(quick, f.env())
	w.Assigned("m1", []wire.TopicPartition{part0})
	if err := w.Run(t.Context()); !errors.Is(err, ErrFenced) {
		t.Fatal(err)
	}
}

// A source that is revoked while its step is written is not committed.
func TestRevokedWithinACommit(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 10)
	var w *Worker
	f.commit = func(*Txn) error { w.Revoked([]wire.TopicPartition{part0}); return nil }
	w, _ = f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part0})
	f.until("the commit has failed", func() bool { return f.inFlight == 0 && f.polled == 10 && len(w.results) == 0 })
	for w.Stats().CommitFailures["own"] == 0 {
		time.Sleep(time.Millisecond)
	}
	f.ascending(0)
	if n := len(w.Sources()); n != 0 {
		t.Fatalf("%d sources are left", n)
	}
}

// A revocation waits for a transaction that is past its last look at the
// ownership: a source leaves before or after, never within.
func TestRevocationWaitsForTheTransaction(t *testing.T) {
	f := newWorld(t)
	w := New(quick, f.env())
	w.Assigned("m1", []wire.TopicPartition{part0})
	_, _, release, err := w.owns(w.living())
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { w.Revoked([]wire.TopicPartition{part0}); close(gone) }()
	select {
	case <-gone:
		t.Fatal("revoked within a transaction")
	case <-time.After(20 * time.Millisecond):
	}
	release()
	<-gone
	if len(w.Sources()) != 0 {
		t.Fatal("still owned")
	}
}

// The client can lose its place in the group and come back as another member
// without a callback: what was folded as the old one is not committed.
func TestSilentRejoin(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 10)
	n := 0
	f.commit = func(*Txn) error {
		if n++; n == 1 {
			f.lock(func() { f.member = "m2" })
		}
		return nil
	}
	w, _ := f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part0})
	f.until("committed as the new member", func() bool { return len(f.committed) == 10 })
	f.ascending(10)
	if s := w.Stats(); s.CommitFailures["own"] != 1 || s.Restores < 2 {
		t.Fatalf("%+v", s)
	}
	f.lock(func() { f.member = "m3" })
	for w.Stats().Rejoined == 0 {
		time.Sleep(time.Millisecond)
	}
	f.add(part0, 5)
	f.until("it goes on", func() bool { return len(f.committed) == 15 })
}

// An error that returns at every poll pauses its partition; others go on.
func TestPollErrorIsNoHotLoop(t *testing.T) {
	f := newWorld(t)
	other := wire.TopicPartition{Topic: part0.Topic, Partition: 1}
	f.add(part0, 10)
	f.add(other, 1)
	f.pollErr[other] = errors.New("out of range")
	w, _ := f.start(quick)
	w.Assigned("m1", []wire.TopicPartition{part0, other})
	for w.Stats().Restores < 4 {
		time.Sleep(time.Millisecond)
	}
	if s := w.Stats(); s.PollErrors > s.Restores {
		t.Fatalf("%d errors polled, %d restores: the partition is not paused", s.PollErrors, s.Restores)
	}
	f.until("the other is committed", func() bool { return len(f.committed) == 10 })
	f.lock(func() { f.pollErr[other] = nil })
	f.until("it goes on", func() bool { return len(f.committed) == 11 })
	for w.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
}

// The client learned of a topic before it was created anew, and the source was
// first restored after: both its lives here are of the topic of now, and yet the
// client must be made to forget the former one. Once is enough for all partitions.
func TestAClientThatKnowsOnlyTheFormerTopic(t *testing.T) {
	f := newWorld(t)
	other := wire.TopicPartition{Topic: part0.Topic, Partition: 1}
	tps := []wire.TopicPartition{part0, other}
	for _, tp := range tps {
		f.add(tp, 10)
		f.pollErr[tp] = errFormer
	}
	w, _ := f.start(quick)
	w.Assigned("m1", tps)
	f.until("it is forgotten", func() bool { return f.forgotten > 0 })
	w.Lost(tps)
	f.lock(func() { clear(f.pollErr) })
	w.Assigned("m1", tps)
	f.until("all is committed", func() bool { return len(f.committed) == 20 })
	if f.forgotten != 1 {
		t.Errorf("forgotten %d times", f.forgotten)
	}
}

// A stop commits what was polled; what fails then is left to the next start.
func TestStopCommitsTheRest(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 30)
	w, stop := f.start(Config{BatchInterval: time.Hour, StopTimeout: 5 * time.Second})
	w.Assigned("m1", []wire.TopicPartition{part0})
	f.until("all polled", func() bool { return f.polled == 30 })
	for w.Stats().Buffered != 30 {
		time.Sleep(time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	f.ascending(30)
}

// A commit that never ends does not keep a stop waiting for ever, and writes
// nothing to the store afterwards.
func TestStopIsBounded(t *testing.T) {
	f := newWorld(t)
	f.add(part0, 30)
	gate := make(chan struct{})
	began := make(chan struct{})
	f.commit = func(*Txn) error { close(began); <-gate; return nil }
	w := New(Config{BatchInterval: time.Millisecond, StopTimeout: 50 * time.Millisecond}, f.env())
	w.Assigned("m1", []wire.TopicPartition{part0})
	ctx, cancel := contextOf(t)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	<-began
	cancel()
	if err := <-done; err == nil {
		t.Fatal("the stop says nothing of the commit it left")
	}
	close(gate)
	r := <-w.results
	if r.err == nil {
		t.Fatal("an abandoned commit was stored")
	}
	if len(f.metas) != 0 {
		t.Fatal("an abandoned commit was stored")
	}
}

func TestBackoffGrowsToABound(t *testing.T) {
	last := time.Duration(-1)
	for n := range 100 {
		d := backoff(n)
		if d < last || d > 30*time.Second {
			t.Fatalf("pause %d is %s after %s", n, d, last)
		}
		last = d
	}
	if last != 30*time.Second {
		t.Fatalf("the longest pause is %s", last)
	}
}
