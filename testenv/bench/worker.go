package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/proc"
	"sessionfold/wire"
)

// Worker is a `folder run` of its own.
type Worker struct {
	Group string
	Dir   string // of the store

	proc         *proc.Process
	reads, admin string // host:port
	stream       string
	http         http.Client
}

// StartWorker starts `folder run` for a stream with an empty store below dir.
func StartWorker(bin string, k *Kafka, stream, group, dir string) (*Worker, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	w := &Worker{Group: group, Dir: filepath.Join(dir, group), stream: stream, reads: ports[0], admin: ports[1]}
	cfg := filepath.Join(dir, group+".yaml")
	text := fmt.Sprintf("kafka: {brokers: [%s], group: %s, instance: bench}\nstreams: [{name: %s}]\nstore: {dir: %s}\nhttp: {listen: %q}\nadmin: {listen: %q}\nlog: {level: warn, format: text}\n",
		strings.Join(k.Addrs, ", "), group, stream, w.Dir, w.reads, w.admin)
	if err := os.WriteFile(cfg, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if w.proc, err = proc.Start(bin, []string{"run", "--config", cfg}, nil); err != nil {
		return nil, err
	}
	return w, nil
}

func freePorts(n int) ([]string, error) {
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("bench: a free port: %w", err)
		}
		defer l.Close()
		out[i] = l.Addr().String()
	}
	return out, nil
}

// Folded reads, through a session that has a record in every partition, how far
// each partition of a topic is folded and readable: the last offset, -1 for a
// partition that is not shown.
func (w *Worker) Folded(ctx context.Context, probe wire.ID, topic string, partitions int32) ([]int64, error) {
	out := make([]int64, partitions)
	for i := range out {
		out[i] = -1
	}
	body, status, err := w.get(ctx, "http://"+w.reads+"/agdx/sessions/"+w.stream+"/"+probe.String())
	if err != nil || status == http.StatusNotFound {
		return out, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("bench: read of the probe: status %d: %s", status, body)
	}
	var info wire.SessionInfo
	if err := json.Unmarshal(body, &info); err != nil {
		return nil, fmt.Errorf("bench: read of the probe: %w", err)
	}
	for _, f := range info.Frontier {
		if f.TopicID == wire.NameID(topic) && f.Folded != nil {
			out[f.PartitionID] = int64(*f.Folded)
		}
	}
	return out, nil
}

func (w *Worker) get(ctx context.Context, url string) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	res, err := w.http.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("bench: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return body, res.StatusCode, err
}

// AwaitReads waits until the worker answers reads.
func (w *Worker) AwaitReads(ctx context.Context, within time.Duration) error {
	return testenv.Poll(within, func() error {
		if err, ended := w.proc.Exited(); ended {
			return fmt.Errorf("bench: the worker ended: %w\n%s", err, w.proc.Out)
		}
		_, _, err := w.get(ctx, "http://"+w.reads+"/agdx/capabilities")
		return err
	})
}

// AwaitFolded waits until every partition is folded to its end and gives the
// moment at which a read showed that.
func (w *Worker) AwaitFolded(ctx context.Context, probe wire.ID, topic string, ends map[int32]int64, within time.Duration) (time.Time, error) {
	deadline := time.Now().Add(within)
	for {
		at, err := w.Folded(ctx, probe, topic, int32(len(ends)))
		now := time.Now()
		behind := int64(0)
		for p, end := range ends {
			if err == nil {
				behind += end - 1 - at[p]
			}
		}
		if err == nil && behind == 0 {
			return now, nil
		}
		if e, ended := w.proc.Exited(); ended {
			return now, fmt.Errorf("bench: the worker ended: %w\n%s", e, w.proc.Out)
		}
		if now.After(deadline) {
			return now, fmt.Errorf("bench: %d records are not readable after %v (%v)\n%s", behind, within, err, w.proc.Out)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Profile fetches a CPU profile of some seconds from the admin port into a file.
func (w *Worker) Profile(ctx context.Context, d time.Duration, file string) error {
	body, status, err := w.get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", w.admin, max(1, int(d.Seconds()))))
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("bench: CPU profile: status %d: %.200s", status, body)
	}
	return os.WriteFile(file, body, 0o644)
}

// PeakRSS is the largest resident set of the worker so far, in bytes; 0 where
// the system does not tell.
func (w *Worker) PeakRSS() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.proc.Cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// Stop ends the worker as a supervisor would.
func (w *Worker) Stop() error { return w.proc.Stop(30 * time.Second) }

// Kill ends it at once.
func (w *Worker) Kill() { w.proc.Kill() }

// StoreSize is the bytes of the store's directory.
func (w *Worker) StoreSize() (n int64, err error) {
	err = filepath.WalkDir(w.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if err == nil {
			n += i.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("bench: size of the store: %w", err)
	}
	return n, nil
}
