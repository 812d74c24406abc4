package worker

import (
	"context"

	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"sessionfold/wire"
)

// Config of a Worker; zero values are replaced by the defaults named.
type Config struct {
	BatchInterval time.Duration    // from the first record of a batch to its fold; 100 ms
	BatchRecords  int              // records that make a batch at once; 100,000
	BatchBytes    int              // likewise; 64 MiB
	CacheSessions int              // partials kept decoded per source; DefaultCacheSessions
	Parallel      int              // sources folded at a time; GOMAXPROCS
	StopTimeout   time.Duration    // for the last commits of a stop; 20 s
	Logger        *slog.Logger     // none
	Now           func() time.Time // tells how old a stored state is; time.Now
}

// Worker is the loop. Make it with New, wire Assigned, Revoked and Lost to the
// consumer, then Run it once.
type Worker struct {
	cfg  Config
	env  *Env
	log  *slog.Logger
	life context.Context // ends when Run does
	end  context.CancelFunc

	// transfer is held by whoever changes the ownership of sources, and by a
	// commit from its last look at it to the end of the transaction. Taken
	// before mu.
	transfer sync.Mutex
	mu       sync.Mutex // for what follows; never held during I/O
	owned    map[wire.TopicPartition]*owned
	queue    []*owned    // wait for a restore
	restored []*restored // have had it
	stats    Stats
	pollStop context.CancelFunc // of the poll that is going on
	woken    atomic.Bool
	apply    sync.Mutex // held while the store is written: shut waits for it

	// The loop's.
	live          []*owned // reused by living
	restoring     map[wire.TopicPartition]bool
	renewed       map[string]uint64 // topics made to be forgotten, with their new generation
	restores      sync.WaitGroup    // and rebuilds
	starting      []*owned          // restored, not fetched yet
	startBy       time.Time         // when they are, whatever else is being restored
	reading       chan struct{}     // restores that read a changelog: parallelReads at a time
	rebuilding    chan struct{}     // one at a time
	results       chan *result
	flight        *sealed   // being committed
	launched      time.Time // when the last one was sent off
	large         bool      // it was as large as a catch-up makes them
	folded        chan *folding
	folding       *folding // going on
	ready         *sealed  // folded, waits for the flight to end
	buffered      int      // records
	bufferedBytes int
	fences        []time.Time
}

// parallelReads is how many changelogs are read at a time: memory is bounded
// however many sources are assigned at once.
const parallelReads = 8

// New makes a worker that owns nothing yet. The env may be completed until Run.
func New(cfg Config, env *Env) *Worker {
	if cfg.BatchInterval <= 0 {
		cfg.BatchInterval = 100 * time.Millisecond
	}
	if cfg.BatchRecords <= 0 {
		cfg.BatchRecords = 100_000
	}
	if cfg.BatchBytes <= 0 {
		cfg.BatchBytes = 64 << 20
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = runtime.GOMAXPROCS(0)
	}
	if cfg.StopTimeout <= 0 {
		cfg.StopTimeout = 20 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	w := &Worker{
		cfg: cfg, env: env, log: cfg.Logger,
		owned:     map[wire.TopicPartition]*owned{},
		restoring: map[wire.TopicPartition]bool{}, renewed: map[string]uint64{},
		reading:    make(chan struct{}, parallelReads),
		rebuilding: make(chan struct{}, 1),
		results:    make(chan *result, 1), folded: make(chan *folding, 1),
	}
	w.stats.CommitFailures = map[string]uint64{}
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// Run works until ctx ends, then commits what it has and returns nil. An error
// is one that this process cannot go on from.
func (w *Worker) Run(ctx context.Context) error {
	defer w.shut()
	// Before the first restore: the producer's id ends what a predecessor left open.
	if err := w.renew(ctx, false); err != nil {
		return err
	}
	w.count(func(s *Stats) { s.Started = true })
	w.launched = time.Now()
	for ctx.Err() == nil {
		if err := w.turn(ctx); err != nil {
			return err
		}
	}
	return w.stop()
}

// turn is one round of the loop.
func (w *Worker) turn(ctx context.Context) error {
	if err := w.collect(); err != nil {
		return err
	}
	now := time.Now()
	w.fetchRestored(now)
	w.tally()
	if w.flight == nil {
		w.react()
		w.reopen()
		w.startRestores(now)
	}
	if w.folding == nil && w.ready == nil {
		w.nextPrelude()
	}
	if w.foldDue(now) {
		w.fold()
	}
	if w.ready != nil && w.flight == nil && w.commitDue(now) && (w.folding == nil || w.full()) {
		w.launch(ctx)
	}
	w.count(func(s *Stats) {
		s.LastLoop, s.Buffered = now, w.buffered
		if w.folding != nil {
			s.Buffered += w.folding.records
		}
		s.Idle = s.Buffered == 0 && w.flight == nil && w.ready == nil
	})
	return w.poll(ctx, now)
}

// collect takes what the other goroutines have finished.
func (w *Worker) collect() error {
	w.mu.Lock()
	restored := w.restored
	w.restored = nil
	w.mu.Unlock()
	for _, r := range restored {
		w.takeRestored(r)
	}
	select {
	case f := <-w.folded:
		w.takeFolded(f)
	default:
	}
	select {
	case r := <-w.results:
		return w.finish(r)
	default:
		return nil
	}
}

// react begins new lives for sources in trouble, and for those whose assignment
// belongs to a member that we are not any more: the client can rejoin as a new
// member without telling. No commit is in flight.
func (w *Worker) react() {
	member, _ := w.env.Member()
	for _, o := range w.living() {
		switch {
		case o.trouble != nil:
			o.tries++
			pause := max(backoff(o.tries), 100*time.Millisecond)
			w.log.Warn("source is paused and restored", "source", o.tp.String(), "pause", pause, "err", o.trouble)
			w.drop(o)
			w.again(o, o.trouble, pause)
		case o.member != member && member != "":
			w.log.Warn("the group knows this process as another member now; the source is restored", "source", o.tp.String())
			w.count(func(s *Stats) { s.Rejoined++ })
			w.drop(o)
			w.again(o, nil, 0)
		}
	}
}
