package index

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// ErrFailed is in every error of a store that met a disk error: it takes no
// more writes and answers no more reads. Close it and open it again when the
// cause is gone: what it lost comes back by a restore.
var ErrFailed = errors.New("the store has failed")

// ErrClosed is returned by calls on a closed store.
var ErrClosed = errors.New("index: the store is closed")

// health is the store's one-way state: working, then failed. Pebble calls it
// with locks held, so it calls nothing of Pebble.
type health struct {
	once    sync.Once
	failed  chan struct{} // closed on the first failure
	err     error         // set before failed is closed
	closing chan struct{} // closed when a failed store is let go
	pauses  atomic.Int64
}

func newHealth() *health {
	return &health{failed: make(chan struct{}), closing: make(chan struct{})}
}

func (h *health) fail(err error) {
	h.once.Do(func() {
		h.err = fmt.Errorf("index: %w: %w\n    hint: %s", ErrFailed, err, hintOf(err))
		if isCorrupt(err) {
			h.err = fmt.Errorf("%w: %w", ErrCorrupt, h.err)
		}
		close(h.failed)
	})
}

// The pauses of background.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// background takes Pebble's errors of flushes and compactions. Pebble tries a
// failed flush again at once and for ever; the pause keeps that from taking a
// processor until the store is closed.
func (h *health) background(err error) {
	h.fail(err)
	select {
	case <-h.closing:
	case <-time.After(min(firstPause<<min(h.pauses.Add(1), 10), lastPause)):
	}
}

// check is nil while the store works.
func (h *health) check() error {
	select {
	case <-h.failed:
		return h.err
	default:
		return nil
	}
}

// pebbleLogger takes Pebble's messages. What Pebble calls fatal, and by default
// ends the process for, fails the store instead.
type pebbleLogger struct {
	log    *slog.Logger
	health *health
}

func (l pebbleLogger) Infof(format string, args ...any) {
	l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("pebble: " + fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	e := fatal{text: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if err, ok := a.(error); ok {
			e.cause = err
		}
	}
	l.health.fail(e)
}

// fatal is a message of Pebble with the error it was made from.
type fatal struct {
	text  string
	cause error
}

func (f fatal) Error() string { return f.text }
func (f fatal) Unwrap() error { return f.cause }
