package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/client"
	"sessionfold/cmd/folder/internal/compare"
	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/serve"
)

func replayCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Fold a log from files, without a broker, and show or compare its sessions",
		Long: "replay folds logs as `folder export` writes them: NDJSON of {topic, partition, offset, timestamp, key,\n" +
			"headers, value}, keys and values in base64, plain or .gz; a directory stands for the logs in it.\n" +
			"Logs of DeepStrike (a file <session>.jsonl for each session) and exports of Everruns are folded as they are.\n" +
			"Streams come from the configuration, or else from the topics' names, or the dialects'.\n\n" +
			"With --compare the result is held against a running worker, session by session and row by row; the\n" +
			"exit code is 1 when they differ.",
		Args: args(cobra.MinimumNArgs(1)),
	}
	var o replayOptions
	fs := cmd.Flags()
	fs.BoolVar(&o.json, "json", false, "one JSON object per line")
	fs.StringVar(&o.events, "events", "", "show the timeline of this session instead of the list")
	fs.StringVar(&o.compare, "compare", "", "URL of a worker's reads, with the prefix, to compare with")
	fs.StringVar(&o.tokenFile, "token-file", "", "with --compare: file with a bearer token (FOLDER_TOKEN holds the token itself)")
	fs.StringVar(&o.stream, "stream", "", "stream; may be left out when there is only one")
	cf := addConfigFlags(cmd)
	cf.hide("streams")
	cmd.RunE = func(cmd *cobra.Command, a []string) error {
		l, err := config.Read(cf.input(c))
		if err != nil {
			return err
		}
		return c.replay(cmd, o, l, a)
	}
	return cmd
}

type replayOptions struct {
	json                               bool
	events, compare, tokenFile, stream string
}

func (c *cli) replay(cmd *cobra.Command, o replayOptions, l *config.Loaded, paths []string) (err error) {
	files, err := replay.Expand(paths)
	if err != nil {
		return err
	}
	streams, err := replayStreams(l)
	if err != nil {
		return err
	}
	if len(streams) == 0 {
		if streams, err = c.guessStreams(cmd.Context(), files); err != nil {
			return err
		}
	}
	var names []string
	for _, s := range streams {
		names = append(names, s.Name)
	}
	stream, err := pick(o.stream, names)
	if err != nil {
		return err
	}
	engine, err := replay.New(streams)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	if err := c.fold(cmd.Context(), engine, files); err != nil {
		return err
	}
	h, err := replayHandler(engine, streams)
	if err != nil {
		return err
	}
	here := client.Of(h, "/agdx")
	switch {
	case o.compare != "":
		return c.compare(cmd.Context(), o, here, stream, enrolled(streams, stream))
	case o.events != "":
		return c.timeline(cmd, here, stream, o.events, nil, 0, o.json)
	}
	p := c.sessions(o.json)
	_, err = here.Sessions(cmd.Context(), stream, nil, 0, p.line)
	return errors.Join(err, p.close())
}

