package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"sessionfold/cmd/folder/internal/client"
	"sessionfold/wire"
)

// A sink takes items as JSON and shows them; close ends the output.
type printer struct {
	line  func(json.RawMessage) error
	close func() error
}

// all shows items and ends the output.
func (p printer) all(items []json.RawMessage) error {
	for _, raw := range items {
		if err := p.line(raw); err != nil {
			return err
		}
	}
	return p.close()
}

// jsonLines prints each item on a line of its own.
func jsonLines(w io.Writer) printer {
	return printer{
		line:  func(raw json.RawMessage) error { _, err := fmt.Fprintf(w, "%s\n", raw); return err },
		close: func() error { return nil },
	}
}

func table(w io.Writer, head string, row func(json.RawMessage) (string, error)) printer {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, head)
	return printer{
		line: func(raw json.RawMessage) error {
			s, err := row(raw)
			if err == nil {
				_, err = fmt.Fprintln(t, s)
			}
			return err
		},
		close: t.Flush,
	}
}

const sessionHead = "SESSION\tSTATUS\tAGENT\tEVENTS\tMODEL\tTOOLS\tTOKENS IN/OUT\tCOST\tERRORS\tSTARTED\tTOOK\tLABEL"

func sessionTable(w io.Writer) printer {
	return table(w, sessionHead, func(raw json.RawMessage) (string, error) {
		s, err := client.Info(raw)
		return sessionRow("", &s), err
	})
}

// sessionRow is a row below sessionHead; before stands in front of the name.
func sessionRow(before string, s *wire.SessionInfo) string {
	return strings.Join([]string{
		before + sessionName(s), statusWord(s), dash(s.Agent), fmt.Sprint(s.Events), fmt.Sprint(s.ModelCalls), fmt.Sprint(s.ToolCalls),
		fmt.Sprintf("%d/%d", s.TokensIn, s.TokensOut), cost(s.CostMicros, s.UnpricedCalls), fmt.Sprint(s.Errors),
		clock(firstOf(s.StartedAt, s.FirstEventAt)), took(s.Duration), dash(text(s.Label)),
	}, "\t")
}

func eventTable(w io.Writer) printer {
	return table(w, "TIME\tDISPLAY\tAGENT\tTOOL\tTOKENS\tAT\tSUMMARY", func(raw json.RawMessage) (string, error) {
		e, err := client.Event(raw)
		if err != nil {
			return "", err
		}
		tokens := "-"
		if e.Usage != nil {
			tokens = fmt.Sprintf("%d/%d", e.Usage.InputTokens, e.Usage.OutputTokens)
		}
		display := e.Display
		if e.AfterEnd {
			display += " (after end)"
		}
		return strings.Join([]string{
			clock(&e.BrokerTS), display, dash(e.Agent), dash(text(e.Tool)), tokens, dash(e.AtText), summary(raw),
		}, "\t"), nil
	})
}

// summary is key=value in key order, from the row as it came.
func summary(raw json.RawMessage) string {
	var e struct{ Summary map[string]json.RawMessage }
	if err := json.Unmarshal(raw, &e); err != nil {
		return ""
	}
	keys := make([]string, 0, len(e.Summary))
	for k := range e.Summary {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for i, k := range keys {
		v := strings.Trim(string(e.Summary[k]), `"`)
		if len(v) > 40 {
			v = v[:12] + "…"
		}
		keys[i] = k + "=" + v
	}
	return strings.Join(keys, " ")
}

func sessionName(s *wire.SessionInfo) string {
	if s.NativeID != "" {
		return s.NativeID
	}
	return s.ID.String()
}

func statusWord(s *wire.SessionInfo) string {
	w := s.Status
	if s.Idle {
		w += ",idle"
	}
	if s.OverBudget {
		w += ",over-budget"
	}
	return w
}

// cost is in the producer's currency; an unpriced call makes it a lower bound.
func cost(micros, unpriced uint64) string {
	prefix := ""
	if unpriced > 0 {
		prefix = "≥"
	}
	return fmt.Sprintf("%s%d.%06d", prefix, micros/1_000_000, micros%1_000_000)
}

func clock(us *uint64) string {
	if us == nil || *us > 1<<62 {
		return "-"
	}
	return time.UnixMicro(int64(*us)).UTC().Format("2006-01-02T15:04:05.000Z")
}

func took(us *uint64) string {
	if us == nil || *us > 1<<53 {
		return "-"
	}
	return time.Duration(*us * 1000).Round(time.Millisecond).String()
}

func firstOf(ps ...*uint64) *uint64 {
	for _, p := range ps {
		if p != nil {
			return p
		}
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
