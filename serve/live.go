package serve

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"sessionfold/wire"
)

const (
	// MaxLive is how many may follow changes live at one worker.
	MaxLive = 100
	// liveRetry is how long a client waits until it connects again, in ms.
	liveRetry = 2000
	// liveAgain is how long the topic is left alone when it could not be read.
	liveAgain = time.Second
	// liveWrite bounds how long a client may take to read what was written.
	liveWrite = 30 * time.Second
)

type stoppingKey struct{}

// stopping is closed when the server that answers the request is about to stop.
func stopping(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return c
}

// httpLive sends change rows as they are committed, as server-sent events (spec
// reads.md, section 1): behind Last-Event-ID, or behind `after`, or from now on.
func (h *handler) httpLive(w http.ResponseWriter, r *http.Request) {
	l, err := h.follow(w, r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer l.leave()
	if r.Method == http.MethodHead {
		return
	}
	if rec, ok := w.(*recorder); ok {
		rec.endless = true
	}
	l.run()
}

// live is one client that follows a stream.
type live struct {
	h      *handler
	ctx    context.Context
	stop   <-chan struct{}
	w      http.ResponseWriter
	out    *http.ResponseController
	stream string
	tail   *tail
	after  uint64
	may    func() error // the reader still may
	leave  func()
	failed error // to write: the client is gone
}

// follow looks where to begin, and begins the answer.
func (h *handler) follow(w http.ResponseWriter, r *http.Request) (*live, error) {
	p := newParams(r.URL.RawQuery, "after")
	stream := r.PathValue("stream")
	after, given := p.number("after"), p.text("after") != nil
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			p.fail("Last-Event-ID: it is the id of an event of this route, a whole number")
		}
		after, given = n, true
	}
	s, err := h.grant(r, stream)
	switch {
	case err != nil:
		return nil, err
	case p.err != nil:
		return nil, p.err
	}
	end, err := h.changes(r.Context(), s, &wire.SessionChangesRequest{Stream: s.Name, After: math.MaxUint64, Limit: 1})
	if err != nil {
		return nil, err
	}
	if h.following.Add(1) > MaxLive {
		h.following.Add(-1)
		return nil, wire.Errorf(wire.ErrUnavailable, "live: %d clients follow changes at this worker already; ask another one, or read changes", MaxLive)
	}
	l := &live{h: h, ctx: r.Context(), stop: stopping(r.Context()), w: w, out: http.NewResponseController(w), stream: s.Name, tail: h.tails[s.Name], after: end.Next}
	if given {
		l.after = after
	}
	l.may = func() error { _, err := h.grant(r, stream); return err }
	leave := l.tail.follow(end.Next)
	l.leave = func() { leave(); h.following.Add(-1) }
	hd := w.Header()
	hd.Set("Content-Type", "text/event-stream")
	hd.Set("Cache-Control", "no-store")
	hd.Set("X-Content-Type-Options", "nosniff")
	hd.Set("X-Accel-Buffering", "no") // proxies that gather would hold rows back
	w.WriteHeader(http.StatusOK)
	return l, nil
}

// run ends when the client goes away, does not read, or the server stops.
func (l *live) run() {
	beat := time.NewTicker(l.h.opt.Heartbeat)
	defer beat.Stop()
	l.write(fmt.Sprintf("retry: %d\nid: %d\n\n", liveRetry, l.after))
	failing := false
	for !l.over() {
		p := l.tail.since(l.after)
		if !p.held && !p.failing {
			more, err := l.catchUp()
			if more {
				continue
			}
			if p.failing = err != nil; p.failing && !failing && !l.over() {
				l.h.opt.Logger.ErrorContext(l.ctx, "change rows cannot be read", "stream", l.stream, "error", err.Error())
			}
		}
		l.rows(p.rows)
		if p.held {
			l.after = p.to
		}
		if p.failing && !failing {
			l.write(": the output topic cannot be read right now\n\n")
		}
		failing = p.failing
		var again <-chan time.Time
		if p.failing {
			again = time.After(liveAgain)
		}
		select {
		case <-p.moved:
		case <-again:
		case <-beat.C:
			if l.may() != nil {
				return // its token was withdrawn; it learns so when it connects again
			}
			l.write(fmt.Sprintf(": heartbeat\nid: %d\n\n", l.after))
		case <-l.ctx.Done():
		case <-l.stop:
		}
	}
}

func (l *live) over() bool {
	select {
	case <-l.ctx.Done():
		return true
	case <-l.stop:
		return true
	default:
		return l.failed != nil
	}
}

// catchUp reads on where the tail's rows do not reach to. more: it brought
// something.
func (l *live) catchUp() (more bool, err error) {
	c, err := l.h.opt.Changes(l.ctx, l.stream, l.after, MaxLimit)
	var rows []liveRow
	if err == nil {
		rows, err = rowsOf(&c)
	}
	if err != nil {
		return false, err
	}
	was := l.after
	switch {
	case c.Resync:
		l.resync(c.Floor)
	case c.Next < l.after: // the topic ends before: it was made anew, or has lost rows
		l.resync(c.Next)
	default:
		l.rows(rows)
		l.after = c.Next
	}
	return l.after != was, nil
}

// resync says that rows are missing behind the client's position, and goes on
// at another.
func (l *live) resync(at uint64) {
	l.after = at
	l.write(fmt.Sprintf("id: %d\nevent: resync\ndata: {\"floor\":%d}\n\n", at, at))
}

func (l *live) rows(rows []liveRow) {
	var b []byte
	for _, r := range rows {
		b = fmt.Appendf(b, "id: %d\ndata: %s\n", r.seq, r.data) // the data ends in a newline
	}
	if len(b) > 0 {
		l.write(string(b))
	}
}

func (l *live) write(s string) {
	if l.failed != nil {
		return
	}
	// The server's own bound is for answers that end; where it cannot be moved, it stands.
	_ = l.out.SetWriteDeadline(time.Now().Add(liveWrite))
	if _, l.failed = l.w.Write([]byte(s)); l.failed == nil {
		l.failed = l.out.Flush()
	}
}
