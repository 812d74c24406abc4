package app

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// ice is a network in which a broker can freeze as a process does that gets
// SIGSTOP: connections to it stay open, new ones are taken, nothing is answered.
type ice struct {
	hole net.Listener // takes connections, and no more

	mu     sync.Mutex
	frozen string // address; empty: none
}

func newIce(t *testing.T) *ice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &ice{hole: l}
}

func (i *ice) freeze(addr string) {
	i.mu.Lock()
	i.frozen = addr
	i.mu.Unlock()
}

func (i *ice) is(addr string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.frozen == addr
}

func (i *ice) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	to := addr
	if i.is(addr) {
		to = i.hole.Addr().String()
	}
	c, err := new(net.Dialer).DialContext(ctx, network, to)
	if err != nil {
		return nil, err
	}
	return &iced{c, i, addr}, nil
}

type iced struct {
	net.Conn
	ice  *ice
	addr string
}

// Read gives nothing of what comes while the broker is frozen; the deadline is
// the connection's own.
func (c *iced) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.ice.is(c.addr) {
			return n, err
		}
	}
}

func (c *iced) Write(b []byte) (int, error) {
	if c.ice.is(c.addr) {
		return len(b), nil // into the buffer of a socket that nobody reads
	}
	return c.Conn.Write(b)
}

// A broker that is frozen, not dead, answers nothing and refuses nothing. The
// others lead without it within moments; the worker must not go on asking it.
func TestBrokerFreezes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("requests that run into their time")
	}
	r := newFakeRig(t, 4, kfake.NumBrokers(3))
	ice := newIce(t)
	node := r.k.Fake.CoordinatorFor(r.group) // and leader of some of the partitions
	brokers, err := r.k.Admin.ListBrokers(context.Background())
	r.must(err)
	cfg := r.config(t.TempDir(), "a")
	cfg.SessionTimeout = 30 * time.Second // longer than what is to be survived here
	cfg.Kafka.Dial = ice.dial
	cfg.Kafka.Brokers = nil
	frozen := ""
	for _, b := range brokers {
		if addr := net.JoinHostPort(b.Host, fmt.Sprint(b.Port)); b.NodeID == node {
			frozen = addr
		} else {
			// Of the seeds one is asked now and then, whatever became of it: with the
			// frozen one among them it may take ten seconds more.
			cfg.Kafka.Brokers = append(cfg.Kafka.Brokers, addr)
		}
	}
	w := r.start(cfg)
	r.sessions(40)
	r.caughtUp(w)

	ice.freeze(frozen)
	begin := time.Now()
	r.must(r.k.Fake.RemoveNode(node)) // what the controller does when heartbeats stay out
	r.sessions(40)
	r.caughtUp(w)
	took := time.Since(begin)
	t.Logf("the fold is at the end again after %s", took.Round(time.Millisecond))
	if took > 15*time.Second { // one request that hangs may hide another, and a third
		t.Errorf("the worker stood for %s", took)
	}
	r.sameSoon(w)
	r.changes()
}
