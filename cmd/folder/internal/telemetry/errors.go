package telemetry

import (
	"log/slog"
	"sync"
	"time"
)

// troubleEvery is the shortest time between two lines about what exporters met.
const troubleEvery = time.Minute

// troubles logs the errors of exporters, which come with every batch while a
// backend is away, once in a while and with their number.
type troubles struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	last   time.Time
	silent int // since the last line
}

// Handle takes an error of the SDK.
func (t *troubles) Handle(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	now := t.now()
	if !t.last.IsZero() && now.Sub(t.last) < troubleEvery {
		t.silent++
		t.mu.Unlock()
		return
	}
	n := t.silent
	t.last, t.silent = now, 0
	t.mu.Unlock()
	t.log.Warn("telemetry cannot be handed over; the worker goes on without", "err", err, "not_logged", n)
}
