package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
	"sessionfold/worker"
)

const stream = "agents"

// world is a stream whose records are really decoded, folded and stored.
type world struct {
	t       testing.TB
	store   *index.Store
	log     *agdxlog.Log
	parts   map[wire.TopicPartition]*worker.Part
	offsets map[wire.TopicPartition]uint64
	clock   int64  // ms, of the last record
	spread  uint32 // lane partitions
	opt     Options
	server  atomic.Pointer[http.Handler]
}

// generation of every topic of the world: beyond what a JavaScript number holds.
const generation = 1<<63 + 5

func newWorld(t testing.TB) *world {
	store, err := index.Open(index.Options{Dir: "db", FS: index.Memory(), CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, store: store, log: agdxlog.New(stream), clock: 1_000_000, spread: 2,
		parts: map[wire.TopicPartition]*worker.Part{}, offsets: map[wire.TopicPartition]uint64{},
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil && err != index.ErrClosed {
			t.Error(err)
		}
	})
	w.opt = Options{
		Streams:  []Stream{{Name: stream, Lane: stream + ".agent.sessions"}},
		Snapshot: store.Reader,
		Heads: func(context.Context) (map[wire.TopicPartition]Head, error) {
			m := map[wire.TopicPartition]Head{}
			for tp, n := range w.offsets {
				m[tp] = Head{High: n, Generation: generation, Partitions: int(w.spread)}
			}
			return m, nil
		},
		Liveness: func(string, wire.ID) fold.Liveness { return fold.Liveness{Known: true} },
		Now:      func() uint64 { return uint64(w.clock) * 1000 },
	}
	w.serve()
	return w
}

// serve makes the handler anew, after a change of options.
func (w *world) serve() {
	h, err := New(w.opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.server.Store(&h)
}

// ServeHTTP is the handler of now.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	(*w.server.Load()).ServeHTTP(rw, r)
}

// commit folds what the log holds, one step per source, and applies it.
func (w *world) commit() {
	w.t.Helper()
	order, batches := w.batches()
	for _, tp := range order {
		w.fold(tp, batches[tp]...)
	}
}

// batches takes what the log holds, by partition.
func (w *world) batches() (order []wire.TopicPartition, batches map[wire.TopicPartition][]wire.Raw) {
	batches = map[wire.TopicPartition][]wire.Raw{}
	for _, r := range w.log.Records {
		tp := wire.TopicPartition{Topic: r.Topic, Partition: int32(uint32(r.Session[15]) % w.spread)}
		w.clock++
		if batches[tp] == nil {
			order = append(order, tp)
		}
		batches[tp] = append(batches[tp], wire.Raw{Offset: w.offsets[tp], Timestamp: w.clock, Key: r.Key, Value: r.Value, Headers: r.Headers})
		w.offsets[tp]++
	}
	w.log.Records = nil
	return order, batches
}

// fold folds records of one partition and applies the step.
func (w *world) fold(tp wire.TopicPartition, raw ...wire.Raw) {
	w.t.Helper()
	p := w.part(tp)
	b, err := p.Fold(raw)
	if err == nil {
		err = w.store.Apply([]index.Applied{{Batch: b, ChangelogNext: 1}})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	p.Applied()
}

func (w *world) part(tp wire.TopicPartition) *worker.Part {
	if w.parts[tp] == nil {
		src := wire.NewSource(stream, tp.Topic, generation, uint32(tp.Partition), wire.RoleOf(stream, tp.Topic), wire.DialectAGDX)
		w.parts[tp] = w.newPart(src, &fold.Config{})
	}
	return w.parts[tp]
}

func (w *world) newPart(src *wire.Source, cfg *fold.Config) *worker.Part {
	return worker.NewPart(worker.PartConfig{Source: src, Fold: cfg, Memory: worker.NewMemory(func(*wire.Source) wire.Decoder { return wire.NewDecoder(src.Dialect, nil) }), Load: w.store.Load, LoadState: w.store.LoadState}, fold.Frontier{})
}

// useGeneration replaces a source by that of a topic made anew.
func (w *world) useGeneration(tp wire.TopicPartition, src *wire.Source) {
	w.parts[tp] = w.newPart(src, &fold.Config{})
}

// cap bounds the timeline rows of a source.
func (w *world) cap(src *wire.Source, rows uint64) {
	tp := wire.TopicPartition{Topic: src.Topic, Partition: int32(src.Partition)}
	w.parts[tp] = w.newPart(src, &fold.Config{TimelineCap: rows})
}

// controlRecord is one pause request, not folded yet.
func (w *world) controlRecord(s *agdxlog.Session) wire.Raw {
	s.Pause("planner")
	r := w.log.Records[0]
	w.log.Records = nil
	return wire.Raw{Timestamp: w.clock, Key: r.Key, Value: r.Value, Headers: r.Headers}
}

// session writes a session with a label of its own.
func (w *world) session(name, agent string) *agdxlog.Session {
	s := w.log.Session(name, agent)
	s.Start(agdxlog.Start{Label: name, Agent: agent})
	return s
}

// request sends one request.
func (w *world) request(method, path string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, path, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// get reads JSON and wants 200.
func get[T any](w *world, path string) T {
	w.t.Helper()
	rec := w.request("GET", path, nil)
	if rec.Code != http.StatusOK {
		w.t.Fatalf("GET %s: %d %s", path, rec.Code, rec.Body)
	}
	var v T
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		w.t.Fatalf("GET %s: %v\n%s", path, err, rec.Body)
	}
	return v
}

// fails reads an error body and wants status and code; it gives the message.
func (w *world) fails(status int, code, path string, header ...string) string {
	w.t.Helper()
	rec := w.request("GET", path, nil, header...)
	var b body
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err != nil {
		w.t.Fatalf("GET %s: %d, no error body: %v\n%s", path, rec.Code, err, rec.Body)
	}
	if rec.Code != status || b.Code != code || b.Message == "" {
		w.t.Errorf("GET %s: %d %s %q, want %d %s", path, rec.Code, b.Code, b.Message, status, code)
	}
	return b.Message
}

// walk goes through a list by cursor and gives the labels.
func (w *world) walk(query string, each func(page wire.SessionPage)) []string {
	w.t.Helper()
	var labels []string
	cursor := ""
	for range 1000 {
		page := get[wire.SessionPage](w, "/agdx/sessions/"+stream+"?"+query+cursor)
		for i := range page.Items {
			labels = append(labels, *page.Items[i].Label)
		}
		if each != nil {
			each(page)
		}
		if page.Cursor == "" {
			return labels
		}
		if len(page.Cursor) > MaxCursorBytes {
			w.t.Fatalf("cursor of %d bytes", len(page.Cursor))
		}
		cursor = "&cursor=" + page.Cursor
	}
	w.t.Fatal("a walk without end")
	return nil
}

// many writes n sessions s000, s001 … and gives their labels newest first.
func (w *world) many(n int) []string {
	labels := make([]string, n)
	for i := range labels {
		labels[i] = fmt.Sprintf("s%03d", i)
		w.session(labels[i], "worker")
	}
	w.commit()
	slices.Reverse(labels)
	return labels
}
