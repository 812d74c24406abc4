package compare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"net/url"

	"golang.org/x/sync/errgroup"

	"sessionfold/cmd/folder/internal/client"
)

// Side is one of the two.
type Side struct {
	Name   string
	Client *client.Client
}

// Difference is one session that differs.
type Difference struct {
	Session string
	What    []string // the first places, "left ≠ right"
}

// Result of a comparison.
type Result struct {
	Sessions [2]int    // how many each side has
	Events   [2]uint64 // timeline rows
	Digest   [2]string // SHA-256 over all sessions and rows, in id order
	Differ   int       // sessions that differ
	First    []Difference
	Ahead    [2][]string // sources that this side has folded further than the other
}

// Equal says that nothing differs.
func (r *Result) Equal() bool { return r.Differ == 0 }

// Options of a comparison.
type Options struct {
	Stream   string
	Keep     int            // differences kept in First
	Parallel int            // reads at once, per side
	Unsigned bool           // leave out who a record was verified to be from: one side has no keys
	Progress func(n, m int) // sessions compared of all; called by one goroutine at a time
}

// state of one session on one side.
type state struct {
	info   any
	events []any
	end    any // gaps of the timeline

	document any // the state read, see document
}

// Run compares the sessions of a stream. A session that one side lacks differs.
func Run(ctx context.Context, left, right Side, o Options) (*Result, error) {
	sides := [2]Side{left, right}
	var infos [2]map[string]any
	for i, s := range sides {
		m, err := list(ctx, s.Client, o.Stream)
		if err != nil {
			return nil, fmt.Errorf("compare: sessions of %s: %w", s.Name, err)
		}
		infos[i] = m
	}
	r := &Result{Sessions: [2]int{len(infos[0]), len(infos[1])}, Ahead: ahead(infos)}
	ids := union(infos[0], infos[1])
	sums := [2]hasher{newHasher(), newHasher()}
	for at := 0; at < len(ids); {
		chunk := ids[at:min(at+64, len(ids))]
		states, err := fetch(ctx, sides, infos, chunk, o)
		if err != nil {
			return nil, err
		}
		for j, id := range chunk {
			r.one(id, states[j], &sums, o)
		}
		if at += len(chunk); o.Progress != nil {
			o.Progress(at, len(ids))
		}
	}
	for i := range sums {
		r.Digest[i] = sums[i].sum()
	}
	return r, nil
}

// fetch reads the timelines of some sessions from both sides.
func fetch(ctx context.Context, sides [2]Side, infos [2]map[string]any, ids []string, o Options) ([][2]*state, error) {
	out := make([][2]*state, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, o.Parallel))
	for j, id := range ids {
		for i, s := range sides {
			info, ok := infos[i][id]
			if !ok {
				continue
			}
			g.Go(func() error {
				st, err := timeline(ctx, s.Client, o.Stream, id)
				if err != nil {
					return fmt.Errorf("compare: session %s of %s: %w", id, s.Name, err)
				}
				if o.Unsigned {
					unsigned(st.events)
				}
				st.info = info
				out[j][i] = st
				return nil
			})
		}
	}
	return out, g.Wait()
}

func (r *Result) one(id string, s [2]*state, sums *[2]hasher, o Options) {
	for i, st := range s {
		if st != nil {
			r.Events[i] += uint64(len(st.events))
			sums[i].add(id, st)
		}
	}
	what := differences(s[0], s[1])
	if len(what) == 0 {
		return
	}
	r.Differ++
	if len(r.First) < o.Keep {
		r.First = append(r.First, Difference{id, what})
	}
}

// perSession is how many places of one session are named.
const perSession = 5

func differences(a, b *state) []string {
	switch {
	case a == nil:
		return []string{"only on the right side"}
	case b == nil:
		return []string{"only on the left side"}
	}
	out := diff("", a.info, b.info, perSession, nil)
	if len(a.events) != len(b.events) {
		out = append(out, fmt.Sprintf("events: %d ≠ %d rows", len(a.events), len(b.events)))
	}
	for i := range min(len(a.events), len(b.events)) {
		out = diff(fmt.Sprintf("events[%d]", i), a.events[i], b.events[i], perSession, out)
	}
	out = diff("gaps", a.end, b.end, perSession, out)
	return diff("state", a.document, b.document, perSession, out)
}

func list(ctx context.Context, c *client.Client, stream string) (map[string]any, error) {
	out := map[string]any{}
	_, err := c.Sessions(ctx, stream, nil, 0, func(raw json.RawMessage) error {
		v, err := normal(raw)
		if err != nil {
			return err
		}
		m, _ := v.(map[string]any)
		id, _ := m["id"].(string)
		if id == "" {
			return fmt.Errorf("a session without an id: %.80s", raw)
		}
		if _, twice := out[id]; twice {
			return fmt.Errorf("session %s is listed twice", id)
		}
		out[id] = v
		return nil
	})
	return out, err
}

func timeline(ctx context.Context, c *client.Client, stream, id string) (*state, error) {
	st := &state{}
	end, err := c.Events(ctx, stream, id, url.Values{"fixed_frontier": {"true"}}, 0, func(raw json.RawMessage) error {
		v, err := normal(raw)
		st.events = append(st.events, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(end.Gaps) > 0 {
		if st.end, err = normal(end.Gaps); err != nil {
			return nil, err
		}
		sortRows(st.end)
	}
	if err := document(ctx, c, stream, id, st); err != nil {
		return nil, err
	}
	return st, nil
}

// hasher is SHA-256 over lines.
type hasher struct{ h hash.Hash }

func newHasher() hasher { return hasher{sha256.New()} }

func (h hasher) line(b []byte) { h.h.Write(append(b, '\n')) }

func (h hasher) add(id string, s *state) {
	h.line([]byte(id))
	h.line(canonical(s.info))
	for _, e := range s.events {
		h.line(canonical(e))
	}
	h.line(canonical(s.end))
	h.line(canonical(s.document))
}

func (h hasher) sum() string {
	return hex.EncodeToString(h.h.Sum(nil))
}
