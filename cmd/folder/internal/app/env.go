package app

import (
	"context"
	"errors"
	"fmt"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/sink"
	"sessionfold/wire"
	"sessionfold/worker"
)

// env gives the worker its world. The consumer is not there yet when this is
// called, so its functions look it up.
func (a *App) env() *worker.Env {
	return &worker.Env{
		Poll: func(ctx context.Context, max int) ([]wire.Fetched, []error, error) { return a.consumer.Poll(ctx, max) },
		Member: func() (string, int32) {
			if a.consumer == nil {
				return "", -1
			}
			return a.consumer.Member()
		},
		Pause:      func(tp wire.TopicPartition) { a.consumer.Pause(tp) },
		Resume:     func(tp wire.TopicPartition) { a.consumer.Resume(tp) },
		Seek:       func(tp wire.TopicPartition, offset uint64) { a.consumer.Seek(tp, offset) },
		Rediscover: func(topic string) { a.consumer.Rediscover(topic) },
		Heartbeat:  a.cfg.heartbeat(),

		Identify: a.reader.Identify,
		Held: func(ctx context.Context, tp wire.TopicPartition, next uint64) (wire.Held, error) {
			return a.reader.Held(ctx, a.cfg.Group, tp, next)
		},
		Prepare: func(ctx context.Context, id wire.Identity) error {
			return a.topics.EnsureChangelog(ctx, id.Source.Topic, id.Partitions)
		},
		ReadChangelog: func(ctx context.Context, tp wire.TopicPartition, from int64, put func(key, value []byte) error) (int64, error) {
			return a.reader.ReadChangelog(ctx, wire.TopicPartition{Topic: a.topics.Changelog(tp.Topic), Partition: tp.Partition}, from, put)
		},

		Scan: a.reader.Scan,

		Renew:  a.producer.Renew,
		Commit: a.commit,

		Meta: func(src *wire.Source) (worker.Meta, bool, error) {
			m, ok, err := a.store.Meta(src)
			return worker.Meta{Frontier: m.Frontier, ChangelogNext: m.ChangelogNext, Holes: m.Holes}, ok, err
		},
		NewRestore: func(src *wire.Source) worker.Restore {
			return &restore{id: row.IDOf(src), to: a.store.NewRestorer(src)}
		},
		Load:      a.store.Load,
		LoadState: a.store.LoadState,
		Kept:      a.store.Kept,
		ApplyRows: a.store.ApplyRows,
		Apply: func(steps []worker.Applied) error {
			out := make([]index.Applied, len(steps))
			for i, s := range steps {
				out[i] = index.Applied{Batch: s.Batch, ChangelogNext: s.ChangelogNext}
			}
			return a.store.Apply(out)
		},

		NewDecoder: func(wire.Dialect) wire.Decoder { return wire.NewAGDXDecoder() },
		Fold:       func(stream string) *fold.Config { return a.folds[stream] },
	}
}

// commit translates between the worker's transaction and the sink's.
func (a *App) commit(ctx context.Context, t *worker.Txn) ([]int64, error) {
	steps := make([]sink.Step, len(t.Steps))
	for i, s := range t.Steps {
		steps[i] = sink.Step(s)
	}
	next, err := a.producer.Commit(ctx, &sink.Txn{Steps: steps, Own: func() (sink.Member, func(), error) {
		id, generation, release, err := t.Own()
		return sink.Member{ID: id, Generation: generation, Instance: a.cfg.Instance}, release, err
	}})
	var f *sink.Failure
	if errors.As(err, &f) {
		return nil, &worker.Failure{
			Err: f, Where: f.Where.String(), Hold: holds(f),
			Wait: f.Has(sink.Wait), Renew: f.Has(sink.Renew), Exit: f.Has(sink.Exit), Fenced: f.Fenced(),
		}
	}
	return next, err
}

func holds(f *sink.Failure) []int {
	if f.Has(sink.Hold) {
		return f.Steps
	}
	return nil
}

// restore takes a source's own records out of its changelog, which it shares
// with former generations of the topic. Those are folded no more.
type restore struct {
	id row.SourceID
	to *index.Restorer
}

func (r *restore) Put(key, value []byte) error {
	id, err := row.DurableSource(key)
	if err != nil {
		return fmt.Errorf("app: a changelog record of an unknown kind: %w", err)
	}
	if id.Stream == r.id.Stream && id.Source != r.id.Source {
		return nil
	}
	return r.to.Put(key, value)
}

func (r *restore) Commit(changelogNext int64) error { return r.to.Commit(changelogNext) }
