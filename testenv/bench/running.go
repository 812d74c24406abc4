package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Running lets a worker that has caught up with one load catch up with a second
// one, which comes to light as a whole: it is written in one transaction, and the
// clock starts with its commit. Throughput measures a process that has just
// started, whose memory the kernel still has to hand out page by page; this is
// what one that has been running does.
func (b *Bench) Running(ctx context.Context, stream string, first, second *Load) (r Run, err error) {
	if err := b.Preload(ctx, stream, first); err != nil {
		return r, err
	}
	topic := first.lane(stream)
	w, err := b.startWorker(stream, stream, first.Dialect)
	if err != nil {
		return r, err
	}
	defer w.Kill()
	if err := w.awaitReads(ctx, 30*time.Second); err != nil {
		return r, err
	}
	if _, err := b.await(ctx, w, topic, first, 0); err != nil {
		return r, err
	}
	commit, err := b.Kafka.hold(ctx, stream, second.Records)
	if err != nil {
		return r, err
	}
	if b.Profile != "" {
		go func() {
			if err := w.profile(ctx, b.ProfileFor, fmt.Sprintf("%s/%s.pprof", b.Profile, stream)); err != nil {
				fmt.Println("bench:", err)
			}
		}()
	}
	r.Records = len(second.Records)
	before, start := w.CPUSoFar(), time.Now()
	if err := commit(); err != nil {
		return r, err
	}
	end, err := b.await(ctx, w, topic, second, 1)
	if err != nil {
		return r, err
	}
	r.Took, r.CPU, r.RSS = end.Sub(start), w.CPUSoFar()-before, w.PeakRSS()
	return r, w.Stop()
}

// await waits until a load is readable to its end, behind which are markers.
func (b *Bench) await(ctx context.Context, w Worker, topic string, l *Load, markers int64) (time.Time, error) {
	ends, err := b.Kafka.Ends(ctx, topic)
	if err != nil {
		return time.Time{}, err
	}
	for p := range ends {
		ends[p] -= markers
	}
	return w.awaitFolded(ctx, l, topic, ends, b.Within)
}

// hold writes records in a transaction that the function given back commits.
func (k *Kafka) hold(ctx context.Context, id string, rs []Placed) (commit func() error, err error) {
	cl, err := kgo.NewClient(append(k.opts(), kgo.TransactionalID("bench-"+id))...)
	if err != nil {
		return nil, fmt.Errorf("bench: a client for %v: %w", k.Addrs, err)
	}
	defer func() {
		if err != nil {
			cl.Close()
		}
	}()
	if err := cl.BeginTransaction(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if err := produce(ctx, cl, rs); err != nil {
		return nil, err
	}
	return func() error {
		defer cl.Close()
		if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		return nil
	}, nil
}
