package app

import (
	"context"
	"errors"
	"time"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/sink"
	"sessionfold/wire"
	"sessionfold/worker"
)

// env gives the worker its world. The consumer is not there yet when this is
// called, so its functions look it up; only a running worker calls them.
func (a *App) env() *worker.Env {
	e := &worker.Env{
		Poll: func(ctx context.Context, max int) ([]wire.Fetched, []error, error) {
			begin := time.Now()
			fetched, notes, err := a.consumer.Poll(ctx, max)
			a.cfg.Telemetry.Polled(fetched, time.Since(begin))
			return fetched, notes, err
		},
		Member:     func() (string, int32) { return a.consumer.Member() },
		Pause:      func(tp wire.TopicPartition) { a.consumer.Pause(tp) },
		Resume:     func(tp wire.TopicPartition) { a.consumer.Resume(tp) },
		Seek:       func(at map[wire.TopicPartition]uint64) { a.consumer.Seek(at) },
		Rediscover: func(topic string) { a.consumer.Rediscover(topic) },
		Heartbeat:  a.cfg.heartbeat(),

		Identify: a.reader.Identify,
		Held: func(ctx context.Context, tp wire.TopicPartition, next uint64) (wire.Held, error) {
			return a.reader.Held(ctx, a.cfg.Group, tp, next)
		},
		Prepare: func(ctx context.Context, id wire.Identity) error {
			return a.topics.EnsureChangelog(ctx, id.Source.Topic, id.Partitions)
		},
		Changelog: a.changelog,
		Committed: func(ctx context.Context, tp wire.TopicPartition) (uint64, bool, error) {
			return a.reader.Committed(ctx, a.cfg.Group, tp)
		},
		LastSeq: func(ctx context.Context, src *wire.Source) (uint64, error) {
			return a.reader.LastSeq(ctx, src, a.cfg.ChangesTopic, sink.ChangePartition)
		},
		ReadChangelog: func(ctx context.Context, tp wire.TopicPartition, from int64, put func(offset int64, key, value []byte) error) (int64, error) {
			return a.reader.ReadChangelog(ctx, wire.TopicPartition{Topic: a.topics.Changelog(tp.Topic), Partition: tp.Partition}, from, put)
		},

		Scan: a.reader.Scan,

		Renew:  a.producer.Renew,
		Commit: a.commit,

		Meta: func(src *wire.Source) (worker.Meta, bool, error) {
			m, ok, err := a.store.Meta(src)
			return worker.Meta{
				Frontier: m.Frontier, ChangelogNext: m.ChangelogNext, ChangelogID: m.ChangelogID, Holes: m.Holes,
				AppliedAt: m.AppliedAt, Removing: m.Removing, RefoldTo: m.RefoldTo,
			}, ok, err
		},
		NewRestore: func(src *wire.Source, changelogID uint64) worker.Restore {
			return newRestore(a.store, src, changelogID)
		},
		Remove: a.store.RemoveSource,
		Copy: func(src *wire.Source) (func() (*row.Batch, error), error) {
			c, err := a.store.Copy(src)
			if err != nil {
				return nil, err
			}
			return c.Next, nil
		},
		Load:      a.store.Load,
		LoadState: a.store.LoadState,
		Kept:      a.store.Kept,
		ApplyRows: a.store.ApplyRows,
		Apply: func(steps []worker.Applied) error {
			out := make([]index.Applied, len(steps))
			for i, s := range steps {
				out[i] = index.Applied{Batch: s.Batch, ChangelogNext: s.ChangelogNext, ChangelogID: s.ChangelogID}
			}
			return a.store.Apply(out)
		},

		Memory: worker.NewMemory(func(src *wire.Source) wire.Decoder { return wire.NewDecoder(src.Dialect, a.keys[src.Stream]) }),
		Fold:   func(stream string) *fold.Config { return a.folds[stream] },
		Folded: a.cfg.Telemetry.Folded,
	}
	if a.cfg.Telemetry.Tracing() {
		e.Follow = a.cfg.Telemetry.Follow
	}
	return e
}

// changelog finds a source's changelog. One that was deleted under this process
// is made again by the next try.
func (a *App) changelog(ctx context.Context, tp wire.TopicPartition) (worker.Changelog, error) {
	a.tidy.RLock() // a removal of its state from when it was not ours ends first
	defer a.tidy.RUnlock()
	t, err := a.reader.State(ctx, wire.TopicPartition{Topic: a.topics.Changelog(tp.Topic), Partition: tp.Partition})
	if err != nil {
		a.topics.Forget(tp.Topic)
		return worker.Changelog{}, err
	}
	return worker.Changelog{ID: t.ID, Start: t.Start, High: t.High, Tombstones: a.topics.DeleteRetention(tp.Topic)}, nil
}

// commit translates between the worker's transaction and the sink's.
func (a *App) commit(ctx context.Context, t *worker.Txn) ([]int64, error) {
	steps := make([]sink.Step, len(t.Steps))
	for i, s := range t.Steps {
		steps[i] = sink.Step(s)
	}
	told := a.cfg.Telemetry.Commit(ctx, t, a.topics.Changelog)
	next, err := a.producer.Commit(ctx, &sink.Txn{Steps: steps, Headers: told.Headers(), Own: func() (sink.Member, func(), error) {
		told.Sent()
		id, generation, release, err := t.Own()
		return sink.Member{ID: id, Generation: generation, Instance: a.cfg.Instance}, release, err
	}})
	err = failure(err)
	told.End(err)
	return next, err
}

// failure is the sink's in the worker's terms.
func failure(err error) error {
	var f *sink.Failure
	if errors.As(err, &f) {
		return &worker.Failure{
			Err: f, Where: f.Where.String(), Hold: holds(f),
			Wait: f.Has(sink.Wait), Renew: f.Has(sink.Renew), Exit: f.Has(sink.Exit), Fenced: f.Fenced(),
		}
	}
	return err
}

func holds(f *sink.Failure) []int {
	if f.Has(sink.Hold) {
		return f.Steps
	}
	return nil
}
