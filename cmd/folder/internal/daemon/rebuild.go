package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sessionfold/cmd/folder/internal/app"
	"sessionfold/worker"
)

// Rebuild begins the sources of a stream anew that this worker owns, or one of
// them, and says how each went.
func Rebuild(ctx context.Context, a *app.App, stream, source string, lossy bool) ([]Rebuilt, error) {
	if !a.HasStream(stream) {
		return nil, fmt.Errorf("stream %q is not configured here", stream)
	}
	var of []worker.SourceStatus
	for _, s := range a.Sources() {
		if a.StreamOf(s.Topic) == stream && (source == "" || s.TopicPartition.String() == source) {
			of = append(of, s)
		}
	}
	if len(of) == 0 {
		if source == "" {
			return nil, fmt.Errorf("this worker owns no source of stream %q", stream)
		}
		return nil, fmt.Errorf("this worker does not own %s of stream %q", source, stream)
	}
	out := make([]Rebuilt, len(of))
	var wg sync.WaitGroup
	for i, s := range of {
		wg.Go(func() {
			err := a.BeginAnew(ctx, s.TopicPartition, lossy)
			out[i].Source = s.TopicPartition.String()
			if err != nil {
				out[i].Error, out[i].Lossy = err.Error(), errors.Is(err, worker.ErrLossy)
			}
		})
	}
	wg.Wait()
	slices.SortFunc(out, func(a, b Rebuilt) int {
		if a.Source < b.Source {
			return -1
		}
		return 1
	})
	return out, nil
}
