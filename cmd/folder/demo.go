package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/broker"
	"sessionfold/testenv/feed"
	"sessionfold/testenv/nativegen"
	"sessionfold/wire"
)

const demoStream = "demo"

// demoForeign are the streams of the demo beside the one of AGDX; each has the
// dialect's name, and one topic.
var demoForeign = []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns}

// demoPlan makes the demo's log: the same plan gives the same records, so a
// demo that is started again goes on where it stopped.
type demoPlan struct {
	Seed     uint64    `json:"seed"`
	Epoch    time.Time `json:"epoch"`
	Rate     float64   `json:"rate"`
	Sessions int       `json:"sessions"`
}

type demoOptions struct {
	dir       string
	rate      float64
	sessions  int
	kafkaPort int
	flags     map[string]string // configuration, for the flags that were set
}

func demoCommand(c *cli) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Broker, generated agent sessions, worker and reads in one process",
		Long: "demo starts a Kafka broker inside this process, writes realistic agent sessions to it, folds them and\n" +
			"serves the reads: a stream of AGDX named demo, one of DeepStrike, one of Everruns. Everything lies in one\n" +
			"directory; started again it goes on where it stopped.",
		Args: args(cobra.NoArgs),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "folder-demo"), "directory of the broker's log and the index")
	listen := fs.String("listen", "127.0.0.1:8080", "address of the reads (FOLDER_HTTP_LISTEN)")
	admin := fs.String("admin", "127.0.0.1:9090", "address of health and metrics (FOLDER_ADMIN_LISTEN)")
	level := fs.String("log", "warn", "least level of the logs: debug, info, warn, error")
	fs.IntVar(&o.kafkaPort, "kafka-port", 0, "port of the broker on 127.0.0.1; 0 is a free one")
	fs.Float64Var(&o.rate, "rate", 100, "records per second of each stream; 0 is as fast as possible")
	fs.IntVar(&o.sessions, "sessions", 0, "sessions to write to each stream; 0 is no end")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.rate < 0 || o.sessions < 0 {
			return usageError{errors.New("--rate and --sessions are not negative")}
		}
		o.flags = map[string]string{"log.level": *level}
		if fs.Changed("listen") {
			o.flags["http.listen"] = *listen
		}
		if fs.Changed("admin") {
			o.flags["admin.listen"] = *admin
		}
		plan, err := o.plan(fs.Changed("sessions"))
		if err != nil {
			return err
		}
		return c.demo(cmd.Context(), &o, plan)
	}
	return cmd
}

// plan reads the directory's plan, or makes one.
func (o *demoOptions) plan(sessionsSet bool) (demoPlan, error) {
	name := filepath.Join(o.dir, "demo.json")
	endless := usageError{errors.New("--rate 0 needs an end of the log\n    hint: give --sessions")}
	var p demoPlan
	b, err := os.ReadFile(name)
	if err == nil {
		if err := json.Unmarshal(b, &p); err != nil {
			return p, fmt.Errorf("%s: %w\n    hint: remove the directory to begin anew", name, err)
		}
		if sessionsSet && p.Sessions != o.sessions {
			return p, usageError{fmt.Errorf("%s was made with --sessions %d\n    hint: leave --sessions out to go on, or choose another --dir", o.dir, p.Sessions)}
		}
		if o.rate == 0 && p.Sessions == 0 {
			return p, endless
		}
		return p, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return p, err
	}
	if o.rate == 0 && o.sessions == 0 {
		return p, endless
	}
	now := time.Now().UTC()
	p = demoPlan{Seed: uint64(now.UnixNano()), Epoch: now, Rate: o.rate, Sessions: o.sessions}
	if b, err = json.MarshalIndent(p, "", "  "); err != nil {
		return p, err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return p, err
	}
	return p, os.WriteFile(name, append(b, '\n'), 0o644)
}

