package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sessionfold/cmd/folder/internal/client"
)

// defaultURL is where folder run and folder demo serve unless told otherwise.
const defaultURL = "http://127.0.0.1:8080/agdx"

// remote are the flags that name a running worker.
type remote struct {
	url, tokenFile, stream string
}

func (r *remote) add(fs *pflag.FlagSet) {
	r.addWorker(fs)
	r.addStream(fs)
}

func (r *remote) addWorker(fs *pflag.FlagSet) {
	fs.StringVar(&r.url, "url", "", "worker's reads, with the prefix (FOLDER_URL; default "+defaultURL+")")
	fs.StringVar(&r.tokenFile, "token-file", "", "file with a bearer token (FOLDER_TOKEN holds the token itself)")
}

func (r *remote) addStream(fs *pflag.FlagSet) {
	fs.StringVar(&r.stream, "stream", "", "stream; may be left out when there is only one")
}

func (r *remote) client(c *cli) (*client.Client, error) {
	base := r.url
	if base == "" {
		base = c.getenv("FOLDER_URL")
	}
	if base == "" {
		base = defaultURL
	}
	token := c.getenv("FOLDER_TOKEN")
	if r.tokenFile != "" {
		b, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		token = strings.TrimSpace(string(b))
	}
	return client.New(base, token)
}

// pick chooses the stream of a command: the one asked for, else the only one.
func pick(asked string, have []string) (string, error) {
	switch {
	case asked != "":
		return asked, nil
	case len(have) == 1:
		return have[0], nil
	case len(have) == 0:
		return "", usageError{errors.New("which stream?\n    hint: name it with --stream")}
	}
	return "", usageError{fmt.Errorf("there are %d streams: %s\n    hint: choose one with --stream", len(have), strings.Join(have, ", "))}
}

func (r *remote) connect(c *cli, cmd *cobra.Command) (*client.Client, string, error) {
	cl, err := r.client(c)
	if err != nil {
		return nil, "", err
	}
	var have []string
	if r.stream == "" {
		if have, err = cl.Streams(cmd.Context()); err != nil {
			return nil, "", err
		}
		// A question about the wrong stream harms nobody, and says which it was.
		if len(have) > 1 {
			fmt.Fprintf(c.err, "stream %s; there are also %s (--stream)\n", have[0], strings.Join(have[1:], ", "))
			have = have[:1]
		}
	}
	stream, err := pick(r.stream, have)
	return cl, stream, err
}

func sessionsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "Read sessions from a running worker",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(sessionsList(c), sessionsGet(c), sessionsEvents(c), sessionsState(c), sessionsLinks(c), sessionsTree(c), sessionsAudit(c),
		sessionsSources(c), sessionsChanges(c), sessionsCapabilities(c))
	return cmd
}

// filters of the list, by flag and query parameter.
var filters = []struct{ flag, param, doc string }{
	{"status", "status", "submitted, active, paused, completed, failed or canceled"},
	{"agent", "agent", "an agent that wrote in the session"},
	{"text", "text", "part of the label or id"},
	{"root", "root", "sessions of the tree below this id"},
	{"label-prefix", "label_prefix", "beginning of the label"},
	{"activity", "activity", "running, paused, failed, completed or idle"},
	{"source", "source", "how the session came about (Everruns): chat, api, slack, schedule …"},
	{"dialect", "dialect", "agdx, deepstrike or everruns"},
	{"tag", "tag", "a tag of the session"},
	{"active-from", "active_from", "sessions that were active then or later: µs or RFC 3339"},
	{"active-to", "active_to", "sessions that were active then or earlier: µs or RFC 3339"},
}

