package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sessionfold/cmd/folder/internal/client"
	"sessionfold/wire"
)

func linkTable(w io.Writer) printer {
	return table(w, "SURFACE\tRELATION\tRESOURCE\tITEM\tFIRST\tLAST", func(raw json.RawMessage) (string, error) {
		var l wire.SessionLink
		err := json.Unmarshal(raw, &l)
		return strings.Join([]string{l.Surface, l.Relation, dash(l.Resource), dash(l.Item), dash(l.FirstText), dash(l.LastText)}, "\t"), err
	})
}

func historyTable(w io.Writer) printer {
	return table(w, "TIME\tOUTCOME\tREVISION\tOP\tDIGEST AFTER\tAT\tREASON", func(raw json.RawMessage) (string, error) {
		var h wire.StateChange
		err := json.Unmarshal(raw, &h)
		digest := h.NewDigestHex
		if len(digest) > 12 {
			digest = digest[:12]
		}
		return strings.Join([]string{
			clock(&h.BrokerTS), h.Outcome, fmt.Sprint(h.Revision), dash(text(h.OpID)), dash(digest), dash(h.AtText), dash(text(h.Reason)),
		}, "\t"), err
	})
}

// treeLines prints each session of a tree once, as it came.
func treeLines(w io.Writer) (show func(client.Node) error, end func() error) {
	p := jsonLines(w)
	return func(n client.Node) error {
		if n.Again {
			return nil
		}
		return p.line(n.Raw)
	}, p.close
}

// treeTable prints a tree by indentation.
func treeTable(w io.Writer) (show func(client.Node) error, end func() error) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, sessionHead)
	return func(n client.Node) error {
		before := strings.Repeat("  ", n.Depth)
		if n.Again {
			_, err := fmt.Fprintf(t, "%s%s\t(see above)\n", before, sessionName(&n.Info))
			return err
		}
		_, err := fmt.Fprintln(t, sessionRow(before, &n.Info))
		return err
	}, t.Flush
}
