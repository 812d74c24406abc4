package source

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// A broker that took a connection and never said anything is not dialled again
// for a moment; one that spoke once, one that refused and other brokers are.
func TestASilentBrokerIsLeftAlone(t *testing.T) {
	ctx := context.Background()
	clock := time.Unix(1000, 0)
	s := newSilent()
	s.now = func() time.Time { return clock }
	dials := 0
	var peer net.Conn
	var fails error
	to := s.around(func(context.Context, string, string) (c net.Conn, err error) {
		dials++
		if fails != nil {
			return nil, fails
		}
		c, peer = net.Pipe()
		return c, nil
	})
	open := func(addr string) net.Conn {
		t.Helper()
		c, err := to(ctx, "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	wait := func(c net.Conn) {
		t.Helper()
		_ = c.SetReadDeadline(time.Unix(1, 0)) // long ago
		if _, err := c.Read(make([]byte, 1)); !expired(err) {
			t.Fatalf("read: %v", err)
		}
	}
	refused := func(addr string, want bool) {
		t.Helper()
		before := dials
		c, err := to(ctx, "tcp", addr)
		if c != nil {
			c.Close()
		}
		if (err != nil && dials == before) != want {
			t.Errorf("%s: refused %v (%v), want %v", addr, !want, err, want)
		}
	}

	c := open("a:1")
	wait(c)
	refused("a:1", true)
	refused("b:1", false)
	clock = clock.Add(silence)
	refused("a:1", false)

	c = open("c:1") // one that spoke
	go func() { _, _ = peer.Write([]byte("x")) }()
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	wait(c)
	refused("c:1", false)

	c = open("d:1") // one that hung up
	peer.Close()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	refused("d:1", false)

	fails = errors.New("connection refused")
	refused("e:1", false)
	refused("e:1", false)
	fails = context.DeadlineExceeded // a handshake without an answer
	refused("f:1", false)
	refused("f:1", true)
	over, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	if _, err := to(over, "tcp", "g:1"); err == nil { // the caller's own time was over
		t.Fatal("no error")
	}
	refused("g:1", false)
}
