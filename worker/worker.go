package worker

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"sessionfold/wire"
)

// Config of a Worker; zero values are replaced by the defaults named.
type Config struct {
	BatchInterval time.Duration // from the first record of a batch to its fold; 100 ms
	BatchRecords  int           // records that make a batch at once; 100,000
	BatchBytes    int           // likewise; 64 MiB
	CacheSessions int           // partials kept decoded per source; DefaultCacheSessions
	Parallel      int           // sources folded at a time; GOMAXPROCS
	StopTimeout   time.Duration // for the last commits of a stop; 20 s
	Logger        *slog.Logger  // none
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
	queue    []*owned // wait for a restore
	stats    Stats
	pollStop context.CancelFunc // of the poll that is going on
	woken    atomic.Bool
	apply    sync.Mutex // held while the store is written: shut waits for it

	// The loop's.
	live          []*owned // reused by living
	restoring     map[wire.TopicPartition]bool
	renewed       map[string]uint64 // topics made to be forgotten, with their new generation
	restored      chan *restored
	restores      sync.WaitGroup // and rebuilds
	rebuilding    chan struct{}  // one at a time
	results       chan *result
	flight        *sealed // being committed
	ready         *sealed // folded, waits for the flight to end
	buffered      int     // records
	bufferedBytes int
	since         time.Time // when the first of them came
	fences        []time.Time
}

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
	w := &Worker{
		cfg: cfg, env: env, log: cfg.Logger,
		owned:     map[wire.TopicPartition]*owned{},
		restoring: map[wire.TopicPartition]bool{}, renewed: map[string]uint64{},
		rebuilding: make(chan struct{}, 1),
		restored:   make(chan *restored), results: make(chan *result, 1),
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
	w.tally()
	if w.flight == nil {
		w.react()
		w.startRestores(now)
	}
	if w.ready == nil && w.due(now) {
		w.fold()
	}
	if w.ready != nil && w.flight == nil {
		w.launch(ctx)
	}
	w.count(func(s *Stats) {
		s.LastLoop, s.Buffered = now, w.buffered
		s.Idle = w.buffered == 0 && w.flight == nil && w.ready == nil
	})
	return w.poll(ctx, now)
}

// collect takes what the other goroutines have finished.
func (w *Worker) collect() error {
	for {
		select {
		case r := <-w.restored:
			w.takeRestored(r)
		case r := <-w.results:
			if err := w.finish(r); err != nil {
				return err
			}
		default:
			return nil
		}
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

// due says whether it is time to fold.
func (w *Worker) due(now time.Time) bool {
	if w.buffered >= w.cfg.BatchRecords || w.bufferedBytes >= w.cfg.BatchBytes {
		return true
	}
	if w.buffered > 0 {
		return now.Sub(w.since) >= w.cfg.BatchInterval
	}
	for _, o := range w.living() {
		if o.part != nil && o.part.Frontier().Skipped > 0 {
			return true // a gap without records
		}
	}
	return false
}

const (
	longestPoll = 250 * time.Millisecond // so that restores that wait for their time get it
	onePoll     = 20_000                 // records, so that a batch is not overshot by much
)

// poll waits for records, but not when there is no room for them.
func (w *Worker) poll(ctx context.Context, now time.Time) error {
	wait := longestPoll
	if w.buffered > 0 && w.ready == nil {
		wait = max(w.since.Add(w.cfg.BatchInterval).Sub(now), 0)
	}
	pctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	w.mu.Lock()
	w.pollStop = cancel
	w.mu.Unlock()
	if w.woken.Swap(false) {
		cancel()
	}
	if w.buffered >= w.cfg.BatchRecords || w.bufferedBytes >= w.cfg.BatchBytes {
		<-pctx.Done() // a commit is in flight and a batch is ready behind it
		return nil
	}
	fetched, notes, err := w.env.Poll(pctx, min(onePoll, w.cfg.BatchRecords-w.buffered))
	if err != nil {
		return err
	}
	for _, n := range notes {
		w.count(func(s *Stats) { s.PollErrors++ })
		w.log.Warn("the group's client reports a problem that it works on", "err", n)
	}
	for i := range fetched {
		w.take(&fetched[i])
	}
	return nil
}

// take puts what was fetched into its source's buffer.
func (w *Worker) take(f *wire.Fetched) {
	w.mu.Lock()
	o := w.owned[f.TopicPartition]
	if o != nil && f.Err == nil {
		o.status.High = max(o.status.High, uint64(max(f.High, 0)))
		o.status.LogStart = max(o.status.LogStart, uint64(max(f.LogStart, 0)))
	}
	w.mu.Unlock()
	if o == nil {
		return // given up meanwhile
	}
	if f.Err != nil {
		w.count(func(s *Stats) { s.PollErrors++ })
		w.env.Pause(o.tp) // an error may come back at every poll
		if o.part != nil && o.trouble == nil {
			o.trouble = f.Err
		}
		return
	}
	if o.part == nil || o.trouble != nil {
		return // not restored yet: it seeks then
	}
	next := o.part.Frontier().Next
	if n := len(o.buffer.raw); n > 0 {
		next = o.buffer.raw[n-1].Offset + 1
	}
	recs := f.Records
	for len(recs) > 0 && recs[0].Offset < next {
		recs = recs[1:]
	}
	if len(recs) == 0 {
		return
	}
	if w.buffered == 0 {
		w.since = time.Now()
	}
	o.buffer.raw = append(o.buffer.raw, recs...)
	o.buffer.bytes += f.Bytes
	w.buffered += len(recs)
	w.bufferedBytes += f.Bytes
}

// wake ends the poll that is going on, or the next one at once.
func (w *Worker) wake() {
	w.woken.Store(true)
	w.mu.Lock()
	if w.pollStop != nil {
		w.pollStop()
	}
	w.mu.Unlock()
}

// stop finishes the commit in flight and commits the rest. Sources that are
// being restored are left.
func (w *Worker) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), w.cfg.StopTimeout)
	defer cancel()
	for {
		if w.flight == nil && w.ready == nil {
			w.fold()
		}
		if w.flight == nil && w.ready != nil {
			w.launch(ctx)
		}
		if w.flight == nil {
			return nil
		}
		select {
		case r := <-w.restored:
			delete(w.restoring, r.o.tp)
		case r := <-w.results:
			if r.fail != nil {
				w.log.Warn("the last commit failed; what it held is folded again after the next start", "where", r.fail.Where, "err", r.fail.Err)
				w.flight = nil
				return nil
			}
			if err := w.finish(r); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("worker: the last commit did not end within %s; what it held is settled after the next start", w.cfg.StopTimeout)
		}
	}
}

// shut ends every goroutine of the worker. A commit that does not end is
// abandoned: it writes nothing to the store any more, and what it did at the
// brokers is settled by the restore after the next start.
func (w *Worker) shut() {
	w.apply.Lock()
	w.end()
	w.apply.Unlock()
	done := make(chan struct{})
	go func() { w.restores.Wait(); close(done) }()
	for {
		select {
		case <-w.restored:
		case <-done:
			if w.flight != nil {
				select {
				case <-w.results:
				case <-time.After(w.cfg.StopTimeout):
				}
			}
			return
		}
	}
}
