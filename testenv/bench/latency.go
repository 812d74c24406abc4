package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Latency is the time from handing a record to the producer to the first read
// over HTTP that shows its offset.
type Latency struct {
	Records       int
	Rate          float64 // records per second that were produced
	P50, P99, Max time.Duration
	RSS           int64
}

// sample is what one read showed.
type sample struct {
	at     time.Time
	folded []int64
}

type sent struct {
	partition int32
	offset    int64
	at        time.Time
}

// warm is how long the load runs before records count.
const warm = 2 * time.Second

// Latency writes the load at a rate to a worker that has caught up. The load
// must have a probe in front (WithProbe).
func (b *Bench) Latency(ctx context.Context, stream, group string, l *Load, rate float64) (Latency, error) {
	var out Latency
	topic := l.lane(stream)
	if err := b.Kafka.CreateTopics(ctx, l.topics(stream), l.Partitions); err != nil {
		return out, err
	}
	if err := b.Kafka.Produce(ctx, l.Records[:l.Partitions]); err != nil {
		return out, err
	}
	ends, err := b.Kafka.Ends(ctx, topic)
	if err != nil {
		return out, err
	}
	w, err := b.startWorker(stream, group, l.Dialect)
	if err != nil {
		return out, err
	}
	defer w.Kill()
	if _, err := w.awaitFolded(ctx, l, topic, ends, 60*time.Second); err != nil {
		return out, err
	}

	stop := make(chan map[int32]int64, 1)
	var samples []sample
	var sampleErr error
	var reading sync.WaitGroup
	reading.Go(func() { samples, sampleErr = w.watch(ctx, l, topic, stop, b.Within) })
	start := time.Now()
	records, err := b.Kafka.paced(ctx, l.Records[l.Partitions:], rate)
	took := time.Since(start)
	if err == nil {
		ends, err = b.Kafka.Ends(ctx, topic)
	}
	stop <- ends
	reading.Wait()
	if err != nil || sampleErr != nil {
		return out, fmt.Errorf("bench: latency: %w", firstOf(err, sampleErr))
	}
	out = latencies(records, samples, start.Add(warm))
	out.Rate, out.RSS = float64(len(records))/took.Seconds(), w.PeakRSS()
	if err := w.Stop(); err != nil {
		return out, err
	}
	return out, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// paced produces records at a rate, a hundredth of a second's worth at a time.
func (k *Kafka) paced(ctx context.Context, rs []Placed, rate float64) ([]sent, error) {
	out := make([]sent, len(rs))
	var mu sync.Mutex
	var failed error
	start := time.Now()
	for i := 0; i < len(rs); {
		due := min(int(time.Since(start).Seconds()*rate)+1, len(rs))
		for ; i < due; i++ {
			s := &out[i]
			s.at = time.Now()
			k.cl.Produce(ctx, kafkaRecord(&rs[i]), func(r *kgo.Record, err error) {
				s.partition, s.offset = r.Partition, r.Offset
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			})
		}
		time.Sleep(2 * time.Millisecond)
	}
	if err := k.cl.Flush(ctx); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	return out, failed
}

// watch reads the probe over and over until everything up to the ends that stop
// delivers is readable.
func (w Worker) watch(ctx context.Context, l *Load, topic string, stop <-chan map[int32]int64, within time.Duration) ([]sample, error) {
	var out []sample
	var ends map[int32]int64
	var deadline time.Time
	for {
		at, err := w.folded(ctx, l.Probes[topic], topic, int(l.Partitions))
		if err != nil {
			return nil, err
		}
		out = append(out, sample{time.Now(), at})
		select {
		case ends = <-stop:
			deadline = time.Now().Add(within)
		default:
		}
		if ends != nil {
			done := true
			for p, end := range ends {
				done = done && at[p] >= end-1
			}
			if done {
				return out, nil
			}
			if time.Now().After(deadline) {
				return nil, fmt.Errorf("bench: folded %v of %v after %v", at, ends, within)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// latencies matches records with the first sample that shows them.
func latencies(records []sent, samples []sample, from time.Time) Latency {
	var ds []time.Duration
	for _, r := range records {
		if r.at.Before(from) {
			continue
		}
		i, _ := slices.BinarySearchFunc(samples, r.offset, func(s sample, offset int64) int {
			if s.folded[r.partition] >= offset {
				return 1
			}
			return -1
		})
		ds = append(ds, samples[i].at.Sub(r.at))
	}
	slices.Sort(ds)
	if len(ds) == 0 {
		return Latency{}
	}
	return Latency{Records: len(ds), P50: ds[len(ds)/2], P99: ds[len(ds)*99/100], Max: ds[len(ds)-1]}
}
