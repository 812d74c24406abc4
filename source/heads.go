package source

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"sessionfold/wire"
)

// Head is what the brokers hold of a partition: offsets [Start, High).
type Head struct {
	Start, High uint64
	Generation  uint64 // of the topic
	Partitions  int    // of the topic
}

// headsFor is how long a look at the heads serves further reads: many readers
// together cost the brokers one look.
const headsFor = time.Second

type headCache struct {
	mu sync.Mutex
	at time.Time
	m  map[wire.TopicPartition]Head
}

// Heads gives the log start and high watermark of every partition of every
// configured topic that exists; the answer may be a second old.
func (r *Reader) Heads(ctx context.Context) (map[wire.TopicPartition]Head, error) {
	r.heads.mu.Lock()
	defer r.heads.mu.Unlock()
	if r.heads.m != nil && time.Since(r.heads.at) < headsFor {
		return r.heads.m, nil
	}
	names := make([]string, 0, len(r.topics))
	for t := range r.topics {
		names = append(names, t)
	}
	md, err := r.adm.Metadata(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("source: heads: %w", err)
	}
	var exist []string
	for name, t := range md.Topics {
		if t.Err == nil {
			exist = append(exist, name)
		} else if !errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
			return nil, fmt.Errorf("source: heads of %s: %w", name, t.Err)
		}
	}
	m := map[wire.TopicPartition]Head{}
	if len(exist) > 0 {
		starts, err := r.adm.ListStartOffsets(ctx, exist...)
		if err != nil {
			return nil, fmt.Errorf("source: heads: %w", err)
		}
		ends, err := r.adm.ListEndOffsets(ctx, exist...)
		if err != nil {
			return nil, fmt.Errorf("source: heads: %w", err)
		}
		ends.Each(func(o kadm.ListedOffset) {
			s, ok := starts.Lookup(o.Topic, o.Partition)
			if !ok || s.Err != nil || o.Err != nil {
				return
			}
			t := md.Topics[o.Topic]
			m[wire.TopicPartition{Topic: o.Topic, Partition: o.Partition}] = Head{
				Start: uint64(s.Offset), High: uint64(o.Offset),
				Partitions: len(t.Partitions), Generation: wire.GenerationOf(t.ID),
			}
		})
	}
	r.heads.m, r.heads.at = m, time.Now()
	return m, nil
}
