package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// Worker is a `folder run` of its own.
type Worker struct{ *folder.Worker }

// startWorker starts one for a stream with an empty store.
func (b *Bench) startWorker(stream, group string, d wire.Dialect) (Worker, error) {
	var topics []string
	if d != wire.DialectAGDX { // the others' topics have no names of their own
		topics = []string{topicsOf(stream, d)[0].Topic}
	}
	w, err := folder.New(folder.Options{
		Dialect: d.String(), Topics: topics,
		Bin: b.Folder, Brokers: b.Kafka.Addrs, Group: group, Instance: "bench", Stream: stream, Dir: b.Dir, Env: b.Env,
		Extra: []string{"log: {level: warn, format: text}"},
	})
	if err == nil {
		err = w.Start()
	}
	return Worker{w}, err
}

// folded reads, through probes, how far each partition of a topic is
// folded and readable: the last offset, -1 for a partition that is not shown.
func (w Worker) folded(ctx context.Context, probes []wire.ID, topic string, partitions int) ([]int64, error) {
	out := slices.Repeat([]int64{-1}, partitions)
	for _, probe := range probes {
		var info wire.SessionInfo
		err := w.JSON(ctx, "/sessions/"+w.Stream+"/"+probe.String(), &info)
		var status *folder.StatusError
		if errors.As(err, &status) && status.Status == http.StatusNotFound {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for _, f := range info.Frontier {
			if f.TopicID == wire.NameID(topic) && f.Folded != nil {
				out[f.PartitionID] = int64(*f.Folded)
			}
		}
	}
	return out, nil
}

// awaitReads waits until the worker answers reads.
func (w Worker) awaitReads(ctx context.Context, within time.Duration) error {
	return testenv.Poll(within, func() error {
		if err := w.Ended(); err != nil {
			return err
		}
		_, err := w.Get(ctx, w.Reads+"/capabilities")
		return err
	})
}

// awaitFolded waits until every partition is folded to its end and gives the
// moment at which a read showed that.
func (w Worker) awaitFolded(ctx context.Context, l *Load, topic string, ends map[int32]int64, within time.Duration) (time.Time, error) {
	deadline := time.Now().Add(within)
	probes := l.Probes[topic] // those that are not known to be at their ends
	for {
		at, err := w.folded(ctx, probes[:1], topic, len(ends))
		now := time.Now()
		if err == nil && atEnd(at, ends) {
			if probes = probes[1:]; len(probes) == 0 {
				return now, nil
			}
			continue
		}
		if err := w.Ended(); err != nil {
			return now, err
		}
		if now.After(deadline) {
			return now, fmt.Errorf("bench: readable up to %v of %v after %v (%v)\n%s", at, ends, within, err, w.Log())
		}
		time.Sleep(5 * time.Millisecond) // reads cost the cores that are measured
	}
}

// atEnd says that a read showed at least one partition and all that it showed at
// their ends.
func atEnd(at []int64, ends map[int32]int64) bool {
	shown := false
	for p, offset := range at {
		if offset >= 0 {
			if shown = true; offset < ends[int32(p)]-1 {
				return false
			}
		}
	}
	return shown
}

// profile fetches a CPU profile of some seconds from the admin port into a file.
func (w Worker) profile(ctx context.Context, d time.Duration, file string) error {
	body, err := w.Get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", w.Admin, max(1, int(d.Seconds()))))
	if err != nil {
		return err
	}
	return os.WriteFile(file, body, 0o644)
}
