package app

import (
	"context"

	"sessionfold/wire"
)

// BeginAnew drops what was folded of a source this process owns and folds it
// again; see worker.BeginAnew.
func (a *App) BeginAnew(ctx context.Context, tp wire.TopicPartition, lossy bool) error {
	return a.worker.BeginAnew(ctx, tp, lossy)
}

// RefoldTo is the offset to which a source that was begun anew is being folded
// again; 0 when it is not.
func (a *App) RefoldTo(src *wire.Source) uint64 {
	if src == nil {
		return 0
	}
	m, _, err := a.store.Meta(src)
	if err != nil {
		return 0 // the store's trouble shows elsewhere
	}
	return m.State().RefoldTo
}

// StreamOf is the stream that a topic belongs to, "" when it is none of ours.
func (a *App) StreamOf(topic string) string {
	for _, s := range a.streams {
		for _, t := range s.Topics {
			if t.Topic == topic {
				return s.Name
			}
		}
	}
	return ""
}

// HasStream says that a stream is configured.
func (a *App) HasStream(name string) bool {
	for _, s := range a.streams {
		if s.Name == name {
			return true
		}
	}
	return false
}
