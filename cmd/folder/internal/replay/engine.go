package replay

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
	"sessionfold/worker"
)

// A batch of one source is folded when it has this many records or bytes.
const (
	batchRecords = 20_000
	batchBytes   = 16 << 20
)

// generation of every topic in a replay: a log has no topic UUIDs.
const generation = 1

// Engine folds lines into a store in memory.
type Engine struct {
	Records uint64 // folded
	streams []Stream
	routes  map[string]route
	told    map[string]wire.Dialect // of topics whose records tell it
	untold  map[string][]*Line      // that wait until one does
	foreign map[string]uint64       // records of topics that belong to no stream
	parts   map[wire.TopicPartition]*source
	store   *index.Store
	memory  *worker.Memory
}

// source is one partition with what waits to be folded.
type source struct {
	part  *worker.Part
	wait  []wire.Raw
	bytes int
	next  uint64 // least offset that may come
	began bool
}

// New makes an engine. Close ends it.
func New(streams []Stream) (*Engine, error) {
	store, err := index.Open(index.Options{Dir: "replay", FS: index.Memory(), CacheBytes: 64 << 20})
	if err != nil {
		return nil, err
	}
	return &Engine{
		streams: streams, routes: routes(streams), told: map[string]wire.Dialect{}, untold: map[string][]*Line{}, foreign: map[string]uint64{},
		parts: map[wire.TopicPartition]*source{}, store: store,
		memory: worker.NewMemory(func(src *wire.Source) wire.Decoder {
			i := slices.IndexFunc(streams, func(s Stream) bool { return s.Name == src.Stream })
			return wire.NewDecoder(src.Dialect, func() *wire.Keys { return streams[i].Keys })
		}),
	}, nil
}

// Close ends the engine and its store.
func (e *Engine) Close() error { return e.store.Close() }

// Store holds what was folded; Flush first.
func (e *Engine) Store() *index.Store { return e.store }

// Foreign lists the topics that belong to no stream, with how many records were
// left out for it.
func (e *Engine) Foreign() []string {
	var out []string
	for topic, n := range e.foreign {
		out = append(out, fmt.Sprintf("%s (%d records)", topic, n))
	}
	sort.Strings(out)
	return out
}

// Put takes one line.
func (e *Engine) Put(l *Line) error {
	if l.exported {
		e.route(l)
	}
	tp := l.TopicPartition()
	s, ok := e.parts[tp]
	if !ok {
		r, known := e.routes[l.Topic]
		if !known {
			if l.Offset != nil {
				e.foreign[l.Topic]++
			}
			return nil
		}
		if !r.role.Folded() {
			return nil
		}
		if r.stream.Auto {
			if ready, err := e.tell(l); !ready {
				return err
			}
		}
		s = e.open(tp, r)
	}
	if l.LogStart != nil {
		if s.began {
			return fmt.Errorf("%s: log_start behind the partition's first record", tp)
		}
		s.part.Expire(*l.LogStart, fold.GapExpiredBeforeFold)
		s.next, s.began = *l.LogStart, true
		return nil
	}
	raw := l.Raw()
	if raw.Offset < s.next {
		return fmt.Errorf("%s: offset %d after offset %d\n    hint: a log has the records of a partition in offset order, each once; give the files of one log, in order", tp, raw.Offset, s.next-1)
	}
	s.next, s.began = raw.Offset+1, true
	s.wait = append(s.wait, raw)
	if s.bytes += len(raw.Key) + len(raw.Value); len(s.wait) >= batchRecords || s.bytes >= batchBytes {
		return e.fold(s)
	}
	return nil
}

// route gives a line of a dialect's own file to the stream that takes it.
func (e *Engine) route(l *Line) {
	if _, known := e.routes[l.Topic]; known {
		return
	}
	if d, ok := wire.ParseDialect(l.Topic); ok {
		if topic, ok := exportRoute(e.streams, d); ok {
			l.Topic = topic
		}
	}
}

// tell holds a line back until a record of its topic tells the dialect; ready
// says that it is known.
func (e *Engine) tell(l *Line) (ready bool, err error) {
	if _, ready = e.told[l.Topic]; ready {
		return true, nil
	}
	e.untold[l.Topic] = append(e.untold[l.Topic], l)
	if l.Offset == nil {
		return false, nil
	}
	raw := l.Raw()
	d, ok := wire.Sniff(&raw)
	if !ok {
		return false, nil
	}
	e.told[l.Topic] = d
	lines := e.untold[l.Topic]
	delete(e.untold, l.Topic)
	for _, held := range lines {
		if err := e.Put(held); err != nil {
			return false, err
		}
	}
	return false, nil // this line was among them
}

func (e *Engine) open(tp wire.TopicPartition, r route) *source {
	d := r.stream.Dialect
	if r.stream.Auto {
		d = e.told[tp.Topic]
	}
	src := wire.NewSource(r.stream.Name, tp.Topic, generation, uint32(tp.Partition), r.role, d)
	s := &source{part: worker.NewPart(worker.PartConfig{
		Source: src, Fold: &r.stream.Fold, Memory: e.memory, Load: e.store.Load, LoadState: e.store.LoadState,
	}, fold.Frontier{})}
	e.parts[tp] = s
	return s
}

func (e *Engine) fold(s *source) error {
	batch, err := s.part.Fold(s.wait)
	if err != nil {
		return err
	}
	if err := e.store.Apply([]index.Applied{{Batch: batch}}); err != nil {
		return err
	}
	s.part.Applied()
	e.memory.Recycle(batch)
	e.Records += uint64(len(s.wait))
	s.wait, s.bytes = nil, 0
	return nil
}

// Flush folds what waits, in the order of topics and partitions.
func (e *Engine) Flush() error {
	for _, topic := range slices.Sorted(maps.Keys(e.untold)) {
		return fmt.Errorf("topic %s: its dialect is auto, and no record tells it\n    hint: configure the dialect of its stream", topic)
	}
	var order []wire.TopicPartition
	for tp := range e.parts {
		order = append(order, tp)
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return a.Topic < b.Topic || a.Topic == b.Topic && a.Partition < b.Partition
	})
	var errs error
	for _, tp := range order {
		// A partition with a log start and no record has a gap to tell, if any.
		if s := e.parts[tp]; len(s.wait) > 0 || len(s.part.Frontier().Gaps) > 0 && s.part.Frontier().Records == 0 {
			errs = errors.Join(errs, e.fold(s))
		}
	}
	return errs
}
