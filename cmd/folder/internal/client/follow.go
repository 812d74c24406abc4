package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// followSilence is how long a worker may say nothing: three of its heartbeats.
	followSilence = 45 * time.Second
	// followPause is how long a worker that went away is left alone.
	followPause = 2 * time.Second
	// maxEvent bounds a line of an event; a row holds at most a few thousand ids.
	maxEvent = 8 << 20
)

// Follow says what to do with the change rows of a stream as they come.
type Follow struct {
	After   *uint64                     // begin behind this seq; nil: now
	Max     int                         // end after so many rows; 0: never
	Row     func(json.RawMessage) error // an error ends it
	Missing func(floor uint64)          // rows up to this seq are gone
	Again   func(error)                 // why the connection ended; another one follows

	silence, pause time.Duration // 0: followSilence, followPause
}

// Follow shows change rows until ctx ends, whose error it gives. A connection
// that ends is made anew, at the row where it ended; a worker that refuses the
// first one is an error.
func (c *Client) Follow(ctx context.Context, stream string, f Follow) error {
	l := &following{Follow: f, query: url.Values{}}
	l.silence, l.pause = cmp.Or(f.silence, followSilence), cmp.Or(f.pause, followPause)
	if f.After != nil {
		l.query.Set("after", fmt.Sprint(*f.After))
	}
	for {
		err := l.connect(ctx, c, sessions(stream, "live"))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case l.ended || l.id == "" || refusal(err):
			return err
		}
		f.Again(err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(l.pause):
		}
	}
}

type following struct {
	Follow
	query url.Values
	id    string // of the last event
	rows  int
	ended bool // for good
}

// refusal says that asking again would bring the same answer.
func refusal(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status >= 400 && e.Status < 500
}

// connect reads the events of one connection.
func (l *following) connect(ctx context.Context, c *Client, path string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(l.silence, func() { cancel(fmt.Errorf("nothing was heard for %v", l.silence)) })
	defer silent.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if l.id != "" {
		header.Set("Last-Event-ID", l.id)
	}
	u, res, err := c.send(ctx, path, l.query, header)
	if err != nil {
		return cause(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err != nil {
			return unreachable(u, err)
		}
		return refused(u, res.StatusCode, body)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	var e event
	for lines.Scan() {
		silent.Reset(l.silence)
		if lines.Text() != "" {
			e.add(lines.Text())
			continue
		}
		if err := l.take(&e); err != nil || l.ended {
			l.ended = true
			return err
		}
		e = event{}
	}
	if err := lines.Err(); err != nil {
		return cause(ctx, unreachable(u, err))
	}
	return &Error{URL: u, Message: "the worker ended the connection"}
}

// cause is why the connection was given up, when it was.
func cause(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

// event is one server-sent event; comments leave no trace in it.
type event struct{ id, name, data string }

func (e *event) add(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		e.id = value
	case "event":
		e.name = value
	case "data":
		e.data += value
	}
}

func (l *following) take(e *event) error {
	if e.id != "" {
		l.id = e.id
	}
	switch {
	case e.data == "":
	case e.name == "resync":
		var v struct{ Floor uint64 }
		if err := json.Unmarshal([]byte(e.data), &v); err != nil {
			return fmt.Errorf("client: an event that does not read: %w", err)
		}
		l.Missing(v.Floor)
	case e.name == "":
		l.rows++
		l.ended = l.rows == l.Max
		return l.Row(json.RawMessage(e.data))
	}
	return nil
}
