// Package preflight asks the brokers whether a configuration would work: topics,
// their settings, and what the user is allowed to do.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/sink"
)

// A Preflight holds a configuration against the brokers.
type Preflight struct {
	topics   *sink.Topics
	sources  []sink.Want // topics that are read
	folded   []string    // those of them that have a changelog
	instance string
}

// New makes the client; it asks nothing yet.
func New(c *config.Config, log *slog.Logger) (*Preflight, error) {
	ac, err := daemon.AppConfig(c, nil, log)
	if err != nil {
		return nil, err
	}
	opts, err := ac.Kafka.Options()
	if err != nil {
		return nil, err
	}
	p := &Preflight{instance: ac.Instance}
	if p.instance == "" {
		if p.instance, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("no instance is set and the host has no name: %w", err)
		}
	}
	for _, s := range daemon.SourceStreams(c) {
		for _, t := range s.Topics {
			p.sources = append(p.sources, sink.WantSource(t.Topic))
			if t.Role.Folded() {
				p.folded = append(p.folded, t.Topic)
			}
		}
	}
	if len(p.sources) == 0 {
		return nil, errors.New("no stream is configured, so there is nothing to check")
	}
	p.topics, err = sink.NewTopics(sink.TopicsConfig{
		Opts: opts, Group: ac.Group, ChangesTopic: ac.ChangesTopic, ReplicationFactor: ac.ReplicationFactor, CheckOnly: ac.CheckTopics,
	})
	return p, err
}

// Close ends the client.
func (p *Preflight) Close() { p.topics.Close() }

// Check finds everything that is wrong. It changes nothing.
func (p *Preflight) Check(ctx context.Context) ([]sink.Finding, error) {
	fs, err := p.topics.Access(ctx, p.instance)
	if err != nil {
		return nil, err
	}
	more, partitions, err := p.topics.Inspect(ctx, p.sources)
	if err != nil {
		return nil, err
	}
	fs = append(fs, more...)
	wants := []sink.Want{p.topics.WantChanges()}
	for _, t := range p.folded {
		if n := partitions[t]; n > 0 { // otherwise nobody knows yet how many
			wants = append(wants, p.topics.WantChangelog(t, n))
		}
	}
	more, _, err = p.topics.Inspect(ctx, wants)
	return append(fs, more...), err
}

// Topics is how many topics are read.
func (p *Preflight) Topics() int { return len(p.sources) }

// Create makes the topics that are missing: those that are read with so many
// partitions (0: they are left alone), the changes topic, and changelogs. It
// calls made for each.
func (p *Preflight) Create(ctx context.Context, partitions int32, made func(topic string)) error {
	isNew := map[string]int32{}
	if partitions > 0 {
		for _, w := range p.sources {
			w.Partitions = partitions
			ok, err := p.topics.Create(ctx, w)
			if err != nil {
				return err
			}
			if ok {
				isNew[w.Topic] = partitions
				made(w.Topic)
			}
		}
	}
	_, have, err := p.topics.Inspect(ctx, p.sources)
	if err != nil {
		return err
	}
	wants := []sink.Want{p.topics.WantChanges()}
	for _, t := range p.folded {
		if n := max(have[t], isNew[t]); n > 0 { // brokers may not know yet what one of them made
			wants = append(wants, p.topics.WantChangelog(t, n))
		}
	}
	for _, w := range wants {
		isNew, err := p.topics.Create(ctx, w)
		if err != nil {
			return err
		}
		if isNew {
			made(w.Topic)
		}
	}
	return nil
}
