package worker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// world is a fake Env: a log of records per partition in memory, a store that
// is a map, and commits that wait for the test when it wants them to.
type world struct {
	t *testing.T

	mu        sync.Mutex
	member    string
	logs      map[wire.TopicPartition][]wire.Raw
	pos       map[wire.TopicPartition]int
	paused    map[wire.TopicPartition]bool
	pollErr   map[wire.TopicPartition]error
	polls     int
	polled    int
	metas     map[wire.SourceKey]Meta
	commits   []*Txn
	committed []uint64 // records' offsets in the order of their commits, of one partition
	inFlight  int
	renewed   int
	forgotten int              // topics that the client was made to forget
	unsure    bool             // nobody tells leader epochs
	cut       uint64           // where an election cut a log, when > 0
	commit    func(*Txn) error // nil: succeeds
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, member: "m1",
		logs: map[wire.TopicPartition][]wire.Raw{}, pos: map[wire.TopicPartition]int{},
		paused: map[wire.TopicPartition]bool{}, pollErr: map[wire.TopicPartition]error{},
		metas: map[wire.SourceKey]Meta{},
	}
}

var errFormer = errors.New("the topic asked for is gone")

// one is a decoder whose every record is an event of its own session.
type one struct{}

func (one) Decode(src *wire.Source, raw []wire.Raw) []wire.Record {
	recs := make([]wire.Record, len(raw))
	for i := range raw {
		recs[i] = wire.Record{Offset: raw[i].Offset, Session: wire.ID{15: byte(raw[i].Offset % 5)}, HasSession: true, Kind: wire.KindEvent, Display: wire.DisplayAgentMessage}
	}
	return recs
}

func (f *world) lock(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *world) env() *Env {
	return &Env{
		Poll: func(ctx context.Context, max int) ([]wire.Fetched, []error, error) {
			for {
				if out := f.poll(max); len(out) > 0 {
					return out, nil, nil
				}
				select {
				case <-ctx.Done():
					return nil, nil, nil
				case <-time.After(time.Millisecond):
				}
			}
		},
		Member: func() (string, int32) { f.mu.Lock(); defer f.mu.Unlock(); return f.member, 1 },
		Pause:  func(tp wire.TopicPartition) { f.lock(func() { f.paused[tp] = true }) },
		Resume: func(tp wire.TopicPartition) { f.lock(func() { f.paused[tp] = false }) },
		Seek: func(at map[wire.TopicPartition]uint64) {
			f.lock(func() {
				for tp, o := range at {
					f.pos[tp] = int(o)
				}
			})
		},
		Rediscover: func(string) { f.lock(func() { f.forgotten++ }) },
		Heartbeat:  10 * time.Millisecond,
		Identify: func(_ context.Context, tp wire.TopicPartition) (wire.Identity, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return wire.Identity{Source: source(tp), High: uint64(len(f.logs[tp])), Partitions: 1}, nil
		},
		Held: func(_ context.Context, tp wire.TopicPartition, next uint64) (wire.Held, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			h := wire.Held{High: uint64(len(f.logs[tp])), Epoch: 1}
			h.End, h.Sure = min(next, h.High), !f.unsure
			if f.cut > 0 {
				h.End = min(h.End, f.cut)
			}
			return h, nil
		},
		Prepare: func(context.Context, wire.Identity) error { return nil },
		ReadChangelog: func(_ context.Context, _ wire.TopicPartition, from int64, _ func(o int64, k, v []byte) error) (int64, error) {
			return from, nil
		},
		Renew:  func(context.Context) error { f.lock(func() { f.renewed++ }); return nil },
		Commit: f.doCommit,
		Meta: func(src *wire.Source) (Meta, bool, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			m, ok := f.metas[src.Key()]
			return m, ok, nil
		},
		NewRestore: func(*wire.Source, uint64) Restore { return nothing{} },
		Changelog:  func(context.Context, wire.TopicPartition) (Changelog, error) { return Changelog{High: 1 << 40}, nil },
		Committed:  func(context.Context, wire.TopicPartition) (uint64, bool, error) { return 0, false, nil },
		LastSeq:    func(context.Context, *wire.Source) (uint64, error) { return 0, nil },
		Load: func(*wire.Source, []wire.ID) (map[wire.ID]*fold.Partial, error) {
			return map[wire.ID]*fold.Partial{}, nil
		},
		Apply: func(steps []Applied) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, s := range steps {
				f.metas[s.Batch.Source.Key()] = Meta{Frontier: s.Batch.Frontier, ChangelogNext: s.ChangelogNext}
			}
			return nil
		},
		Kept:      func(*wire.Source, []wire.ID, uint64) (map[wire.ID]*fold.Partial, error) { return nil, nil },
		ApplyRows: func(*row.Batch) error { return nil },
		Memory:    NewMemory(func(*wire.Source) wire.Decoder { return one{} }),
		Fold:      func(string) *fold.Config { return &fold.Config{} },
	}
}

