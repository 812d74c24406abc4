package app

import (
	"context"
	"errors"
	"time"

	"sessionfold/index"
	"sessionfold/source"
	"sessionfold/wire"
	"sessionfold/worker"
)

// Store is the index, for reads.
func (a *App) Store() *index.Store { return a.store }

// Changes gives rows of the changes topic for a stream, for the read `changes`.
func (a *App) Changes(ctx context.Context, stream string, after uint64, limit int) (wire.SessionChanges, error) {
	return a.changes.Read(ctx, stream, after, limit)
}

// Heads gives what the brokers hold of every configured partition.
func (a *App) Heads(ctx context.Context) (map[wire.TopicPartition]source.Head, error) {
	return a.reader.Heads(ctx)
}

// Sources gives the state of every source this process owns.
func (a *App) Sources() []worker.SourceStatus { return a.worker.Sources() }

// Stats gives the worker's counters.
func (a *App) Stats() worker.Stats { return a.worker.Stats() }

// Ready says nil when this worker may serve: it has its producer, and every
// source it owns is active. A worker that owns nothing is ready.
func (a *App) Ready() error { return a.worker.Ready() }

// Live says nil unless the loop has stood still for longer than limit.
func (a *App) Live(limit time.Duration) error { return a.worker.Live(limit) }

// Streams lists the configured streams with their topics.
func (a *App) Streams() []source.Stream { return a.streams }

// keepEvery is how often the log starts are looked up, so that timeline rows of
// expired offsets go.
const keepEvery = 30 * time.Second

// keep notes what the brokers still retain of the sources this process owns,
// and prunes what they do not, until ctx ends.
func (a *App) keep(ctx context.Context) {
	t := time.NewTicker(keepEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := errors.Join(a.Keep(ctx), a.Tidy(ctx)); err != nil && ctx.Err() == nil {
			a.cfg.Logger.Warn("expired rows could not be pruned; trying again", "err", err)
		}
	}
}

// Keep does one round of that work at once.
func (a *App) Keep(ctx context.Context) error {
	heads, err := a.reader.Heads(ctx)
	if err != nil {
		return err
	}
	for _, s := range a.worker.Sources() {
		h, ok := heads[s.TopicPartition]
		if s.Source == nil || s.State != worker.Active || !ok || h.Generation != s.Source.Generation {
			continue
		}
		if err := a.store.SetRetained(s.Source, h.Start); err != nil {
			return err
		}
		if _, err := a.store.Prune(ctx, s.Source); err != nil {
			return err
		}
	}
	return nil
}
