package app

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/fold"
	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
	"sessionfold/worker"
)

// raised writes sessions of which the first record is an hour ahead of the
// others' clock, then one that is later still, then more; it gives their number.
// One session is silent for a while, which the first record's time hides.
func (r *rig) raised() int {
	r.t.Helper()
	base := time.Now().Add(-3 * time.Hour)
	l := agdxlog.New(r.stream)
	for i := range 20 {
		s := l.Session(fmt.Sprintf("raised %d", i), "agent")
		s.Start(agdxlog.Start{Label: "raised"})
		s.Note("a note")
		s.End(wire.TaskCompleted, "")
	}
	var out []*kgo.Record
	for i, rec := range l.Records {
		at := base.Add(time.Duration(i) * time.Second)
		if i == 0 {
			at = base.Add(time.Hour)
		}
		if i == 5 {
			at = base.Add(20 * time.Minute)
		}
		if i >= 30 {
			at = at.Add(2 * time.Hour)
		}
		k := &kgo.Record{Topic: rec.Topic, Key: rec.Key, Value: rec.Value, Timestamp: at}
		for _, h := range rec.Headers {
			k.Headers = append(k.Headers, kgo.RecordHeader(h))
		}
		out = append(out, k)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r.must(r.client.ProduceSync(ctx, out...).FirstErr())
	return len(out)
}

// totals sums what the index counts of every session.
func (r *rig) totals(w *running) (sessions int, records, tokens uint64) {
	r.t.Helper()
	rd, err := w.Store().Reader()
	r.must(err)
	defer rd.Close()
	r.must(rd.Sessions(context.Background(), r.stream, func(_ wire.ID, ks []fold.Keyed) error {
		sessions++
		for _, k := range ks {
			records += k.Partial.Records
			tokens += k.Partial.Counters.TokensIn
		}
		return nil
	}))
	return sessions, records, tokens
}

// A source that is begun anew counts everything once, shows that it is being
// rebuilt until it is where it was, and its change rows have no hole; readers in
// between see less, never more.
func TestBeginAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(120)
	cfg := r.config(t.TempDir(), "a")
	cfg.BatchRecords = 50 // several steps
	w := r.start(cfg)
	r.caughtUp(w)
	all, records, tokens := r.totals(w)
	all, records, tokens = all+6, records+100, tokens+1000 // with what is written meanwhile; twice is more than that
	stop, seen := make(chan struct{}), make(chan string, 1)
	go func() {
		rebuilding := false
		for {
			select {
			case <-stop:
				seen <- map[bool]string{true: "", false: "no reader saw the source being rebuilt"}[rebuilding]
				return
			default:
			}
			s, n, tok := r.totals(w)
			if s > all || n > records || tok > tokens {
				seen <- fmt.Sprintf("a reader saw %d sessions, %d records, %d tokens of %d, %d, %d", s, n, tok, all, records, tokens)
				return
			}
			metas, err := w.Store().Sources(r.stream)
			if err != nil {
				seen <- err.Error()
				return
			}
			for i := range metas {
				rebuilding = rebuilding || metas[i].State().RefoldTo > 0
			}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), waitLong)
	defer cancel()
	tp := wire.TopicPartition{Topic: r.lane}
	for range 2 {
		r.must(w.BeginAnew(ctx, tp, false))
		r.sessions(3)
	}
	r.caughtUp(w)
	close(stop)
	if bad := <-seen; bad != "" {
		t.Error(bad)
	}
	r.same(w)
	if s := w.Stats(); s.Begun != 2 {
		t.Fatalf("%d sources begun anew, want 2", s.Begun)
	}
	if rep, err := w.Store().Check(ctx); err != nil || rep.Total > 0 {
		t.Fatalf("the store: %v %v", rep.Problems, err)
	}
	w.stop()
	begun := 0
	for _, c := range r.changes() {
		if c.Truncated && len(c.Sessions) == 0 {
			begun++
		}
	}
	if begun != 2 {
		t.Fatalf("%d change rows tell of a beginning anew, want 2", begun)
	}
	r.restoredElsewhere()
}

// A worker that is killed while a source is begun anew, at any point of it.
func TestBeginAnewKilled(t *testing.T) {
	for _, point := range []string{"committed, not stored", "after the first steps"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.sessions(60)
			cfg := r.config(t.TempDir(), "a")
			cfg.BatchRecords = 40
			steps := 0
			w := r.start(cfg, func(a *App) {
				apply := a.world.Apply
				a.world.Apply = func(as []worker.Applied) error {
					if a.worker.Stats().Begun > 0 {
						steps++
					}
					if point == "committed, not stored" && as[0].Batch.Kind != 0 || steps == 3 {
						a.cfg.Logger.Info("killed here")
						a.producer.Close()
						return errors.New("killed here")
					}
					return apply(as)
				}
			})
			r.caughtUp(w)
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			err := w.BeginAnew(ctx, wire.TopicPartition{Topic: r.lane}, false)
			if point == "after the first steps" {
				r.must(err)
				testenv.Eventually(t, waitLong, func() error {
					if w.Stats().CommitFailures["store"] == 0 {
						return errNotYet
					}
					return nil
				})
			}
			_ = w.end()
			other := r.start(r.config(t.TempDir(), "b")) // from the changelog alone
			r.caughtUp(other)
			r.sameSoon(other)
			other.stop()
			w = r.start(cfg) // and onto what was left
			r.caughtUp(w)
			r.sameSoon(w)
			w.stop()
			r.changes()
		})
	}
}

// What the log cannot give again is not thrown away by mistake.
func TestBeginAnewRefusesToLose(t *testing.T) {
	t.Parallel()
	r := newFakeRig(t, 1)
	r.sessions(30)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	r.deleteRecords(0, 20)
	ctx, cancel := context.WithTimeout(context.Background(), waitLong)
	defer cancel()
	tp := wire.TopicPartition{Topic: r.lane}
	if err := w.BeginAnew(ctx, tp, false); !errors.Is(err, worker.ErrLossy) {
		t.Fatalf("a loss was not refused: %v", err)
	}
	r.caughtUp(w)
	if _, n, _ := r.totals(w); n == 0 {
		t.Fatal("it was thrown away all the same")
	}
	if err := w.BeginAnew(ctx, wire.TopicPartition{Topic: "nobody's"}, false); !errors.Is(err, worker.ErrNotOwned) {
		t.Fatalf("a source that is not here: %v", err)
	}
	r.must(w.BeginAnew(ctx, tp, true))
	r.caughtUp(w)
	r.same(w)
	if f, _ := r.meta(w, 0); len(f.Gaps) != 1 || f.Gaps[0] != (fold.Gap{To: 19, Reason: fold.GapExpiredBeforeFold}) {
		t.Fatalf("gaps %v", f.Gaps)
	}
}
