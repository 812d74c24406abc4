package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"sessionfold/wire"
)

// SessionWithTotals reads one session with the sums over everything below it.
func (c *Client) SessionWithTotals(ctx context.Context, stream, id string) (json.RawMessage, error) {
	return c.Get(ctx, sessions(stream, id), url.Values{"subtree": {"true"}})
}

// Links reads the links of a session; surface "" is all of them.
func (c *Client) Links(ctx context.Context, stream, id, surface string) (json.RawMessage, error) {
	q := url.Values{}
	if surface != "" {
		q.Set("surface", surface)
	}
	return c.Get(ctx, sessions(stream, id, "links"), q)
}

// Audit reads the audit snapshot of a DeepStrike session in a format, 1 or 2.
func (c *Client) Audit(ctx context.Context, stream, id string, format int) (json.RawMessage, error) {
	return c.Get(ctx, sessions(stream, id, "audit"), url.Values{"format": {fmt.Sprint(format)}})
}

// Sources reads which sources hold records of a session, or with laneOnly only
// what the stream's lane topic is.
func (c *Client) Sources(ctx context.Context, stream, id string, laneOnly bool) (json.RawMessage, error) {
	return c.Get(ctx, sessions(stream, id, "sources"), url.Values{"lane_only": {fmt.Sprint(laneOnly)}})
}

// Changes reads the change rows behind a number, at most limit.
func (c *Client) Changes(ctx context.Context, stream string, after uint64, limit int) (json.RawMessage, error) {
	return c.Get(ctx, sessions(stream, "changes"), url.Values{"after": {fmt.Sprint(after)}, "limit": {fmt.Sprint(limit)}})
}

// Capabilities reads what the worker serves.
func (c *Client) Capabilities(ctx context.Context) (json.RawMessage, error) {
	return c.Get(ctx, "/capabilities", nil)
}

// A Node is a session of a tree.
type Node struct {
	Depth int // 0 is the top
	Raw   json.RawMessage
	Info  wire.SessionInfo
	Again bool // it stands further up already; what is below it is not repeated
}

// Tree calls f for a session and everything below it, a parent before its
// children and those in the order of their ids. Children are the sessions that
// name the parent in their records; a link that names a child by a foreign id, or
// one that is not there, is no session of the tree. It stops after max sessions,
// 0 is no bound, and says whether there were more.
func (c *Client) Tree(ctx context.Context, stream, top string, max int, f func(Node) error) (more bool, err error) {
	t := tree{Client: c, ctx: ctx, stream: stream, left: max, bounded: max > 0, seen: map[wire.ID]bool{}, f: f}
	err = t.visit(top, 0)
	return t.more, err
}

type tree struct {
	*Client
	ctx     context.Context
	stream  string
	left    int
	bounded bool
	more    bool
	seen    map[wire.ID]bool
	f       func(Node) error
}

func (t *tree) visit(id string, depth int) error {
	raw, err := t.Session(t.ctx, t.stream, id)
	if depth > 0 && NotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := Info(raw)
	if err != nil {
		return err
	}
	n := Node{Depth: depth, Raw: raw, Info: info, Again: t.seen[info.ID]}
	if n.Again {
		return t.f(n)
	}
	if t.bounded && t.left == 0 {
		t.more = true
		return nil
	}
	t.seen[info.ID] = true
	t.left--
	if err := t.f(n); err != nil {
		return err
	}
	body, err := t.Links(t.ctx, t.stream, id, wire.SurfaceChild.String())
	if err != nil {
		return err
	}
	var links wire.SessionLinksView
	if err := json.Unmarshal(body, &links); err != nil {
		return fmt.Errorf("client: links that do not read: %w", err)
	}
	t.more = t.more || links.Truncated
	for i := range links.Links {
		if _, err := wire.ParseID(links.Links[i].Item); err != nil {
			continue
		}
		if err := t.visit(links.Links[i].Item, depth+1); err != nil {
			return err
		}
	}
	return nil
}
