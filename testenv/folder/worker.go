package folder

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sessionfold/testenv/proc"
)

// Options of a worker.
type Options struct {
	Bin      string // see Build
	Brokers  []string
	Group    string
	Instance string // static member; empty: dynamic
	Stream   string
	Dialect  string   // empty: agdx
	Topics   []string // beside those of the stream's name
	Inboxes  []string
	Others   map[string][]string // more streams, each with its inboxes
	Dir      string              // gets the configuration and the store
	Extra    []string            // more sections of YAML, one per element
	Env      []string
	Token    string // sent with requests
}

// Worker is a `folder run`, or the plan of one: Start and Kill may alternate, on
// one store and the same ports.
type Worker struct {
	Options
	Store string // directory
	Reads string // URL with the prefix of the reads
	Admin string // URL

	args   []string
	config string // file
	proc   *proc.Process
	http   http.Client
}

// Build compiles the program once per process.
func Build(race bool) (string, error) { return proc.Build("./cmd/folder", race) }

// New writes the configuration of a worker.
func New(o Options) (*Worker, error) {
	if o.Group == "" {
		o.Group = "folder"
	}
	ports, err := addresses(2)
	if err != nil {
		return nil, err
	}
	w := &Worker{
		Options: o, Store: filepath.Join(o.Dir, o.Group+"-store"), config: filepath.Join(o.Dir, o.Group+".yaml"),
		Reads: "http://" + ports[0] + "/agdx", Admin: "http://" + ports[1],
	}
	text := fmt.Sprintf(`kafka: {brokers: [%s], group: %s, instance: %q}
streams: [%s]
store: {dir: %q}
http: {listen: %q}
admin: {listen: %q}
`, strings.Join(o.Brokers, ", "), o.Group, o.Instance, o.streams(), w.Store, ports[0], ports[1])
	text += strings.Join(o.Extra, "\n")
	if err := os.WriteFile(w.config, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	w.args = []string{"run", "--config", w.config}
	return w, nil
}

// NewDemo plans a `folder demo` in a directory; more arguments may follow. Its
// brokers are known before it starts.
func NewDemo(bin, dir string, args ...string) (*Worker, error) {
	ports, err := addresses(3)
	if err != nil {
		return nil, err
	}
	_, kafka, err := net.SplitHostPort(ports[2])
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	w := &Worker{
		Options: Options{Bin: bin, Brokers: ports[2:], Group: "demo", Stream: "demo", Dir: dir},
		Reads:   "http://" + ports[0] + "/agdx", Admin: "http://" + ports[1], Store: filepath.Join(dir, "index"),
	}
	w.args = append([]string{"demo", "--dir", dir, "--listen", ports[0], "--admin", ports[1], "--kafka-port", kafka}, args...)
	return w, nil
}

// At is a worker that somebody else runs, for its replies only.
func At(reads, admin, token string) *Worker {
	return &Worker{Options: Options{Token: token}, Reads: reads, Admin: admin}
}

// streams is the list of the streams in YAML.
func (o *Options) streams() string {
	entry := func(name, dialect string, topics, inboxes []string) string {
		if dialect == "" {
			dialect = "agdx"
		}
		list := func(name string, of []string) string {
			if len(of) == 0 {
				return ""
			}
			return fmt.Sprintf(", %s: [%s]", name, strings.Join(of, ", "))
		}
		return fmt.Sprintf("{name: %s, dialect: %s%s%s}", name, dialect, list("topics", topics), list("inboxes", inboxes))
	}
	all := []string{entry(o.Stream, o.Dialect, o.Topics, o.Inboxes)}
	for _, name := range slices.Sorted(maps.Keys(o.Others)) {
		all = append(all, entry(name, "", nil, o.Others[name]))
	}
	return strings.Join(all, ", ")
}

func addresses(n int) ([]string, error) {
	ports, err := proc.Ports(n)
	if err != nil {
		return nil, err
	}
	out := make([]string, n)
	for i, p := range ports {
		out[i] = fmt.Sprintf("127.0.0.1:%d", p)
	}
	return out, nil
}

// Config is the file of the worker's configuration.
func (w *Worker) Config() string { return w.config }

// Start runs the worker.
func (w *Worker) Start() (err error) {
	w.proc, err = proc.Start(w.Bin, w.args, w.Env)
	return err
}

// Stop ends the worker as a supervisor would.
func (w *Worker) Stop() error {
	if err := w.proc.Stop(30 * time.Second); err != nil {
		return fmt.Errorf("folder: clean stop: %w\n%s", err, w.proc.Out)
	}
	return nil
}

// Kill ends it at once.
func (w *Worker) Kill() {
	if w.proc != nil {
		w.proc.Kill()
	}
}

// Signal sends a signal to the process, such as SIGSTOP and SIGCONT.
func (w *Worker) Signal(sig os.Signal) error {
	if err := w.proc.Cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("folder: signal %v: %w", sig, err)
	}
	return nil
}

// Ended is an error when the process has ended by itself.
func (w *Worker) Ended() error {
	if err, ended := w.proc.Exited(); ended {
		return fmt.Errorf("folder: the worker ended: %w\n%s", err, w.proc.Out)
	}
	return nil
}

// ExitCode is that of the process; -1 while it runs, or when a signal ended it.
func (w *Worker) ExitCode() int {
	if _, ended := w.proc.Exited(); !ended {
		return -1
	}
	return w.proc.Cmd.ProcessState.ExitCode()
}

// Log is the end of what the worker printed.
func (w *Worker) Log() string {
	if w.proc == nil {
		return ""
	}
	return w.proc.Out.String()
}

// StatusError is a reply other than 200.
type StatusError struct {
	URL    string
	Status int
	Body   []byte
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("folder: %s: status %d: %.300s", e.URL, e.Status, e.Body)
}

// Get reads a URL of the worker.
func (w *Worker) Get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if w.Token != "" {
		req.Header.Set("Authorization", "Bearer "+w.Token)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = &StatusError{url, res.StatusCode, body}
	}
	return body, err
}

// JSON reads a path below the reads' prefix into v.
func (w *Worker) JSON(ctx context.Context, path string, v any) error {
	body, err := w.Get(ctx, w.Reads+path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("folder: %s: %w: %.300s", path, err, body)
	}
	return nil
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

// CPUSoFar is the processor time that the running worker has used; 0 where the
// system does not tell.
func (w *Worker) CPUSoFar() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.proc.Cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name may hold spaces
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 wherever Go runs
}

// CPU is the processor time that the worker used, once it has ended.
func (w *Worker) CPU() time.Duration { return w.proc.CPU() }

// StoreSize is the bytes of the store's directory.
func (w *Worker) StoreSize() (n int64, err error) {
	err = filepath.WalkDir(w.Store, func(_ string, d fs.DirEntry, err error) error {
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
		return 0, fmt.Errorf("folder: size of the store: %w", err)
	}
	return n, nil
}

// Says waits for a line of standard output with a prefix.
func (w *Worker) Says(prefix string, within time.Duration) error {
	_, err := w.proc.Line(prefix, within)
	return err
}
