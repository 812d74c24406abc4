package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/cmd/folder/internal/verify"
	"sessionfold/fold"
	"sessionfold/source"
	"sessionfold/wire"
)

func verifyCommand(c *cli) *cobra.Command {
	var stream, dir string
	var keep int
	var asJSON bool
	var at adminURL
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Hold a running worker's index against its log, session by session",
		Long: "verify takes a snapshot of what a running worker has stored of a stream, folds the log that the brokers\n" +
			"still hold afresh up to the same offsets, and compares the two. What the log does not hold any more is\n" +
			"accounted for. A worker that has a part of the stream is compared by that part.\n\n" +
			"The exit code is 1 when something differs.",
		Args: args(cobra.NoArgs),
	}
	fs := cmd.Flags()
	fs.StringVar(&stream, "stream", "", "stream; may be left out when only one is configured")
	fs.StringVar(&dir, "dir", "", "keep the two copies in this directory instead of in memory")
	fs.IntVar(&keep, "keep", 10, "differences to show")
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	at.add(fs)
	f := addConfigFlags(cmd)
	f.hide()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		name, err := pick(stream, streamNames(l))
		if err != nil {
			return err
		}
		if len(l.Streams) == 0 {
			l.Streams = []config.Stream{{Name: name, Dialect: "agdx", TimelineCap: fold.DefaultTimelineCap}}
		}
		r, err := c.verify(cmd.Context(), l, at.base(c, l), verify.Options{Stream: name, Dir: dir, Keep: keep})
		if err != nil {
			return err
		}
		return c.verified(r, asJSON)
	}
	return cmd
}

func (c *cli) verify(ctx context.Context, l *config.Loaded, base string, o verify.Options) (*verify.Result, error) {
	for i := range l.Streams {
		if s := &l.Streams[i]; s.Name == o.Stream {
			o.Fold = s.Folding()
		}
	}
	enrolled, err := daemon.Keys(&l.Config)
	if err != nil {
		return nil, err
	}
	o.Keys = enrolled[o.Stream].Current()
	conn, err := daemon.Conn(&l.Config, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	streams := daemon.SourceStreams(&l.Config)
	for i := range streams {
		streams[i].Auto = false // the index says which dialect it was
	}
	log, err := source.NewReader(conn, streams)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	heads, err := log.Heads(ctx)
	if err != nil {
		return nil, err
	}
	o.Starts = map[wire.SourceKey]uint64{}
	for tp, h := range heads {
		src := wire.NewSource(o.Stream, tp.Topic, h.Generation, uint32(tp.Partition), 0, 0)
		o.Starts[src.Key()] = h.Start
	}
	res, err := ask(ctx, http.MethodGet, base, "/dump", url.Values{"stream": {o.Stream}}, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	bar := c.bar(-1, "verifying", false)
	o.Progress = func(what string, n int) { _ = bar.Add(n) }
	r, err := verify.Run(ctx, res.Body, log, o)
	_ = bar.Finish()
	return r, err
}

// verified prints what was found.
func (c *cli) verified(r *verify.Result, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(c.out).Encode(r); err != nil {
			return err
		}
	} else {
		c.verdict(r)
	}
	if !r.Equal() {
		return errQuiet
	}
	return nil
}

func (c *cli) verdict(r *verify.Result) {
	for _, s := range r.Sources {
		fmt.Fprintf(c.out, "%s[%d]  offsets %d to %d, %d records folded afresh", s.Topic, s.Partition, s.LogStart, s.Next, s.Records)
		if s.Untimed > 0 {
			fmt.Fprintf(c.out, "; times compared from offset %d", s.Untimed)
		}
		if s.Gaps > 0 {
			fmt.Fprintf(c.out, "; %d gaps", s.Gaps)
		}
		if s.Signatures != "" {
			fmt.Fprintf(c.out, "; signatures %s", s.Signatures)
		}
		if s.Refolding {
			fmt.Fprint(c.out, "; rebuilding")
		}
		if s.Note != "" {
			fmt.Fprintf(c.out, "; not compared: %s", s.Note)
		}
		fmt.Fprintln(c.out)
	}
	fmt.Fprintf(c.out, "%d sessions compared whole, %d where the log still holds them, %d are older than the log; %d timeline rows\n", r.Whole, r.Partly, r.Older, r.Rows)
	if r.Skipped > 0 {
		fmt.Fprintf(c.out, "%d sessions lie in sources that were not compared\n", r.Skipped)
	}
	if r.Missing > 0 {
		fmt.Fprintf(c.out, "%d timeline rows are being rebuilt and were left out\n", r.Missing)
	}
	for _, f := range r.Faults {
		fmt.Fprintln(c.out, "fault:", f)
	}
	for _, d := range r.First {
		for _, w := range d.What {
			fmt.Fprintf(c.out, "  %s %s\n", d.Session, w)
		}
	}
	if n := r.Differ - len(r.First); n > 0 {
		fmt.Fprintf(c.out, "  … and %d more sessions\n", n)
	}
	if r.Equal() {
		fmt.Fprintln(c.out, "equal")
	} else {
		fmt.Fprintf(c.out, "%d sessions differ (index ≠ log)\n", r.Differ)
	}
}