func sessionsList(c *cli) *cobra.Command {
	var r remote
	var limit int
	var total, asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List sessions, newest start first", Args: args(cobra.NoArgs)}
	values := map[string]*string{}
	for _, f := range filters {
		values[f.flag] = cmd.Flags().String(f.flag, "", f.doc)
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "most sessions; 0 is all")
	cmd.Flags().BoolVar(&total, "total", false, "also say how many sessions match")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object per line")
	r.add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cl, stream, err := r.connect(c, cmd)
		if err != nil {
			return err
		}
		q := url.Values{}
		for _, f := range filters {
			if cmd.Flags().Changed(f.flag) {
				q.Set(f.param, *values[f.flag])
			}
		}
		if total {
			q.Set("total", "true")
		}
		p := c.sessions(asJSON)
		n, err := cl.Sessions(cmd.Context(), stream, q, limit, p.line)
		if err := errors.Join(err, p.close()); err != nil {
			return err
		}
		if n != nil {
			fmt.Fprintf(c.err, "%d sessions match\n", *n)
		}
		return nil
	}
	return cmd
}

func (c *cli) sessions(asJSON bool) printer {
	if asJSON {
		return jsonLines(c.out)
	}
	return sessionTable(c.out)
}

func (c *cli) events(asJSON bool) printer {
	if asJSON {
		return jsonLines(c.out)
	}
	return eventTable(c.out)
}

func sessionsGet(c *cli) *cobra.Command {
	var r remote
	var subtree bool
	cmd := &cobra.Command{Use: "get ID", Short: "Show everything about one session, as JSON", Args: args(cobra.ExactArgs(1))}
	cmd.Flags().BoolVar(&subtree, "subtree", false, "also the sums over the session and everything below it")
	return reading(c, &r, cmd, func(cmd *cobra.Command, cl *client.Client, stream string, a []string) error {
		read := cl.Session
		if subtree {
			read = cl.SessionWithTotals
		}
		raw, err := read(cmd.Context(), stream, a[0])
		if err != nil {
			return err
		}
		return c.indented(raw)
	})
}

func (c *cli) indented(raw json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("the reply is no JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := b.WriteTo(c.out)
	return err
}

func sessionsEvents(c *cli) *cobra.Command {
	var r remote
	var limit int
	var asJSON, collapse, fixed bool
	cmd := &cobra.Command{Use: "events ID", Short: "Show the timeline of one session", Args: args(cobra.ExactArgs(1))}
	cmd.Flags().IntVar(&limit, "limit", 0, "most rows; 0 is all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object per line")
	cmd.Flags().BoolVar(&collapse, "collapse", false, "of a stream of chunks only the first row")
	cmd.Flags().BoolVar(&fixed, "fixed-frontier", false, "nothing that is folded after the first page was read")
	words := map[string]*string{
		"order":   cmd.Flags().String("order", "asc", "asc, or desc: the newest rows first"),
		"around":  cmd.Flags().String("around", "", "begin with the rows about this time, half of --limit before it: µs or RFC 3339"),
		"display": cmd.Flags().String("display", "", "only rows with one of these displays, for example error,tool.call"),
	}
	return reading(c, &r, cmd, func(cmd *cobra.Command, cl *client.Client, stream string, a []string) error {
		q := url.Values{}
		for name, on := range map[string]bool{"collapse": collapse, "fixed_frontier": fixed} {
			if on {
				q.Set(name, "true")
			}
		}
		for name, v := range words {
			if cmd.Flags().Changed(name) {
				q.Set(name, *v)
			}
		}
		return c.timeline(cmd, cl, stream, a[0], q, limit, asJSON)
	})
}

// timeline prints the rows of a session, then what is missing from them.
func (c *cli) timeline(cmd *cobra.Command, cl *client.Client, stream, id string, q url.Values, limit int, asJSON bool) error {
	p := c.events(asJSON)
	end, err := cl.Events(cmd.Context(), stream, id, q, limit, p.line)
	if err := errors.Join(err, p.close()); err != nil {
		return err
	}
	if end.Collapsed > 0 {
		fmt.Fprintf(c.err, "%d rows of chunks are not shown\n", end.Collapsed)
	}
	if len(end.Gaps) > 0 {
		fmt.Fprintf(c.err, "missing offsets: %s\n", end.Gaps)
	}
	return nil
}
