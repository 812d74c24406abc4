package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"sessionfold/testenv/agdxlog"
)

// Starts is sessions of one record each, their start: as many partials as
// records.
func Starts(stream string, sessions int, partitions int32) *Load {
	l := newLoader(fmt.Sprintf("%d sessions of 1", sessions), stream, partitions)
	for range sessions {
		s := l.session()
		l.place(int32(l.n%uint64(partitions)), l.tell(func() {
			s.Start(agdxlog.Start{Label: "checkout is slow", Namespace: "shop", SDK: &agdxlog.SDK{Language: "go", Version: "1.0.0"}, Tags: []string{"team-a", "eu"}})
		}))
	}
	return l.probeEach()
}

// Restored is one measurement of a restore onto an empty disk.
type Restored struct {
	Partials  int
	Took      time.Duration // from the start of the process until it is ready
	CPU       time.Duration // of the process in that time
	RSS       int64         // peak until then, bytes
	Changelog int64         // bytes of the changelog topic
}

// Restore lets a worker fold a load, takes its disk away and measures how long
// another life of it takes until it is ready.
func (b *Bench) Restore(ctx context.Context, stream, group string, l *Load) (Restored, error) {
	r := Restored{Partials: l.Sessions}
	topic := l.lane(stream)
	ends, err := b.Kafka.Ends(ctx, topic)
	if err != nil {
		return r, err
	}
	w, err := b.startWorker(stream, group, l.Dialect)
	if err != nil {
		return r, err
	}
	defer func() { w.Kill() }()
	if err := w.awaitReads(ctx, 30*time.Second); err != nil {
		return r, err
	}
	if _, err := w.awaitFolded(ctx, l, topic, ends, b.Within); err != nil {
		return r, err
	}
	if err := w.Stop(); err != nil {
		return r, err
	}
	if err := os.RemoveAll(w.Store); err != nil {
		return r, err
	}
	if r.Changelog, err = b.Kafka.Size(ctx, group+"-"+topic+"-changelog"); err != nil {
		return r, err
	}
	begin := time.Now()
	if err := w.Start(); err != nil {
		return r, err
	}
	if b.Profile != "" {
		go func() {
			time.Sleep(500 * time.Millisecond)
			if err := w.profile(ctx, b.ProfileFor, b.Profile+"/"+group+"-restore.pprof"); err != nil {
				fmt.Println("bench:", err)
			}
		}()
	}
	for {
		if _, err := w.Get(ctx, w.Admin+"/readyz"); err == nil {
			break
		}
		if err := w.Ended(); err != nil {
			return r, err
		}
		if time.Since(begin) > b.Within {
			return r, fmt.Errorf("bench: not restored after %v\n%s", b.Within, w.Log())
		}
		time.Sleep(5 * time.Millisecond)
	}
	r.Took, r.CPU, r.RSS = time.Since(begin), w.CPUSoFar(), w.PeakRSS()
	var page struct {
		Total *uint64 `json:"total"`
	}
	if err := w.JSON(ctx, "/sessions/"+stream+"?limit=1", &page); err != nil {
		return r, fmt.Errorf("bench: the restored worker does not answer: %w", err)
	}
	return r, w.Stop()
}

// PrintRestore writes the figures of a restore.
func PrintRestore(w io.Writer, r Restored) {
	fmt.Fprintf(w, "restore of %d partials onto an empty disk, changelog of %.0f MiB\n", r.Partials, mib(r.Changelog))
	fmt.Fprintf(w, "  %-34s %.1f s\n  %-34s %.1f s (%.1f µs/partial)\n  %-34s %.0f MiB\n", "start to ready", r.Took.Seconds(),
		"processor time until then", r.CPU.Seconds(), float64(r.CPU.Microseconds())/float64(r.Partials), "peak memory of the worker", mib(r.RSS))
}

// CheckRestore lists the floors that a restore misses.
func (f Floors) CheckRestore(r *Restored, most time.Duration) (bad []string) {
	if most > 0 && r.Took > most {
		bad = append(bad, fmt.Sprintf("restored in %.1f s, the bound is %.0f", r.Took.Seconds(), most.Seconds()))
	}
	if f.RSS > 0 && r.RSS > f.RSS {
		bad = append(bad, fmt.Sprintf("%.0f MiB of memory in a restore, the bound is %.0f", mib(r.RSS), mib(f.RSS)))
	}
	return bad
}
