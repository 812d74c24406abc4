package worker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"sessionfold/wire"
)

// follower notes what it is told of one batch.
type follower struct {
	mu      sync.Mutex
	since   time.Time
	records int
	done    int // folds that ended
	ends    []error
}

type followerKey struct{}

func (f *follower) lock(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *follower) Fold(_ wire.TopicPartition, since time.Time, raw []wire.Raw) func(error) {
	f.lock(func() { f.records += len(raw); f.since = since })
	return func(error) { f.lock(func() { f.done++ }) }
}

func (f *follower) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, followerKey{}, f)
}

func (f *follower) End(err error) { f.lock(func() { f.ends = append(f.ends, err) }) }

// Every batch that is followed is handed to its commit and ended once, by what
// became of it: in the store, or the failure of its commit, or given up.
func TestBatchesAreFollowedToTheirEnd(t *testing.T) {
	f := newWorld(t)
	tp := part0
	f.add(tp, 3)
	refused := &Failure{Err: errors.New("refused"), Where: "produce"}
	failures := 1
	f.commit = func(*Txn) error {
		if failures > 0 {
			failures--
			return refused
		}
		return nil
	}
	env := f.env()
	var mu sync.Mutex
	var all []*follower
	folded := 0
	env.Follow = func(since time.Time) Batch {
		if time.Since(since) > time.Minute || since.IsZero() {
			t.Errorf("followed since %v", since)
		}
		b := &follower{}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, b)
		return b
	}
	env.Folded = func(got wire.TopicPartition, took time.Duration, err error) {
		if got != tp || took < 0 || err != nil {
			t.Errorf("folded %v in %v: %v", got, took, err)
		}
		mu.Lock()
		defer mu.Unlock()
		folded++
	}
	commit := env.Commit
	env.Commit = func(ctx context.Context, txn *Txn) ([]int64, error) {
		if len(txn.Batches) == 0 || ctx.Value(followerKey{}) != txn.Batches[0] {
			t.Errorf("a commit of %d batches below %v", len(txn.Batches), ctx.Value(followerKey{}))
		}
		return commit(ctx, txn)
	}
	w, stop := f.startIn(quick, env)
	w.Assigned("m1", []wire.TopicPartition{tp})
	f.until("three records are stored", func() bool { return f.metas[source(tp).Key()].Frontier.Next == 3 })
	f.add(tp, 2)
	f.until("five records are stored", func() bool { return f.metas[source(tp).Key()].Frontier.Next == 5 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	stored, failed := 0, 0
	for i, b := range all {
		b.mu.Lock()
		if len(b.ends) != 1 || b.done != 1 || b.since.IsZero() {
			t.Errorf("batch %d: %d ends, %d folds ended, since %v", i, len(b.ends), b.done, b.since)
		} else if b.ends[0] == nil {
			stored += b.records
		} else if failed++; !errors.Is(b.ends[0], refused) {
			t.Errorf("batch %d ended with %v", i, b.ends[0])
		}
		b.mu.Unlock()
	}
	if stored != 5 || failed != 1 || folded != len(all) {
		t.Errorf("%d records in stored batches, %d batches failed, %d of %d folds told", stored, failed, folded, len(all))
	}
}

// A fold that joins steps which are ready is followed with them, and ends with
// them; one beside steps that leave without it is a batch of its own.
func TestAFoldThatJoinsIsTheSameBatch(t *testing.T) {
	f := newWorld(t)
	env := f.env()
	begun := 0
	env.Follow = func(time.Time) Batch { begun++; return &follower{} }
	w := New(Config{}, env)
	o := w.newOwned(part0, "m1")
	first := &follower{}
	ready := func(records int) *sealed {
		return &sealed{lives: []*owned{o}, steps: make([]Step, 1), count: []int{records}, folds: []int{1}, records: records, batches: []Batch{first}}
	}
	joins := &folding{}
	w.ready = ready(1)
	w.follow(joins)
	w.takeFolded(joins)
	if begun != 0 || joins.batch != Batch(first) || len(w.ready.batches) != 1 {
		t.Errorf("%d batches begun, followed by %v, %d batches ready", begun, joins.batch, len(w.ready.batches))
	}
	beside := &folding{}
	w.ready = ready(foldAt)
	w.follow(beside)
	w.takeFolded(beside)
	if begun != 1 || beside.batch == Batch(first) || len(w.ready.batches) != 2 {
		t.Errorf("%d batches begun, followed by %v, %d batches ready", begun, beside.batch, len(w.ready.batches))
	}
}

// A source that goes between its fold and its commit takes its batch along.
func TestABatchThatIsGivenUp(t *testing.T) {
	f := newWorld(t)
	w := New(Config{}, f.env())
	o := w.newOwned(wire.TopicPartition{Topic: "a"}, "m1")
	o.dead = true
	b := &follower{}
	w.ready = &sealed{lives: []*owned{o}, steps: make([]Step, 1), count: []int{1}, folds: []int{1}, batches: []Batch{b}}
	w.launch(t.Context())
	if w.flight != nil || len(b.ends) != 1 || b.ends[0] != error(errGivenUp) {
		t.Errorf("in flight %v, ends %v", w.flight, b.ends)
	}
}
