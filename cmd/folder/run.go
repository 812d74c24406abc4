package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/cmd/folder/internal/telemetry"
)

func runCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a worker: fold the configured streams and serve their sessions",
		Long: "run joins the consumer group, folds the partitions it is given exactly once and serves the reads.\n" +
			"SIGTERM or SIGINT ends it cleanly, a second one at once. A stop ends within " + daemon.StopBound.String() + ". Exit code 2 is a bad configuration,\n" +
			"3 a store that cannot be used: a full or failing disk, a directory in use, of another version, or not writable.",
		Args: args(cobra.NoArgs),
	}
	f := addConfigFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := config.Load(f.input(c))
		if err != nil {
			return err
		}
		tuneMemory(c.getenv)
		log, level := newLevelLogger(c.err, &l.Config)
		for _, w := range l.Warnings {
			log.Warn(w)
		}
		d, err := daemon.New(&l.Config, build(), log, level)
		if err != nil {
			return err
		}
		v := buildVersion()
		log.Info("folder starts", "version", v.Version, "commit", v.Commit, "group", l.Kafka.Group, "streams", len(l.Streams))
		// What hangs in spite of every bound must not outlast the supervisor's patience.
		defer context.AfterFunc(cmd.Context(), func() {
			time.AfterFunc(daemon.StopBound, func() {
				log.Error("the stop has taken too long; ending at once", "bound", daemon.StopBound)
				os.Exit(1)
			})
		})()
		if err := d.Run(cmd.Context()); err != nil {
			return err
		}
		log.Info("stopped")
		return nil
	}
	return cmd
}

func build() daemon.Build {
	v := buildVersion()
	return daemon.Build{Version: v.Version, Commit: v.Commit, Go: v.Go}
}

// newLogger is newLevelLogger for a command whose level stays.
func newLogger(w io.Writer, c *config.Config) *slog.Logger {
	log, _ := newLevelLogger(w, c)
	return log
}

// durations have their unit in JSON too: as numbers they are nanoseconds, which
// nothing says.
func durations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// newLevelLogger writes text on a terminal and JSON elsewhere, unless told
// otherwise, and gives its least level, which may be changed.
func newLevelLogger(w io.Writer, c *config.Config) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(c.Log.Level)) // the schema allows only its words
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: durations}
	var h slog.Handler = slog.NewJSONHandler(w, o)
	if c.Log.Format == "text" || c.Log.Format == "auto" && terminal(w) {
		h = slog.NewTextHandler(w, o)
	}
	return slog.New(daemon.Hinting(telemetry.Traced(h))), level
}