// fold reads the files into the engine, with a bar on a terminal.
func (c *cli) fold(ctx context.Context, e *replay.Engine, files []string) error {
	began := time.Now()
	b := c.bar(replay.Size(files), "folding", true)
	if err := replay.Read(ctx, files, func(n int) { _ = b.Add(n) }, e.Put); err != nil {
		return err
	}
	if err := e.Flush(); err != nil {
		return err
	}
	_ = b.Finish()
	if foreign := e.Foreign(); len(foreign) > 0 {
		fmt.Fprintf(c.err, "left out, because their topics belong to no stream: %s\n", strings.Join(foreign, ", "))
	}
	if terminal(c.err) {
		fmt.Fprintf(c.err, "%d records in %v\n", e.Records, time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// bar is a progress bar on a terminal and silent elsewhere.
func (c *cli) bar(total int64, what string, bytes bool) *progressbar.ProgressBar {
	w := c.err
	if !terminal(w) {
		w = io.Discard
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(bytes), progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth(),
		// The library turns the spinner of a bar without a total from a goroutine
		// that takes no lock.
		progressbar.OptionSetSpinnerChangeInterval(0))
}

// replayStreams are the configured streams, with the keys that their files hold
// now.
func replayStreams(l *config.Loaded) ([]replay.Stream, error) {
	files, err := daemon.Keys(&l.Config)
	if err != nil {
		return nil, err
	}
	var out []replay.Stream
	for _, s := range l.Streams {
		out = append(out, replay.Stream{
			Name: s.Name, Dialect: s.WireDialect(), Auto: s.Auto(), Topics: s.ExtraTopics(), Keys: files[s.Name].Current(),
			Fold: s.Folding(),
		})
	}
	return out, nil
}

// actorsDiffer says that the two sides know records to be from somebody else.
func actorsDiffer(ds []compare.Difference) bool {
	for _, d := range ds {
		for _, w := range d.What {
			if strings.Contains(w, "verified_actor") {
				return true
			}
		}
	}
	return false
}

// enrolled says that a stream's signatures were held against keys.
func enrolled(streams []replay.Stream, name string) bool {
	for _, s := range streams {
		if s.Name == name {
			return s.Keys != nil
		}
	}
	return false
}

// guessStreams looks for stream names among the topics of the files. It reads
// them all: a stream whose only topic comes last must not be missed.
func (c *cli) guessStreams(ctx context.Context, files []string) ([]replay.Stream, error) {
	seen := map[string]bool{}
	var topics []string
	b := c.bar(replay.Size(files), "looking for streams", true)
	err := replay.Read(ctx, files, func(n int) { _ = b.Add(n) }, func(l *replay.Line) error {
		if !seen[l.Topic] {
			seen[l.Topic] = true
			topics = append(topics, l.Topic)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_ = b.Finish()
	streams := replay.GuessStreams(topics)
	if len(streams) == 0 {
		return nil, fmt.Errorf("no stream in these files: their topics are %s\n    hint: topics of an AGDX stream S are named S.agent.*, files of DeepStrike and Everruns are known by their first line; for others give --config", strings.Join(topics, ", "))
	}
	return streams, nil
}

// replayHandler serves the reads of what an engine folded.
func replayHandler(e *replay.Engine, streams []replay.Stream) (http.Handler, error) {
	o := serve.Options{
		Version:  buildVersion().Version,
		Snapshot: e.Store().Reader,
		Now:      func() uint64 { return uint64(time.Now().UnixMicro()) },
		// Everything is here at once: the bounds of a page are for a live server.
		SearchBudget: 1 << 30, CountBudget: 1 << 30,
	}
	for _, s := range streams {
		o.Streams = append(o.Streams, serve.Stream{Name: s.Name, Dialect: s.Dialect, Auto: s.Auto})
	}
	return serve.New(o)
}

// compare holds the replay against a worker and prints what it found.
// Without keys nothing is said of who signed what.
func (c *cli) compare(ctx context.Context, o replayOptions, here *client.Client, stream string, signed bool) error {
	r := remote{url: o.compare, tokenFile: o.tokenFile}
	there, err := r.client(c)
	if err != nil {
		return err
	}
	// Not -1, an unknown number: the library then draws from a goroutine of its
	// own, without a lock.
	b := c.bar(1, "comparing", false)
	res, err := compare.Run(ctx, compare.Side{Name: "the replay", Client: here}, compare.Side{Name: o.compare, Client: there}, compare.Options{
		Stream: stream, Keep: 10, Parallel: 8, Unsigned: !signed,
		Progress: func(n, m int) { b.ChangeMax(m); _ = b.Set(n) },
	})
	if err != nil {
		return err
	}
	_ = b.Finish()
	for i, name := range []string{"replay", "worker"} {
		fmt.Fprintf(c.out, "%s  %s  %d sessions, %d events\n", name, res.Digest[i], res.Sessions[i], res.Events[i])
	}
	if res.Equal() {
		fmt.Fprintln(c.out, "equal")
		return nil
	}
	fmt.Fprintf(c.out, "%d sessions differ (replay ≠ worker)\n", res.Differ)
	for _, d := range res.First {
		for _, w := range d.What {
			fmt.Fprintf(c.out, "  %s %s\n", d.Session, w)
		}
	}
	if n := res.Differ - len(res.First); n > 0 {
		fmt.Fprintf(c.out, "  … and %d more\n", n)
	}
	if actorsDiffer(res.First) {
		fmt.Fprintln(c.err, "    hint: the worker may have folded these records under other keys than those of now; without keys_file nobody's signature is compared")
	}
	for i, hint := range []string{
		"the worker has not folded all of this log yet; wait and compare again",
		"the worker has folded more than this log holds; export again while nothing is written",
	} {
		if n := len(res.Ahead[i]); n > 0 {
			fmt.Fprintf(c.err, "    hint: %s (%d sources, for example %s)\n", hint, n, res.Ahead[i][0])
		}
	}
	return errQuiet
}
