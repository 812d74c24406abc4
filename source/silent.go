package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// silence is how long a broker that took a connection and said nothing on it is
// not dialled again. A client sends a broker's requests one after the other, and
// each new connection to a broker that is frozen holds up for answerWait what is
// behind it, the question to any broker who leads now among it.
const silence = 3 * time.Second

// dial makes a connection.
type dial func(ctx context.Context, network, addr string) (net.Conn, error)

// silent knows the brokers that a client found silent.
type silent struct {
	mu    sync.Mutex
	until map[string]time.Time // by address
	now   func() time.Time
}

func newSilent() *silent { return &silent{until: map[string]time.Time{}, now: time.Now} }

// around is a dial that fails at once for a broker that was silent a moment ago.
func (s *silent) around(to dial) dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if left := s.left(addr); left > 0 {
			return nil, fmt.Errorf("source: broker %s did not answer, and is asked again in %v", addr, left.Round(time.Millisecond))
		}
		c, err := to(ctx, network, addr)
		if err != nil {
			if ctx.Err() == nil && expired(err) {
				s.mark(addr)
			}
			return nil, err
		}
		return &heard{Conn: c, of: s, addr: addr}, nil
	}
}

func (s *silent) left(addr string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.until[addr].Sub(s.now())
}

func (s *silent) mark(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until[addr] = s.now().Add(silence)
}

func expired(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

// heard is a connection that tells when nothing ever came over it.
type heard struct {
	net.Conn
	of   *silent
	addr string
	any  atomic.Bool
}

func (c *heard) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	switch {
	case n > 0:
		c.any.Store(true)
	case !c.any.Load() && expired(err):
		c.of.mark(c.addr)
	}
	return n, err
}
