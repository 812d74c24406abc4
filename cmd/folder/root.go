package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/index"
	"sessionfold/source"
)

// cli is what a command gets from the process.
type cli struct {
	out, err io.Writer
	env      []string
}

func (c *cli) getenv(name string) string {
	for _, kv := range c.env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

// terminal says that a writer is a terminal of a person.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func newRoot(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "folder",
		Short: "Folds agent sessions from Kafka into a queryable index, exactly once",
		Long: "folder reads the records that AI agents leave on Kafka, folds them into sessions exactly once,\n" +
			"and answers who runs, what happened, in which order, and what it cost.\n\n" +
			"Start with: folder demo",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w\n    hint: %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(runCommand(c), demoCommand(c), replayCommand(c), exportCommand(c), sessionsCommand(c),
		checkStoreCommand(c), verifyCommand(c), rebuildCommand(c), drainCommand(c), logLevelCommand(c),
		topicsCommand(c), configCommand(c), versionCommand(c))
	root.AddCommand(importCommand(c))
	root.InitDefaultCompletionCmd()
	return root
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// args wraps a check of positional arguments, so that a wrong number of them
// ends with the exit code of a bad command line.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		if err := check(cmd, a); err != nil {
			return usageError{fmt.Errorf("%w\n    hint: %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

// errQuiet ends with code 1 when the output has already said why.
var errQuiet = errors.New("")

func (c *cli) exitCode(err error) int {
	var bad config.Problems
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errQuiet):
		return 1
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(c.err, "stopped")
		return 1
	}
	fmt.Fprintln(c.err, "folder:", err)
	if hint := source.Hint(err); hint != "" {
		fmt.Fprintln(c.err, "    hint:", hint)
	}
	if errors.As(err, &bad) || errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown command") {
		return 2
	}
	if index.Unusable(err) {
		return 3
	}
	return 1
}

// sameSignal is how close two signals are one: a supervisor may signal both the
// process and its group.
const sameSignal = 300 * time.Millisecond

// withSignals ends the context at the first SIGINT or SIGTERM, which is a clean
// stop; a second one ends the process at once.
func withSignals(parent context.Context, stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	sig := make(chan os.Signal, 2)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case s := <-sig:
				if first.IsZero() {
					first = time.Now()
					cancel()
				} else if time.Since(first) > sameSignal {
					fmt.Fprintf(stderr, "folder: second %v, ending at once\n", s)
					os.Exit(1)
				}
			}
		}
	}()
	return ctx, func() { signal.Stop(sig); close(done); cancel() }
}