func (c *cli) demo(ctx context.Context, o *demoOptions, plan demoPlan) (err error) {
	b, err := broker.Start(broker.Options{DataDir: filepath.Join(o.dir, "kafka"), Port: o.kafkaPort})
	if err != nil {
		return err
	}
	defer b.Close() // last: the worker's final commit needs it
	l, err := c.demoConfig(o, b.Addrs()[0])
	if err != nil {
		return err
	}
	f, err := feed.New(b.Addrs())
	if err != nil {
		return err
	}
	defer f.Close()
	logs := plan.logs()
	var had uint64
	for i := range logs {
		if logs[i].had, err = f.Prepare(ctx, logs[i].Topics(), 4); err != nil {
			return err
		}
		had += logs[i].had
	}
	log, level := newLevelLogger(c.err, &l.Config)
	d, err := daemon.New(&l.Config, build(), log, level)
	if err != nil {
		return err
	}
	c.demoHello(o, b.Addrs()[0], d, had)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fed := make(chan error, 1)
	go func() {
		n, err := feedAll(ctx, f, logs, o.rate)
		if err != nil {
			cancel()
		} else if ctx.Err() == nil {
			fmt.Fprintf(c.out, "all %d sessions are written to each of %d streams: %d records, %d of them now\n", plan.Sessions, len(logs), had+n, n)
		}
		fed <- err
	}()
	err = d.Run(ctx)
	cancel()
	if err = errors.Join(err, <-fed); err == nil {
		fmt.Fprintln(c.out, "stopped; start again to go on")
	}
	return err
}

// demoLog is the log of one stream.
type demoLog struct {
	demoGenerator
	had uint64 // records that an earlier start wrote
}

type demoGenerator interface {
	feed.Generator
	Topics() []wire.TopicRole
}

// logs are those of all dialects, AGDX first.
func (p *demoPlan) logs() []demoLog {
	out := []demoLog{{demoGenerator: agdxgen.New(agdxgen.Options{Stream: demoStream, Seed: p.Seed, Epoch: p.Epoch, Sessions: p.Sessions, Rate: p.Rate})}}
	for _, d := range demoForeign {
		out = append(out, demoLog{demoGenerator: nativegen.New(nativegen.Options{Dialect: d, Seed: p.Seed, Epoch: p.Epoch, Sessions: p.Sessions, Rate: p.Rate})})
	}
	return out
}

// feedAll writes all logs at the same time; one that fails ends the others.
func feedAll(ctx context.Context, f *feed.Feed, logs []demoLog, rate float64) (uint64, error) {
	var written atomic.Uint64
	g, ctx := errgroup.WithContext(ctx)
	for _, l := range logs {
		g.Go(func() error {
			n, err := f.Run(ctx, l, l.had, rate)
			written.Add(n)
			return err
		})
	}
	err := g.Wait()
	return written.Load(), err
}

// demoConfig is the worker's configuration: only its listeners may be chosen.
func (c *cli) demoConfig(o *demoOptions, broker string) (*config.Loaded, error) {
	streams := []string{"{name: " + demoStream + "}"}
	for _, d := range demoForeign {
		streams = append(streams, fmt.Sprintf("{name: %s, dialect: %s, topics: [%s.events]}", d, d, d))
	}
	flags := map[string]string{
		"kafka.brokers": broker, "kafka.group": "demo", "kafka.instance": "demo", "kafka.session_timeout": "10s",
		"streams": "[" + strings.Join(streams, ", ") + "]", "store.dir": filepath.Join(o.dir, "index"), "output.replication_factor": "1",
		"log.format": "text",
	}
	maps.Copy(flags, o.flags)
	in := config.Input{Flags: flags}
	for _, name := range []string{"FOLDER_HTTP_LISTEN", "FOLDER_ADMIN_LISTEN"} {
		if v := c.getenv(name); v != "" {
			in.Env = append(in.Env, name+"="+v)
		}
	}
	return config.Load(in)
}

// self is how this program was called, for commands that a person copies.
func self() string {
	if name := os.Args[0]; strings.Contains(name, "/") && !filepath.IsAbs(name) {
		return name
	}
	return "folder"
}

func (c *cli) demoHello(o *demoOptions, addr string, d *daemon.Daemon, had uint64) {
	var others []string
	for _, d := range demoForeign {
		others = append(others, d.String())
	}
	if had > 0 {
		fmt.Fprintf(c.out, "goes on behind %d records of an earlier start\n", had)
	}
	fmt.Fprintf(c.out, `broker   %[1]s, its log and the index in %[6]s
streams  %[2]s of AGDX; of the other dialects, by their names, %[7]s
reads    %[3]s
health   %[5]s/readyz, metrics at /metrics

Look at it:
  curl -s '%[3]s/sessions/%[2]s?limit=5&total=true'
  curl -s '%[3]s/sessions/%[2]s?status=failed'
  %[4]s sessions list --url %[3]s
  %[4]s sessions list --url %[3]s --stream everruns
  %[4]s sessions events --url %[3]s SESSION

Prove it, while it runs:
  %[4]s verify --kafka.brokers %[1]s --stream %[2]s --url %[5]s

Ctrl-C ends it; the same command goes on where it stopped.
`, addr, demoStream, d.ReadsURL(), self(), d.AdminURL(), o.dir, strings.Join(others, ", "))
}
