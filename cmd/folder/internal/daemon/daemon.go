package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"sessionfold/cmd/folder/internal/app"
	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/keys"
	"sessionfold/cmd/folder/internal/telemetry"
	"sessionfold/fold"
	"sessionfold/serve"
	"sessionfold/source"
	"sessionfold/wire"
)

const (
	// stuckAfter is how long the loop may stand still before liveness fails.
	stuckAfter = time.Minute
	// grace is how long requests in flight may take at the end.
	grace = 5 * time.Second
	// StopBound is longer than a stop takes: the last commit, the wait for one
	// that hangs, requests, the clients, the last of telemetry. Supervisors must
	// allow more.
	StopBound = 3*app.DefaultStopTimeout + grace + telemetry.FlushBound
)

// Daemon is one worker with its listeners.
type Daemon struct {
	cfg      *config.Config
	log      *slog.Logger
	level    *slog.LevelVar // of log
	build    Build
	told     *telemetry.Telemetry
	metrics  *metrics
	reads    net.Listener
	admin    net.Listener
	app      atomic.Pointer[app.App] // nil while the store is opened
	beats    *source.Heartbeats
	keys     map[string]*keys.File // by stream
	tokens   *tokensFile
	draining atomic.Bool
	drain    *drain
}

// New takes the listeners, so that an address in use is told before anything
// else begins. level is that of log, for changes while the worker runs.
func New(c *config.Config, build Build, log *slog.Logger, level *slog.LevelVar) (*Daemon, error) {
	d := &Daemon{cfg: c, log: log, level: level, build: build, metrics: newMetrics(build), drain: newDrain()}
	var err error
	if d.reads, err = listen("http.listen", c.HTTP.Listen); err != nil {
		return nil, err
	}
	if d.admin, err = listen("admin.listen", c.Admin.Listen); err != nil {
		return nil, errors.Join(err, d.reads.Close())
	}
	return d, nil
}

func listen(path, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n    hint: choose another address with --%s; port 0 takes a free one", path, err, path)
	}
	return l, nil
}

// ReadsURL is the base of the reads, with the prefix.
func (d *Daemon) ReadsURL() string { return "http://" + d.reads.Addr().String() + d.cfg.HTTP.Prefix }

// AdminURL is the base of health and metrics.
func (d *Daemon) AdminURL() string { return "http://" + d.admin.Addr().String() }

// Run works until ctx ends: then it is not ready at once, finishes and commits
// what it folded, lets requests end, and closes. Nil is a clean stop.
func (d *Daemon) Run(ctx context.Context) (err error) {
	defer d.tell(ctx)()
	httpCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, 2)
	n := 1
	go func() { failed <- serve.Serve(httpCtx, serve.NewServer(d.adminHandler(), d.log), d.admin, grace) }()
	defer func() {
		stop()
		for range n {
			err = errors.Join(err, <-failed)
		}
		if a := d.app.Swap(nil); a != nil {
			err = errors.Join(err, a.Close())
		}
	}()

	a, handler, err := d.open()
	if err != nil {
		return errors.Join(err, d.reads.Close())
	}
	n++
	go func() { failed <- serve.Serve(httpCtx, serve.NewServer(handler, d.log), d.reads, grace) }()
	d.log.Info("reads are served", "url", d.ReadsURL(), "admin", d.AdminURL())

	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard := make(chan struct{})
	go func() { defer close(heard); d.beats.Run(runCtx) }()
	watched := make(chan struct{})
	go func() { defer close(watched); keys.Watch(runCtx, d.keys, d.log) }()
	looked := make(chan struct{})
	go func() { defer close(looked); d.tokens.watch(runCtx) }()
	defer func() { cancel(); <-heard; <-watched; <-looked }()
	ended := make(chan error, 1)
	go func() { ended <- a.Run(runCtx) }()
	select {
	case err = <-ended:
	case e := <-failed: // a listener that broke
		n--
		cancel()
		err = errors.Join(e, <-ended)
	case <-ctx.Done():
		d.draining.Store(true)
		d.log.Info("stopping: the batch in flight is committed first")
		err = <-ended
	case <-d.drain.asked:
		d.draining.Store(true)
		d.log.Info("draining: the batch in flight is committed first, then the group is left")
		cancel()
		err = d.leave(ctx, a, <-ended)
	}
	d.draining.Store(true)
	return err
}

