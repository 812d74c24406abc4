package bench

import (
	"context"
	"fmt"
	"time"

	"sessionfold/wire"
)

// Run is one measurement of a load.
type Run struct {
	Records   int
	Took      time.Duration // first fetch to last record readable
	Drain     time.Duration // the same for a consumer that only drains
	CPU       time.Duration // of the worker from its start to its end
	RSS       int64         // peak, bytes
	Store     int64         // bytes of the store after a clean stop
	Changelog int64         // bytes of the changelog topic
}

// Rate is records per second, end to end.
func (r *Run) Rate() float64 { return float64(r.Records) / r.Took.Seconds() }

// DrainRate is records per second of the draining consumer.
func (r *Run) DrainRate() float64 { return float64(r.Records) / r.Drain.Seconds() }

// Ratio compares the two.
func (r *Run) Ratio() float64 { return r.Rate() / r.DrainRate() }

// Bench measures on one broker.
type Bench struct {
	Kafka  *Kafka
	Folder string // binary
	Dir    string // scratch
	Within time.Duration
	Env    []string // of the worker, beside this process's own
	// Profile, when set, is a directory for CPU profiles of the worker, each of
	// the first ProfileFor of a catch-up.
	Profile    string
	ProfileFor time.Duration
}

// Preload creates the stream's topics and writes a load.
func (b *Bench) Preload(ctx context.Context, stream string, l *Load) error {
	if err := b.Kafka.CreateTopics(ctx, l.topics(stream), l.Partitions); err != nil {
		return err
	}
	return b.Kafka.Produce(ctx, l.Records)
}

// Throughput lets a fresh worker catch up with a preloaded stream, after a
// drain of the same topic.
func (b *Bench) Throughput(ctx context.Context, stream, group string, l *Load) (Run, error) {
	topic, ends := l.lane(stream), map[string]map[int32]int64{}
	r := Run{Records: len(l.Records)}
	var err error
	for t := range l.Probes {
		if ends[t], err = b.Kafka.Ends(ctx, t); err != nil {
			return r, err
		}
	}
	if r.Drain, err = b.Kafka.Drain(ctx, topic, ends); err != nil {
		return r, err
	}
	first, err := b.Kafka.FirstFetch(topic)
	if err != nil {
		return r, err
	}
	w, err := b.startWorker(stream, group, l.Dialect)
	if err != nil {
		return r, err
	}
	defer w.Kill()
	if err := w.awaitReads(ctx, 30*time.Second); err != nil {
		return r, err
	}
	if b.Profile != "" {
		go func() {
			if err := w.profile(ctx, b.ProfileFor, fmt.Sprintf("%s/%s.pprof", b.Profile, group)); err != nil {
				fmt.Println("bench:", err)
			}
		}()
	}
	var end time.Time
	for t := range l.Probes { // the last one to be seen at its end is the end
		if end, err = w.awaitFolded(ctx, l, t, ends[t], b.Within); err != nil {
			return r, err
		}
	}
	start, err := first()
	if err != nil {
		return r, err
	}
	r.Took, r.RSS = end.Sub(start), w.PeakRSS()
	if err := w.Stop(); err != nil {
		return r, err
	}
	r.CPU = w.CPU()
	if r.Store, err = w.StoreSize(); err != nil {
		return r, err
	}
	r.Changelog, err = b.Kafka.Size(ctx, group+"-"+topic+"-changelog")
	return r, err
}

// topics of a load's stream.
func (l *Load) topics(stream string) []wire.TopicRole { return topicsOf(stream, l.Dialect) }

func topicsOf(stream string, d wire.Dialect) []wire.TopicRole {
	if d == wire.DialectAGDX {
		return wire.TopicsOf(stream)
	}
	return []wire.TopicRole{{Topic: stream + ".events", Role: wire.RoleLane}}
}

// lane is the topic of a load's stream that most of it lies in.
func (l *Load) lane(stream string) string {
	for _, t := range l.topics(stream) {
		if t.Role == wire.RoleLane {
			return t.Topic
		}
	}
	panic("bench: a stream without a lane")
}
