package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/wire"
)

// Whatever the loop waits for, a fold that takes long, a commit that takes long
// or both, it waits: it does not go round and round until something ends.
func TestTheLoopWaitsInsteadOfSpinning(t *testing.T) {
	for name, slow := range map[string]struct{ load, commit bool }{
		"fold": {load: true}, "commit": {commit: true}, "both": {load: true, commit: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWorld(t)
			f.add(part0, 5)
			const pause = 30 * time.Millisecond
			env := f.env()
			if slow.load {
				env.Load = func(*wire.Source, []wire.ID) (map[wire.ID]*fold.Partial, error) {
					time.Sleep(pause) // stands for work that takes long
					return nil, nil
				}
			}
			if slow.commit {
				f.commit = func(*Txn) error { time.Sleep(pause); return nil }
			}
			var polls atomic.Int64
			poll := env.Poll
			env.Poll = func(ctx context.Context, max int) ([]wire.Fetched, []error, error) {
				polls.Add(1)
				return poll(ctx, max)
			}
			w := New(Config{BatchInterval: time.Millisecond, CacheSessions: 2, StopTimeout: 5 * time.Second}, env)
			ctx, cancel := contextOf(t)
			done := make(chan error, 1)
			go func() { done <- w.Run(ctx) }()
			w.Assigned("m1", []wire.TopicPartition{part0})
			for n := 5; n < 200; n += 5 { // what comes while something is going on is folded and waits
				f.until("some more is polled", func() bool { return f.polled >= n })
				f.add(part0, 5)
			}
			f.until("all committed", func() bool { return len(f.committed) == 200 })
			cancel()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			f.ascending(200)
			// A handful for each that came; spinning makes thousands.
			if n := polls.Load(); n > 400 {
				t.Errorf("%d polls for 40 fetches", n)
			}
		})
	}
}
