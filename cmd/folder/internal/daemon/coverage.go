package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sessionfold/serve"
	"sessionfold/source"
	"sessionfold/wire"
	"sessionfold/worker"
)

// headsWait bounds how long a read waits for the brokers to say which
// partitions there are.
const headsWait = 2 * time.Second

// coverage knows what a stream consists of and what of it this worker can
// answer for: a read is whole or refused, never a silent part.
type coverage struct {
	heads   func(context.Context) (map[wire.TopicPartition]source.Head, error)
	sources func() []worker.SourceStatus
	topics  map[string][]string // stream → its topics

	mu   sync.Mutex
	last map[wire.TopicPartition]source.Head // the last answer: brokers that are away take no partition with them
}

func newCoverage(streams []source.Stream, heads func(context.Context) (map[wire.TopicPartition]source.Head, error), sources func() []worker.SourceStatus) *coverage {
	c := &coverage{heads: heads, sources: sources, topics: map[string][]string{}}
	for _, s := range streams {
		for _, t := range s.Topics {
			if t.Role.Folded() {
				c.topics[s.Name] = append(c.topics[s.Name], t.Topic)
			}
		}
	}
	return c
}

func (c *coverage) known() (map[wire.TopicPartition]source.Head, error) {
	ctx, cancel := context.WithTimeout(context.Background(), headsWait)
	defer cancel()
	m, err := c.heads(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.last = m
	}
	if c.last == nil {
		return nil, errors.New("the brokers have not said yet which partitions there are")
	}
	return c.last, nil
}

// partitions are those that a stream consists of.
func (c *coverage) partitions(stream string) ([]wire.TopicPartition, error) {
	heads, err := c.known()
	if err != nil {
		return nil, err
	}
	var out []wire.TopicPartition
	for tp := range heads {
		if slices.Contains(c.topics[stream], tp.Topic) {
			out = append(out, tp)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the brokers know none of its topics")
	}
	return out, nil
}

// holding is what this worker has of a stream. A source that waits after an
// error still answers, with its frontier.
func (c *coverage) holding(stream string) serve.Holding {
	var out serve.Holding
	for _, s := range c.sources() {
		switch {
		case !slices.Contains(c.topics[stream], s.Topic):
		case s.Source == nil || s.State == worker.Restoring:
			out.Restoring = append(out.Restoring, s.TopicPartition)
		default:
			out.Sources = append(out.Sources, s.Source)
		}
	}
	return out
}

// lacks is nil when this worker holds every partition of the stream.
func (c *coverage) lacks(stream string) error {
	heads, err := c.known()
	if err != nil {
		return err
	}
	have := map[wire.TopicPartition]worker.State{}
	for _, s := range c.sources() {
		if s.Source != nil {
			have[s.TopicPartition] = s.State
		}
	}
	var missing []string
	for tp := range heads {
		if !slices.Contains(c.topics[stream], tp.Topic) {
			continue
		}
		state, mine := have[tp]
		switch {
		case !mine:
			missing = append(missing, tp.String()+" (of another worker, or not assigned yet)")
		case state == worker.Restoring:
			missing = append(missing, tp.String()+" (restoring)")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	n := len(missing)
	if n > 5 {
		missing = append(missing[:5], fmt.Sprintf("and %d more", n-5))
	}
	return fmt.Errorf("it lacks %s; with http.peers the workers ask each other", strings.Join(missing, ", "))
}