type nothing struct{}

func (nothing) Put(k, v []byte) (bool, error) { return true, nil }
func (nothing) Commit(int64) error            { return nil }

func (f *world) poll(max int) []wire.Fetched {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls++
	var out []wire.Fetched
	for tp, log := range f.logs {
		if f.paused[tp] {
			continue
		}
		if err := f.pollErr[tp]; err != nil {
			out = append(out, wire.Fetched{TopicPartition: tp, Err: err, LogStart: -1, High: -1, Former: errors.Is(err, errFormer)})
			continue
		}
		from := f.pos[tp]
		to := min(len(log), from+max)
		if from >= to {
			continue
		}
		f.pos[tp] = to
		f.polled += to - from
		out = append(out, wire.Fetched{TopicPartition: tp, Records: log[from:to], Bytes: (to - from) * 10, High: int64(len(log))})
	}
	return out
}

func (f *world) doCommit(_ context.Context, t *Txn) ([]int64, error) {
	if len(t.Steps) == 0 {
		f.t.Error("an empty commit")
	}
	f.mu.Lock()
	f.inFlight++
	if f.inFlight > 1 {
		f.t.Error("two commits in flight")
	}
	hook := f.commit
	f.mu.Unlock()
	var err error
	if hook != nil {
		err = hook(t)
	}
	if err == nil {
		var release func()
		if _, _, release, err = t.Own(); err == nil {
			release()
		} else {
			err = &Failure{Err: err, Where: "own"}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
	if err != nil {
		return nil, err
	}
	next := make([]int64, len(t.Steps))
	for i, s := range t.Steps {
		for o := s.Batch.From; o <= s.Batch.To; o++ {
			f.committed = append(f.committed, o)
		}
		next[i] = s.Expect + 1
	}
	f.commits = append(f.commits, t)
	return next, nil
}

func source(tp wire.TopicPartition) *wire.Source {
	return wire.NewSource("s", tp.Topic, 1, uint32(tp.Partition), wire.RoleLane, wire.DialectAGDX)
}

var part0 = wire.TopicPartition{Topic: "s.agent.sessions"}

func (f *world) add(tp wire.TopicPartition, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.logs[tp]; !ok {
		f.paused[tp] = true // as the consumer does with what it is assigned
	}
	for range n {
		f.logs[tp] = append(f.logs[tp], wire.Raw{Offset: uint64(len(f.logs[tp])), Value: []byte("x")})
	}
}

// start runs a worker on the world until the test ends.
func (f *world) start(cfg Config) (w *Worker, stop func() error) { return f.startIn(cfg, f.env()) }

func (f *world) startIn(cfg Config, env *Env) (w *Worker, stop func() error) {
	w = New(cfg, env)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	over := false
	stop = func() error {
		if over {
			return nil
		}
		over = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("the worker does not stop")
		}
	}
	f.t.Cleanup(func() {
		if err := stop(); err != nil {
			f.t.Errorf("stop: %v", err)
		}
	})
	return w, stop
}

// until waits for a condition on the world.
func (f *world) until(what string, cond func() bool) {
	f.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		f.mu.Lock()
		ok := cond()
		f.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// ascending holds what was committed of the one partition against 0, 1, 2 …
func (f *world) ascending(n int) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.committed) != n {
		f.t.Fatalf("%d offsets committed, want %d", len(f.committed), n)
	}
	for i, o := range f.committed {
		if o != uint64(i) {
			f.t.Fatalf("commit %d is of offset %d", i, o)
		}
	}
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 20*time.Second)
}
