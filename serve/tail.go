package serve

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sessionfold/wire"
)

const (
	tailEvery = 200 * time.Millisecond // between reads that brought nothing
	tailBytes = 4 << 20                // of the rows that a tail keeps
)

// tail reads the end of a stream's change rows once for all who follow it, for
// as long as somebody does.
type tail struct {
	read   func(ctx context.Context, after uint64, limit int) (wire.SessionChanges, error)
	keep   int // bytes of rows
	logger *slog.Logger

	mu        sync.Mutex
	followers int
	end       func()          // ends the reading
	ended     <-chan struct{} // it has
	from, to  uint64          // rows are all of these: from exclusive, to inclusive
	rows      []liveRow
	bytes     int
	failing   bool
	moved     chan struct{} // closed when something of the above is another
}

// liveRow is a row as it goes out.
type liveRow struct {
	seq  uint64
	data []byte
}

func rowsOf(c *wire.SessionChanges) ([]liveRow, error) {
	out := make([]liveRow, len(c.Rows))
	for i := range c.Rows {
		b, err := encodeJSON(&c.Rows[i])
		if err != nil {
			return nil, err
		}
		out[i] = liveRow{c.Rows[i].Seq, b}
	}
	return out, nil
}

// follow begins to read at a position unless somebody follows already. Call
// leave at the end.
func (t *tail) follow(at uint64) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.followers++; t.followers == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		t.end, t.ended = cancel, done
		t.restart(at)
		t.moved = make(chan struct{})
		go func() { defer close(done); t.run(ctx) }()
	}
	return t.leave
}

func (t *tail) leave() {
	t.mu.Lock()
	t.followers--
	last, ended := t.followers == 0, t.ended
	if last {
		t.end()
	}
	t.mu.Unlock()
	if last {
		<-ended
	}
}

// restart drops the rows. It is called under the lock.
func (t *tail) restart(at uint64) {
	t.from, t.to, t.rows, t.bytes, t.failing = at, at, nil, 0, false
}

func (t *tail) run(ctx context.Context) {
	t.mu.Lock()
	at := t.to
	t.mu.Unlock()
	for ctx.Err() == nil {
		c, err := t.read(ctx, at, MaxLimit)
		var rows []liveRow
		if err == nil {
			rows, err = rowsOf(&c)
		}
		at = t.take(ctx, &c, rows, err)
		if len(rows) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tailEvery):
		}
	}
}

// take puts in what was read and gives the position to go on at. A position
// that the topic does not have any more, or not yet again, is where the rows
// begin anew: who stands elsewhere finds it out from the topic.
func (t *tail) take(ctx context.Context, c *wire.SessionChanges, rows []liveRow, err error) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return t.to // somebody else may follow by now, from another position
	}
	if err != nil && !t.failing {
		t.logger.Error("change rows cannot be read", "error", err.Error())
	}
	switch changed := t.failing != (err != nil); {
	case err != nil:
		t.failing = true
		if !changed {
			return t.to
		}
	case c.Resync:
		t.restart(c.Floor)
	case c.Next < t.to:
		t.restart(c.Next)
	case c.Next == t.to && !changed:
		return t.to
	default:
		t.rows, t.to, t.failing = append(t.rows, rows...), c.Next, false
		t.trim(rows)
	}
	close(t.moved)
	t.moved = make(chan struct{})
	return t.to
}

// trim keeps the memory bounded.
func (t *tail) trim(added []liveRow) {
	for i := range added {
		t.bytes += len(added[i].data)
	}
	n := 0
	for ; t.bytes > t.keep; n++ {
		t.bytes -= len(t.rows[n].data)
		t.from = t.rows[n].seq
	}
	t.rows = slices.Delete(t.rows, 0, n)
}

// piece is what a tail has behind a position.
type piece struct {
	rows    []liveRow
	to      uint64 // the position behind the rows
	held    bool   // the position lies within what the tail has
	failing bool   // the topic cannot be read
	moved   <-chan struct{}
}

func (t *tail) since(after uint64) piece {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := piece{to: t.to, held: t.from <= after && after <= t.to, failing: t.failing, moved: t.moved}
	if p.held {
		i, _ := slices.BinarySearchFunc(t.rows, after+1, func(r liveRow, seq uint64) int { return cmp.Compare(r.seq, seq) })
		p.rows = slices.Clone(t.rows[i:])
	}
	return p
}