// open opens the store and makes the handlers of the reads.
func (d *Daemon) open() (*app.App, http.Handler, error) {
	var err error
	if d.keys, err = Keys(d.cfg); err != nil {
		return nil, nil, err
	}
	ac, err := AppConfig(d.cfg, d.keys, d.log)
	if err != nil {
		return nil, nil, err
	}
	if d.tokens, err = openTokens(d.cfg.HTTP.TokensFile, d.log); err != nil {
		return nil, nil, err
	}
	near, err := peers(d.cfg)
	if err != nil {
		return nil, nil, err
	}
	if err := serve.CheckListen(d.cfg.HTTP.Listen, d.tokens.inForce(), d.cfg.HTTP.InsecureNoAuth); err != nil {
		return nil, nil, err
	}
	ac.Telemetry = d.told
	a, err := app.New(ac)
	if err != nil {
		return nil, nil, err
	}
	d.app.Store(a)
	d.metrics.registry.MustRegister(collector{of: a, store: a.Store().Err})
	d.metrics.registry.MustRegister(keyFiles(d.keys))
	d.beats = source.NewHeartbeats(ac.Kafka, a.Streams(), 0, time.Now)
	d.metrics.registry.MustRegister(heartbeats{d.beats})
	cover := newCoverage(a.Streams(), a.Heads, a.Sources)
	h, err := serve.New(serve.Options{
		Prefix: d.cfg.HTTP.Prefix, Version: d.build.Version, Streams: ServedStreams(d.cfg),
		Snapshot: a.Store().Reader, Changes: a.Changes, Heads: headsOf(a.Heads), Coverage: cover.lacks,
		Peers: near, Holding: cover.holding, Partitions: cover.partitions, Liveness: liveness(d.beats),
		Now:    func() uint64 { return uint64(time.Now().UnixMicro()) },
		Tokens: d.tokens.inForce(), Observe: d.metrics.observe, Logger: d.log,
	})
	return a, d.told.Handler(h, d.reads.Addr().String()), err
}

func liveness(h *source.Heartbeats) func(string, wire.ID) fold.Liveness {
	return func(stream string, id wire.ID) fold.Liveness {
		last, known := h.Last(stream, id)
		return fold.Liveness{Known: known, LastHeartbeat: last}
	}
}

func headsOf(f func(context.Context) (map[wire.TopicPartition]source.Head, error)) func(context.Context) (map[wire.TopicPartition]serve.Head, error) {
	return func(ctx context.Context) (map[wire.TopicPartition]serve.Head, error) {
		m, err := f(ctx)
		out := make(map[wire.TopicPartition]serve.Head, len(m))
		for tp, h := range m {
			out[tp] = serve.Head{Start: h.Start, High: h.High, Generation: h.Generation, Partitions: h.Partitions}
		}
		return out, err
	}
}

func (d *Daemon) adminHandler() http.Handler {
	o := serve.AdminOptions{
		Version: d.build,
		Metrics: d.metrics.handler(),
		Live: func() error {
			if a := d.app.Load(); a != nil && !d.drain.left.Load() {
				return a.Live(stuckAfter)
			}
			return nil
		},
		Started: func() []serve.Check { return []serve.Check{{Name: "store", Err: d.opened()}} },
		Ready:   d.ready,
	}
	o.Extra = map[string]http.Handler{
		"POST /drain": d.control(d.drainHandler), "POST /rebuild": d.control(d.rebuild), "GET /dump": d.control(d.dump),
		"GET /loglevel": http.HandlerFunc(d.logLevel), "PUT /loglevel": d.control(d.setLogLevel),
	}
	if d.cfg.Profiles() {
		for pattern, h := range map[string]http.HandlerFunc{
			"GET /debug/pprof/":        pprof.Index,
			"GET /debug/pprof/profile": pprof.Profile,
			"GET /debug/pprof/trace":   pprof.Trace,
			"GET /debug/pprof/symbol":  pprof.Symbol,
		} {
			o.Extra[pattern] = h
		}
	}
	return serve.Admin(o)
}

func (d *Daemon) opened() error {
	if d.app.Load() == nil {
		return errors.New("the store is being opened")
	}
	return nil
}

func (d *Daemon) ready() []serve.Check {
	checks := []serve.Check{{Name: "store", Err: d.opened()}}
	switch {
	case d.drain.left.Load():
		checks = append(checks, serve.Check{Name: "drained", Err: errors.New("this worker has left its group and waits to be stopped")})
	case d.draining.Load():
		checks = append(checks, serve.Check{Name: "stopping", Err: errors.New("this worker is stopping")})
	}
	if a := d.app.Load(); a != nil {
		checks = append(checks, serve.Check{Name: "sources", Err: a.Ready()})
		for _, s := range a.Sources() {
			checks = append(checks, sourceCheck(&s, a.RefoldTo(s.Source)))
		}
	}
	return checks
}
