package app

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"sessionfold/testenv"
)

// cutter cuts a connection when the broker has done what one request asked for
// and begins to answer: the answer is lost, the work is not.
type cutter struct {
	key   kmsg.Key
	armed atomic.Bool
	cuts  atomic.Int32
}

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, c: c}, nil
}

type cutConn struct {
	net.Conn
	c    *cutter
	next atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	// A request: its length in four bytes, then its key in two.
	if len(b) >= 6 && int16(binary.BigEndian.Uint16(b[4:])) == int16(c.c.key) && c.c.armed.CompareAndSwap(true, false) {
		c.next.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.next.Load() {
		c.c.cuts.Add(1)
		c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func TestLostAnswers(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn} {
		t.Run(key.Name(), func(t *testing.T) {
			t.Parallel()
			var opts []kfake.Opt
			if key == kmsg.AddPartitionsToTxn || key == kmsg.AddOffsetsToTxn { // newer brokers need neither
				opts = append(opts, kfake.MaxVersions(kversion.V3_7_0()))
			}
			r := newFakeRig(t, 2, opts...)
			r.sessions(20)
			c := &cutter{key: key}
			cfg := r.config(t.TempDir(), "a")
			cfg.Kafka.Dial = c.dial
			w := r.start(cfg)
			r.caughtUp(w)
			for i := range int32(3) {
				c.armed.Store(true)
				r.sessions(10)
				testenv.Eventually(t, waitLong, func() error {
					if c.cuts.Load() != i+1 {
						return errNotYet
					}
					return nil
				})
				r.caughtUp(w)
			}
			r.same(w)
			r.changes()
		})
	}
}
