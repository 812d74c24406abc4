package app

import (
	"context"
	"time"

	"sessionfold/wire"
)

// foreignFor is how long another worker must have had a source before its state
// is removed here: until then it saves a restore when the source comes back.
const foreignFor = 24 * time.Hour

// Tidy removes the state of sources that other workers have held for a day. That
// of topics which were deleted or made anew stays: it is read as history.
func (a *App) Tidy(ctx context.Context) error {
	heads, err := a.reader.Heads(ctx)
	if err != nil {
		return err
	}
	for _, s := range a.streams {
		metas, err := a.store.Sources(s.Name)
		if err != nil {
			return err
		}
		for i := range metas {
			m := &metas[i]
			tp := wire.TopicPartition{Topic: m.Source.Topic, Partition: int32(m.Source.Partition)}
			h, there := heads[tp]
			if !there || h.Generation != m.Source.Generation || a.cfg.Now().Sub(m.AppliedAt) < foreignFor {
				continue
			}
			if err := a.removeForeign(ctx, tp, m.Source); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeForeign removes a source unless it is ours. One that is assigned
// meanwhile waits with its restore, see changelog.
func (a *App) removeForeign(ctx context.Context, tp wire.TopicPartition, src *wire.Source) error {
	a.tidy.Lock()
	defer a.tidy.Unlock()
	for _, s := range a.worker.Sources() {
		if s.TopicPartition == tp {
			return nil
		}
	}
	a.cfg.Logger.Info("another worker has had a source for a day; its state is removed here", "source", src.String())
	return a.store.RemoveSource(ctx, src)
}
