package deployed

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/expect"
	"sessionfold/testenv/feed"
	"sessionfold/testenv/nativegen"
	"sessionfold/wire"
)

// load writes a log of each dialect, at a pace, and counts what they must come to.
type load struct {
	agents  *expect.Stream
	foreign map[string]map[wire.ID]uint64 // by stream: records of each session
	written map[string]int64              // by topic

	feeds  []*counted
	feed   *feed.Feed
	cancel context.CancelFunc
	group  *errgroup.Group
}

// counted is a generator whose records are counted as they go out.
type counted struct {
	feed.Generator
	rate    float64
	written map[string]int64
	count   func(*agdxlog.Record)
}

func (c *counted) Next() (agdxgen.Event, bool) {
	e, ok := c.Generator.Next()
	if ok {
		c.written[e.Topic]++
		c.count(&e.Record)
	}
	return e, ok
}

// startLoad writes until stop, as somebody who may do everything.
func startLoad(t *testing.T, addr string, seed uint64) *load {
	t.Helper()
	f, err := feed.New([]string{addr})
	if err != nil {
		t.Fatal(err)
	}
	l := &load{agents: expect.New(), foreign: map[string]map[wire.ID]uint64{}, written: map[string]int64{}, feed: f}
	epoch := time.UnixMilli(1_800_000_000_000)
	l.add(150, agdxgen.New(agdxgen.Options{Stream: "agents", Seed: seed, Rate: 150, Epoch: epoch, Live: 40}), func(r *agdxlog.Record) { l.agents.Add(*r) })
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		of := map[wire.ID]uint64{}
		l.foreign[d.String()] = of
		// Nothing bad among these: then each record is one of its session's.
		l.add(50, nativegen.New(nativegen.Options{Dialect: d, Seed: seed, Rate: 50, Epoch: epoch, Live: 20, Clean: true}), func(r *agdxlog.Record) { of[r.Session]++ })
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.group, ctx = errgroup.WithContext(ctx)
	for _, c := range l.feeds {
		l.group.Go(func() error {
			_, err := f.Run(ctx, c, 0, c.rate)
			return err
		})
	}
	t.Cleanup(func() {
		cancel()
		_ = l.group.Wait() // stop has looked at it
		f.Close()
	})
	return l
}

func (l *load) add(rate float64, g feed.Generator, count func(*agdxlog.Record)) {
	l.feeds = append(l.feeds, &counted{g, rate, map[string]int64{}, count})
}

// stop ends the load when the brokers have all of it.
func (l *load) stop() error {
	l.cancel()
	if err := l.group.Wait(); err != nil {
		return err
	}
	for _, c := range l.feeds {
		for topic, n := range c.written {
			l.written[topic] += n
		}
	}
	for stream, of := range l.foreign {
		if len(of) < 20 {
			return fmt.Errorf("the load has only %d sessions of %s", len(of), stream)
		}
	}
	return nil
}
