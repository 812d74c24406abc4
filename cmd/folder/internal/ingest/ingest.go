package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/sink"
	"sessionfold/source"
	"sessionfold/wire"
)

// Options of an import.
type Options struct {
	Files   []string
	Dialect *wire.Dialect                                      // of all files; nil: each file's first line tells
	Route   func(wire.Dialect) (stream, topic string, _ error) // where lines go
	Kafka   *Kafka                                             // nil: nothing is sent
	Now     func() time.Time                                   // records get this time; nil: the files'

	Progress func(n int)                           // bytes read
	Looking  func(topic string, read, total int64) // records looked at of what a topic has
}

// Kafka is where the records go.
type Kafka struct {
	Conn       source.Conn
	Partitions int32 // of topics that are missing; 0: they are not made
	Replicas   int16
}

// run is an import under way.
type run struct {
	o       Options
	targets *sink.Targets
	lanes   map[wire.Dialect]*lane
	order   []*lane
	files   map[string]string // by id: the file
	keys    map[string]string // by session of a DeepStrike log: the file
	file    string            // at hand, and its id
	id      string
	failed  atomic.Pointer[error]
}

// flushFor is how long an import that is stopped waits for what is under way.
const flushFor = 10 * time.Second

// Run sends the lines of all files and waits until they are written. What was
// done is told also when it fails.
func Run(ctx context.Context, o Options) (reports []Report, err error) {
	r := &run{o: o, lanes: map[wire.Dialect]*lane{}, files: map[string]string{}, keys: map[string]string{}}
	if o.Kafka != nil {
		opts, err := o.Kafka.Conn.Options()
		if err != nil {
			return nil, err
		}
		if r.targets, err = sink.NewTargets(opts); err != nil {
			return nil, err
		}
		defer r.targets.Close()
	}
	err = replay.ReadExports(ctx, o.Files, o.Dialect, o.Progress, func(l *replay.Line) error { return r.line(ctx, l) })
	err = errors.Join(err, r.finish(ctx))
	if first := r.failed.Load(); first != nil {
		err = *first // it says which line
	}
	for _, la := range r.order {
		la.Sent = la.sent.Load()
		reports = append(reports, la.Report)
	}
	return reports, err
}

// finish waits for what is under way.
func (r *run) finish(ctx context.Context) (err error) {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushFor)
	defer cancel()
	for _, la := range r.order {
		if la.app == nil {
			continue
		}
		switch {
		case r.failed.Load() != nil: // what lies behind a line that failed is sent again, in order
			err = errors.Join(err, la.app.Abort(wait))
		case ctx.Err() != nil:
			err = errors.Join(err, la.app.Flush(wait))
		default:
			err = errors.Join(err, la.app.Flush(ctx))
		}
		la.app.Close()
	}
	return err
}

func (r *run) line(ctx context.Context, l *replay.Line) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.failed.Load(); err != nil {
		return *err
	}
	la, err := r.lane(ctx, l.Dialect())
	if err != nil {
		return err
	}
	if l.File != r.file {
		if err := r.begin(l); err != nil {
			return err
		}
	}
	key, ok := la.read(l)
	if !ok || la.app == nil {
		return nil
	}
	partition := la.to.Partition(key)
	there, err := la.files[r.id].has(partition, l.N, l.Value)
	if err != nil {
		return err
	}
	if there {
		la.Had++
		return nil
	}
	raw := wire.Raw{Timestamp: l.Timestamp, Key: key, Value: l.Value, Headers: []wire.Header{mark(r.id, l.N)}}
	if r.o.Now != nil {
		raw.Timestamp = r.o.Now().UnixMilli()
	}
	if err := fits(&la.to, &raw); err != nil {
		return err
	}
	file, n := l.File, l.N
	la.app.Append(ctx, la.to.Topic, partition, &raw, func(err error) {
		if err == nil {
			la.sent.Add(1)
			return
		}
		err = fmt.Errorf("%s:%d: write to topic %s: %w", file, n, la.to.Topic, err)
		r.failed.CompareAndSwap(nil, &err)
	})
	return nil
}

