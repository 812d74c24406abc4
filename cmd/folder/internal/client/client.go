package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"sessionfold/wire"
)

// Client reads from one worker.
type Client struct {
	Base  string // URL with the prefix of the reads, for example http://127.0.0.1:8080/agdx
	Token string // bearer token, "" is none
	HTTP  *http.Client
}

// New gives a client of the worker at base.
func New(base, token string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, &Error{URL: base, Message: "is no URL of a worker", Hint: "write for example http://127.0.0.1:8080/agdx"}
	}
	return &Client{Base: strings.TrimSuffix(base, "/"), Token: token, HTTP: http.DefaultClient}, nil
}

// Of gives a client of a handler in this process. base is the path prefix that
// the handler serves.
func Of(h http.Handler, base string) *Client {
	return &Client{Base: "http://in.process" + base, HTTP: &http.Client{Transport: transport{h}}}
}

// Error is a read that failed, for the person who asked.
type Error struct {
	URL     string
	Status  int    // of HTTP, 0 when no answer came
	Code    string // of the reply
	Message string
	Hint    string
}

func (e *Error) Error() string {
	s := e.URL + ": " + e.Message
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Hint != "" {
		s += "\n    hint: " + e.Hint
	}
	return s
}

// maxReply bounds what is read of one reply.
const maxReply = 256 << 20

// Get reads a path below the prefix and gives the body of a successful reply.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	u, res, err := c.send(ctx, path, query, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case err != nil:
		return nil, unreachable(u, err)
	case len(body) > maxReply:
		return nil, &Error{URL: u, Status: res.StatusCode, Message: fmt.Sprintf("the reply is larger than %d bytes", maxReply)}
	case res.StatusCode != http.StatusOK:
		return nil, refused(u, res.StatusCode, body)
	}
	return body, nil
}

// send asks for a path below the prefix; u is its whole address.
func (c *Client) send(ctx context.Context, path string, query url.Values, header http.Header) (u string, res *http.Response, err error) {
	u = c.Base + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return u, nil, &Error{URL: u, Message: err.Error()}
	}
	req.Header = header
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if res, err = c.HTTP.Do(req); err != nil {
		return u, nil, unreachable(u, err)
	}
	return u, res, nil
}

func unreachable(u string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &Error{URL: u, Message: "no answer"}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		e.Message = "nothing listens there: " + op.Err.Error()
		e.Hint = "start a worker with folder run or folder demo, or name another with --url or FOLDER_URL"
		return e
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	e.Message += ": " + err.Error()
	return e
}

func refused(u string, status int, body []byte) error {
	var r struct{ Code, Message string }
	e := &Error{URL: u, Status: status}
	if err := json.Unmarshal(body, &r); err == nil && r.Message != "" {
		e.Code, e.Message = r.Code, r.Message
	} else {
		e.Message = fmt.Sprintf("status %d without an explanation", status)
		e.Hint = "is this the address and prefix of a worker's reads?"
	}
	switch status {
	case http.StatusUnauthorized:
		e.Hint = "give a token with --token-file or FOLDER_TOKEN"
	case http.StatusForbidden:
		e.Hint = "the token does not grant this stream"
	}
	return e
}

// NotFound says that the worker answered that there is no such thing.
func NotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

func sessions(stream string, rest ...string) string {
	p := "/sessions/" + url.PathEscape(stream)
	for _, r := range rest {
		p += "/" + url.PathEscape(r)
	}
	return p
}

// Streams lists the streams that the worker says it serves; none when it does
// not say.
func (c *Client) Streams(ctx context.Context) ([]string, error) {
	body, err := c.Get(ctx, "/capabilities", nil)
	if err != nil {
		return nil, err
	}
	var r struct{ Streams []struct{ Name string } }
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, nil // capabilities of another kind
	}
	var names []string
	for _, s := range r.Streams {
		names = append(names, s.Name)
	}
	return names, nil
}

// Session reads one session.
func (c *Client) Session(ctx context.Context, stream, id string) (json.RawMessage, error) {
	return c.Get(ctx, sessions(stream, id), nil)
}

// State reads the state document of a session with at most limit outcomes.
func (c *Client) State(ctx context.Context, stream, id string, limit int) (json.RawMessage, error) {
	return c.Get(ctx, sessions(stream, id, "state"), url.Values{"history_limit": {fmt.Sprint(limit)}})
}

// A page is what both kinds of pages have.
type page struct {
	Items     []json.RawMessage
	Cursor    string
	Truncated bool
	Total     *uint64
	Searched  *uint64
	Gaps      json.RawMessage
	Frontier  json.RawMessage
	Collapsed uint64
}

// Sessions walks the list and calls f for each session. max bounds their
// number, 0 is no bound. It gives the total when the query asked for it.
func (c *Client) Sessions(ctx context.Context, stream string, query url.Values, max int, f func(json.RawMessage) error) (*uint64, error) {
	last, err := c.walk(ctx, sessions(stream), query, max, f)
	if err != nil {
		return nil, err
	}
	return last.Total, nil
}

// EventsEnd is what a timeline says beside its rows.
type EventsEnd struct {
	Gaps, Frontier json.RawMessage
	Collapsed      uint64 // rows that were asked to be left out
}

// Events walks a timeline and calls f for each row.
func (c *Client) Events(ctx context.Context, stream, id string, query url.Values, max int, f func(json.RawMessage) error) (EventsEnd, error) {
	last, err := c.walk(ctx, sessions(stream, id, "events"), query, max, f)
	return EventsEnd{last.Gaps, last.Frontier, last.Collapsed}, err
}

// walk follows cursors. Its result is the last page.
func (c *Client) walk(ctx context.Context, path string, query url.Values, max int, f func(json.RawMessage) error) (page, error) {
	q := url.Values{}
	for k, v := range query {
		q[k] = v
	}
	var total *uint64
	var collapsed uint64
	for n := 0; ; {
		size := 1000
		if max > 0 {
			size = min(size, max-n)
		}
		q.Set("limit", fmt.Sprint(size))
		body, err := c.Get(ctx, path, q)
		if err != nil {
			return page{}, err
		}
		var p page
		if err := json.Unmarshal(body, &p); err != nil {
			return page{}, &Error{URL: c.Base + path, Message: "the reply is no page: " + err.Error()}
		}
		if p.Total != nil {
			total = p.Total
		}
		for _, item := range p.Items {
			if err := f(item); err != nil {
				return page{}, err
			}
		}
		n += len(p.Items)
		collapsed += p.Collapsed
		if p.Cursor == "" || max > 0 && n >= max {
			p.Total, p.Collapsed = total, collapsed
			return p, nil
		}
		q.Set("cursor", p.Cursor)
	}
}

// Info reads a session into its type.
func Info(raw json.RawMessage) (wire.SessionInfo, error) {
	var s wire.SessionInfo
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("client: a session that does not read: %w", err)
	}
	return s, nil
}

// Event reads a timeline row into its type.
func Event(raw json.RawMessage) (wire.SessionEvent, error) {
	var e wire.SessionEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, fmt.Errorf("client: a timeline row that does not read: %w", err)
	}
	return e, nil
}
