package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/app"
	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/worker"
)

func rebuildCommand(c *cli) *cobra.Command {
	var o struct {
		stream, source  string
		lossy, off, raw bool
		within          time.Duration
		at              adminURL
	}
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Begin a stream's sources anew: drop what was folded and fold their logs again",
		Long: "rebuild asks a running worker, by its admin listener, to begin sources anew. It returns when that is\n" +
			"committed; the sources then show `rebuilding` until the fold has come to where it was. Change rows go on\n" +
			"in sequence. Sources of other workers are asked for there.\n\n" +
			"With --offline it is done on the store of a worker that is stopped: this process joins the group in its\n" +
			"place for as long as it takes.\n\n" +
			"A source whose log has lost offsets that were folded is refused unless --lossy allows their counts to go.",
		Args: args(cobra.NoArgs),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.stream, "stream", "", "stream; may be left out when only one is configured")
	fs.StringVar(&o.source, "source", "", "only this one, as topic[partition]")
	fs.BoolVar(&o.lossy, "lossy", false, "also when counts of expired offsets are lost")
	fs.BoolVar(&o.off, "offline", false, "on the store of a stopped worker")
	fs.DurationVar(&o.within, "within", 5*time.Minute, "longest time to wait")
	fs.BoolVar(&o.raw, "json", false, "print JSON")
	o.at.add(fs)
	f := addConfigFlags(cmd)
	f.hide()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		stream, err := pick(o.stream, streamNames(l))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), o.within)
		defer cancel()
		var out []daemon.Rebuilt
		if o.off {
			if l, err = config.Load(f.input(c)); err == nil {
				out, err = c.rebuildOffline(ctx, l, stream, o.source, o.lossy)
			}
		} else {
			out, err = rebuildOnline(ctx, o.at.base(c, l), stream, o.source, o.lossy)
		}
		if err != nil {
			return err
		}
		return c.rebuilt(out, o.raw)
	}
	return cmd
}

func streamNames(l *config.Loaded) (names []string) {
	for _, s := range l.Streams {
		names = append(names, s.Name)
	}
	return names
}

func rebuildOnline(ctx context.Context, base, stream, source string, lossy bool) (out []daemon.Rebuilt, err error) {
	q := url.Values{"stream": {stream}}
	if source != "" {
		q.Set("source", source)
	}
	if lossy {
		q.Set("lossy", "true")
	}
	res, err := ask(ctx, http.MethodPost, base, "/rebuild", q, http.StatusOK, http.StatusConflict)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		return nil, fmt.Errorf("%s: the answer does not read: %w", base, err)
	}
	return out, nil
}

// rebuildOffline runs the worker itself until the sources are begun anew.
func (c *cli) rebuildOffline(ctx context.Context, l *config.Loaded, stream, source string, lossy bool) (out []daemon.Rebuilt, err error) {
	enrolled, err := daemon.Keys(&l.Config)
	if err != nil {
		return nil, err
	}
	ac, err := daemon.AppConfig(&l.Config, enrolled, newLogger(c.err, &l.Config))
	if err != nil {
		return nil, err
	}
	a, err := app.New(ac)
	if err != nil {
		return nil, err
	}
	runCtx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(runCtx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended, a.Close())
	}()
	if err := settled(ctx, a, stream, ended); err != nil {
		return nil, err
	}
	return daemon.Rebuild(ctx, a, stream, source, lossy)
}

// settled waits until this process owns sources of the stream and all are active.
func settled(ctx context.Context, a *app.App, stream string, ended chan error) error {
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		n, active := 0, 0
		for _, s := range a.Sources() {
			if a.StreamOf(s.Topic) == stream {
				n++
				if s.State == worker.Active {
					active++
				}
			}
		}
		if n > 0 && active == n && a.Ready() == nil {
			return nil
		}
		select {
		case err := <-ended:
			ended <- nil
			return fmt.Errorf("the worker ended before its sources were there: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("%d of %d sources of stream %q are active: %w", active, n, stream, ctx.Err())
		case <-t.C:
		}
	}
}

func (c *cli) rebuilt(out []daemon.Rebuilt, raw bool) error {
	bad, lossy := 0, 0
	for _, r := range out {
		switch {
		case r.Error != "":
			bad++
			if r.Lossy {
				lossy++
			}
			if !raw {
				fmt.Fprintf(c.out, "%s  refused: %s\n", r.Source, r.Error)
			}
		case !raw:
			fmt.Fprintf(c.out, "%s  begun anew\n", r.Source)
		}
	}
	if raw {
		if err := json.NewEncoder(c.out).Encode(out); err != nil {
			return err
		}
	}
	if lossy > 0 {
		fmt.Fprintln(c.err, "    hint: --lossy begins them anew all the same")
	}
	if bad > 0 {
		return errQuiet
	}
	return nil
}
