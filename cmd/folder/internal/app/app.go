package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/sink"
	"sessionfold/source"
	"sessionfold/wire"
	"sessionfold/worker"
)

// DefaultStopTimeout bounds each of the parts of a stop: the last commit, the
// wait for one that hangs, and the clients.
const DefaultStopTimeout = 20 * time.Second

// App is one worker process: it consumes, folds and commits while Run runs, and
// answers reads from its store from New to Close.
type App struct {
	cfg      Config
	folds    map[string]*fold.Config
	keys     map[string]func() *wire.Keys
	streams  []source.Stream
	store    *index.Store
	consumer *source.Consumer
	reader   *source.Reader
	changes  *source.ChangeReader
	topics   *sink.Topics
	producer *sink.Producer
	world    *worker.Env
	worker   *worker.Worker
	tidy     sync.RWMutex // held while the state of a source that is not ours is removed
}

// New opens the store and makes the clients; it asks nothing of the brokers
// yet. The store's directory is locked from here on.
func New(cfg Config) (a *App, err error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	a = &App{cfg: cfg, folds: map[string]*fold.Config{}, keys: map[string]func() *wire.Keys{}}
	for i := range cfg.Streams {
		s := &cfg.Streams[i]
		a.folds[s.Name], a.keys[s.Name] = &s.Fold, s.Keys
		a.streams = append(a.streams, source.Stream{Name: s.Name, Dialect: s.Dialect, Auto: s.Auto, Topics: s.topics()})
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
			a = nil
		}
	}()
	if a.store, err = openStore(&cfg); err != nil {
		return a, err
	}
	return a, a.connect()
}

func (a *App) connect() (err error) {
	cfg := &a.cfg
	if a.reader, err = source.NewReader(cfg.Kafka, a.streams); err != nil {
		return err
	}
	a.reader.OnDialect(func(topic string, d wire.Dialect) {
		cfg.Logger.Info("the records of a topic tell its dialect", "topic", topic, "dialect", d.String())
	})
	a.changes = source.NewChangeReader(a.reader, cfg.ChangesTopic, sink.ChangePartition)
	opts, err := cfg.Kafka.Options()
	if err != nil {
		return err
	}
	if a.topics, err = sink.NewTopics(sink.TopicsConfig{
		Opts: opts, Group: cfg.Group, ChangesTopic: cfg.ChangesTopic, ChangesPartitions: cfg.ChangesPartitions,
		ReplicationFactor: cfg.ReplicationFactor, CheckOnly: cfg.CheckTopics,
	}); err != nil {
		return err
	}
	a.producer = sink.New(sink.Config{
		Opts: opts, Group: cfg.Group, Instance: cfg.Instance, Topics: a.topics,
		TransactionTimeout: cfg.TransactionTimeout, Quiet: a.reader.Quiet,
	})
	a.world = a.env()
	a.worker = worker.New(worker.Config{
		BatchInterval: cfg.BatchInterval, BatchRecords: cfg.BatchRecords, BatchBytes: cfg.BatchBytes,
		CacheSessions: cfg.CacheSessions, StopTimeout: cfg.StopTimeout, Logger: cfg.Logger, Now: cfg.Now,
	}, a.world)
	a.consumer, err = source.New(source.Config{
		Conn: cfg.Kafka, Group: cfg.Group, Instance: cfg.Instance, Streams: a.streams,
		SessionTimeout: cfg.SessionTimeout, MetadataMaxAge: cfg.MetadataMaxAge, LeaveOnClose: cfg.LeaveOnStop,
		Assigned: a.worker.Assigned, Revoked: a.worker.Revoked, Lost: a.worker.Lost,
	})
	return err
}

// Run consumes until ctx ends, then commits what it has. It returns nil after a
// clean stop; errors are those that this process cannot go on from. Run it once.
func (a *App) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kept := make(chan struct{})
	go func() { defer close(kept); a.keep(ctx) }()
	done := make(chan error, 1)
	go func() { done <- a.run(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-a.store.Failed():
		cancel()
		err = <-done
	}
	cancel()
	<-kept
	return a.storeFailure(err)
}

func (a *App) run(ctx context.Context) error {
	if err := a.prepare(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return a.worker.Run(ctx)
}

// prepare makes sure of the changes topic; it waits for brokers that do not
// answer yet, but not for a topic that is wrong.
func (a *App) prepare(ctx context.Context) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		err := a.reader.Ping(ctx)
		if err == nil {
			if err = a.topics.EnsureChanges(ctx); err == nil || sink.IsSetting(err) {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		a.cfg.Logger.Warn("the brokers are not ready; trying again", "pause", pause, "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Leave takes this worker out of its group although its membership is static, so
// that others take its partitions at once. Run must have returned. Reads go on.
func (a *App) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.StopTimeout)
	defer cancel()
	return a.consumer.Leave(ctx)
}

// Instance is this worker's name in its group.
func (a *App) Instance() string { return a.cfg.Instance }

// Close ends clients and store. Run must have returned.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.StopTimeout)
	defer cancel()
	var errs []error
	if a.producer != nil {
		a.producer.Close()
	}
	if a.consumer != nil {
		errs = append(errs, a.consumer.Close(ctx))
	}
	if a.topics != nil {
		a.topics.Close()
	}
	if a.reader != nil {
		a.reader.Close()
	}
	if a.store != nil {
		errs = append(errs, a.closeStore())
	}
	return errors.Join(errs...)
}

// fill sets defaults and refuses what cannot work.
func (c *Config) fill() error {
	if c.Group == "" {
		return errors.New("app: a consumer group is needed")
	}
	if len(c.Streams) == 0 {
		return errors.New("app: at least one stream is needed")
	}
	if c.DataDir == "" {
		return errors.New("app: a data directory is needed")
	}
	if c.Instance == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("app: no instance is set and the host has no name: %w", err)
		}
		c.Instance = host
	}
	if c.ChangesTopic == "" {
		c.ChangesTopic = c.Group + "-changes"
	}
	if c.TransactionTimeout <= 0 {
		c.TransactionTimeout = 10 * time.Second
	}
	if c.StopTimeout <= 0 {
		c.StopTimeout = DefaultStopTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func (s *Stream) topics() []wire.TopicRole {
	var ts []wire.TopicRole
	if !s.OnlyTopics && s.Dialect == wire.DialectAGDX && !s.Auto {
		ts = wire.TopicsOf(s.Name)
	}
	return append(ts, s.Topics...)
}