// begin meets a file.
func (r *run) begin(first *replay.Line) error {
	r.file, r.id = first.File, fileID(first)
	if other, ok := r.files[r.id]; ok {
		return fmt.Errorf("the same log as %s: its name and its first line are the same\n    hint: give each log once", other)
	}
	r.files[r.id] = r.file
	if len(first.Key) == 0 {
		return nil
	}
	if other, ok := r.keys[string(first.Key)]; ok {
		return fmt.Errorf("%s is a log of session %s too\n    hint: a session has one log; import the directories one by one if they belong to different streams", other, first.Key)
	}
	r.keys[string(first.Key)] = r.file
	return nil
}

// lane gives where the lines of a dialect go, and looks there when it is the first.
func (r *run) lane(ctx context.Context, d wire.Dialect) (*lane, error) {
	if la, ok := r.lanes[d]; ok {
		return la, nil
	}
	stream, topic, err := r.o.Route(d)
	if err != nil {
		return nil, err
	}
	for _, other := range r.order {
		if other.Topic == topic {
			return nil, fmt.Errorf("is of %s, and topic %s gets lines of %s: a stream has one dialect\n    hint: import the two apart, into two topics", d, topic, other.Dialect)
		}
	}
	la := newLane(d, stream, topic)
	if r.o.Kafka != nil {
		if err := r.connect(ctx, la); err != nil {
			return nil, err
		}
	}
	r.lanes[d] = la
	r.order = append(r.order, la)
	return la, nil
}

func (r *run) connect(ctx context.Context, la *lane) (err error) {
	k := r.o.Kafka
	la.to, err = r.targets.Look(ctx, la.Topic)
	if errors.Is(err, sink.ErrNoTopic) && k.Partitions > 0 {
		la.to, err = r.targets.Create(ctx, la.Topic, k.Partitions, k.Replicas)
	}
	if errors.Is(err, sink.ErrNoTopic) {
		return fmt.Errorf("%w\n    hint: give the number of partitions that it is to have with --partitions, or make it first", err)
	}
	if err != nil {
		return err
	}
	la.BrokerTime = la.to.BrokerTime
	reader, err := source.NewReader(k.Conn, []source.Stream{{Name: la.Stream, Dialect: la.Dialect, Topics: []wire.TopicRole{{Topic: la.Topic, Role: wire.RoleLane}}}})
	if err != nil {
		return err
	}
	defer reader.Close()
	if la.files, err = look(ctx, reader, &la.to, func(read, total int64) { r.o.Looking(la.Topic, read, total) }); err != nil {
		return err
	}
	la.app, err = r.targets.NewAppender(la.to)
	return err
}

// batchOverhead is what a batch of one record adds to it, at most.
const batchOverhead = 160

// fits finds what a broker would refuse, or delete at once, before it is sent:
// what lies behind it would be written first.
func fits(to *sink.Target, raw *wire.Raw) error {
	size := batchOverhead + len(raw.Key) + len(raw.Value)
	for _, h := range raw.Headers {
		size += len(h.Key) + len(h.Value)
	}
	if size > to.MaxBytes {
		return fmt.Errorf("has %d bytes, and topic %s takes records of %d\n    hint: alter max.message.bytes of the topic", len(raw.Value), to.Topic, to.MaxBytes)
	}
	at := time.UnixMilli(raw.Timestamp)
	if to.Keeps > 0 && !to.BrokerTime && time.Since(at) > to.Keeps {
		return fmt.Errorf("is of %s, and topic %s keeps records for %v by their own times, so it would delete it\n    hint: alter the topic to retention.ms=-1, or give --now", at.UTC().Format(time.DateOnly), to.Topic, to.Keeps)
	}
	return nil
}
