package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/client"
	"sessionfold/wire"
)

// reading is a command that reads something of one session, or of a stream.
func reading(c *cli, r *remote, cmd *cobra.Command, f func(cmd *cobra.Command, cl *client.Client, stream string, a []string) error) *cobra.Command {
	r.add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, a []string) error {
		cl, stream, err := r.connect(c, cmd)
		if err != nil {
			return err
		}
		return f(cmd, cl, stream, a)
	}
	return cmd
}

func sessionsLinks(c *cli) *cobra.Command {
	var r remote
	var surface string
	var asJSON bool
	cmd := &cobra.Command{Use: "links ID", Short: "Show what a session wrote, recalled or touched, and its children", Args: args(cobra.ExactArgs(1))}
	cmd.Flags().StringVar(&surface, "surface", "", "only memory, kv, graph_node, graph_edge, projection or child")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object per line")
	return reading(c, &r, cmd, func(cmd *cobra.Command, cl *client.Client, stream string, a []string) error {
		raw, err := cl.Links(cmd.Context(), stream, a[0], surface)
		if err != nil {
			return err
		}
		var v struct {
			Links     []json.RawMessage
			Truncated bool
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("the reply is no list of links: %w", err)
		}
		p := jsonLines(c.out)
		if !asJSON {
			p = linkTable(c.out)
		}
		if v.Truncated {
			fmt.Fprintln(c.err, "there are more links than are kept or shown")
		}
		return p.all(v.Links)
	})
}

func sessionsState(c *cli) *cobra.Command {
	var r remote
	var history int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "state ID", Short: "Show the state document of a session, or what became of its state records", Args: args(cobra.ExactArgs(1)),
		Long: "The document is printed as JSON; what is known about it goes to standard error.\nWith --history the newest outcomes are printed instead, oldest first.",
	}
	cmd.Flags().IntVar(&history, "history", 0, "show so many outcomes instead of the document, at most 1000")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the whole reply as JSON")
	return reading(c, &r, cmd, func(cmd *cobra.Command, cl *client.Client, stream string, a []string) error {
		// What limit 0 means is the worker's choice, so the least that can be
		// asked for is 1.
		raw, err := cl.State(cmd.Context(), stream, a[0], max(1, history))
		if err != nil {
			return err
		}
		if asJSON {
			return c.indented(raw)
		}
		var v struct {
			wire.SessionStateView
			History []json.RawMessage `json:"history"` // as they came, instead of decoded
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("the reply is no state: %w", err)
		}
		if history > 0 {
			return historyTable(c.out).all(v.History)
		}
		how := ""
		if !v.Complete {
			how = ", not complete: earlier state records are not known"
		}
		fmt.Fprintf(c.err, "revision %d%s\n", v.Revision, how)
		return c.indented(json.RawMessage(v.Document))
	})
}

func sessionsSources(c *cli) *cobra.Command {
	var r remote
	var laneOnly bool
	cmd := &cobra.Command{Use: "sources ID", Short: "Show which partitions hold records of a session, as JSON", Args: args(cobra.ExactArgs(1))}
	cmd.Flags().BoolVar(&laneOnly, "lane-only", false, "only what the stream's lane topic is")
	return reading(c, &r, cmd, func(cmd *cobra.Command, cl *client.Client, stream string, a []string) error {
		raw, err := cl.Sources(cmd.Context(), stream, a[0], laneOnly)
		if err != nil {
			return err
		}
		return c.indented(raw)
	})
}

func sessionsChanges(c *cli) *cobra.Command {
	var r remote
	var after uint64
	var limit int
	var follow bool
	cmd := &cobra.Command{Use: "changes", Short: "Show which sessions changed, one JSON object per committed step", Args: args(cobra.NoArgs)}
	cmd.Flags().Uint64Var(&after, "after", 0, "only rows behind this seq")
	cmd.Flags().IntVar(&limit, "limit", 100, "most rows, at most 1000; with --follow any number, and as many as come unless given")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show rows as they are committed, from now on unless --after is given, until ctrl-C")
	return reading(c, &r, cmd, func(cmd *cobra.Command, cl *client.Client, stream string, _ []string) error {
		if follow {
			return c.follow(cmd, cl, stream, after, limit)
		}
		raw, err := cl.Changes(cmd.Context(), stream, after, limit)
		if err != nil {
			return err
		}
		var v struct {
			Rows   []json.RawMessage
			Floor  uint64
			Resync bool
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("the reply holds no rows: %w", err)
		}
		if v.Resync {
			return fmt.Errorf("rows up to seq %d are no longer held, so those behind %d are not all there\n    hint: list the sessions, then go on with --after %d", v.Floor, after, v.Floor)
		}
		return jsonLines(c.out).all(v.Rows)
	})
}

// follow prints rows as they come. What is missing among them is said, and is no
// reason to end.
func (c *cli) follow(cmd *cobra.Command, cl *client.Client, stream string, after uint64, limit int) error {
	f := client.Follow{
		Row: jsonLines(c.out).line,
		Missing: func(floor uint64) {
			fmt.Fprintf(c.err, "rows up to seq %d are no longer held: list the sessions to have all of them\n", floor)
		},
		Again: func(err error) { fmt.Fprintf(c.err, "%v\nconnecting again\n", err) },
	}
	if cmd.Flags().Changed("after") {
		f.After = &after
	}
	if cmd.Flags().Changed("limit") {
		f.Max = limit
	}
	err := cl.Follow(cmd.Context(), stream, f)
	if errors.Is(err, context.Canceled) {
		return nil // the person has seen enough
	}
	return err
}

func sessionsCapabilities(c *cli) *cobra.Command {
	var r remote
	cmd := &cobra.Command{Use: "capabilities", Short: "Show what the worker serves, as JSON", Args: args(cobra.NoArgs)}
	r.addWorker(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cl, err := r.client(c)
		if err != nil {
			return err
		}
		raw, err := cl.Capabilities(cmd.Context())
		if err != nil {
			return err
		}
		return c.indented(raw)
	}
	return cmd
}

func sessionsTree(c *cli) *cobra.Command {
	var r remote
	var limit int
	var asJSON bool
	cmd := &cobra.Command{Use: "tree ID", Short: "Show a session with everything below it, and the sums over the tree", Args: args(cobra.ExactArgs(1))}
	cmd.Flags().IntVar(&limit, "limit", 1000, "most sessions; 0 is all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object per line, a parent before its children")
	return reading(c, &r, cmd, func(cmd *cobra.Command, cl *client.Client, stream string, a []string) error {
		show, end := treeLines(c.out)
		if !asJSON {
			show, end = treeTable(c.out)
		}
		more, err := cl.Tree(cmd.Context(), stream, a[0], limit, show)
		if err := errors.Join(err, end()); err != nil {
			return err
		}
		if more {
			fmt.Fprintln(c.err, "there are more sessions in the tree than are shown")
		}
		raw, err := cl.SessionWithTotals(cmd.Context(), stream, a[0])
		if err != nil || asJSON {
			return err
		}
		info, err := client.Info(raw)
		if err != nil || info.Subtree == nil {
			return err
		}
		t := info.Subtree
		least := ""
		if t.Truncated {
			least = "at least "
		}
		fmt.Fprintf(c.out, "all: %s%d sessions, %d events, %d model calls, %d tool calls, tokens %d/%d, cost %s, %d errors\n",
			least, t.Sessions, t.Events, t.ModelCalls, t.ToolCalls, t.TokensIn, t.TokensOut, cost(t.CostMicros, 0), t.Errors)
		return nil
	})
}
