package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/fold"
	"sessionfold/testenv"
	"sessionfold/wire"
)

// foreignRig is a broker with a topic of one foreign dialect.
type foreignRig struct {
	*rig
	topic string
	made  map[string]int
}

func newForeignRig(t *testing.T) *foreignRig {
	k := testenv.Start(t)
	r := &foreignRig{rig: &rig{t: t, k: k, stream: "tasks", group: "folder", parts: 2}, made: map[string]int{}}
	if k.Real {
		r.stream = testenv.Name(t)
		r.group = r.stream
	}
	r.topic = r.stream + ".events"
	if k.Real {
		t.Cleanup(func() { k.Delete(t, r.group+"-changes", r.group+"-"+r.topic+"-changelog") })
	}
	k.Create(t, r.topic, r.parts)
	r.client = k.Client(t, manual)
	return r
}

// run writes the next n lines of each DeepStrike session.
func (r *foreignRig) run(n int, sessions ...string) {
	r.t.Helper()
	var recs []*kgo.Record
	for i, s := range sessions {
		for range n {
			m := r.made[s]
			value := fmt.Sprintf(`{"kind":"signal_disposed","turn":%d,"signal_id":"sig","disposition":"queue","queue_depth":1}`, m)
			switch m % 7 {
			case 0:
				value = `{"kind":"run_started","run_id":"r","goal":"g","criteria":[],"agent_id":"coder"}`
			case 2:
				value = fmt.Sprintf(`{"kind":"provider_attempt","effect_id":"e%d","attempt_seq":1,"status":"success","usage":{"inputTokens":10,"outputTokens":1}}`, m/2)
			case 4:
				value = fmt.Sprintf(`{"kind":"agent_process_changed","turn":1,"agent_id":"child-%d","parent_session_id":"p","state":"running"}`, m%3)
			case 6:
				value = `{"kind":"run_terminal","reason":"completed","turns_used":1,"total_tokens":30}`
			}
			recs = append(recs, &kgo.Record{Topic: r.topic, Partition: int32(i) % r.parts, Key: []byte(s), Value: fmt.Appendf(nil, `{"seq":%d,"event":%s}`, m, value)})
			r.made[s]++
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r.must(r.client.ProduceSync(ctx, recs...).FirstErr())
}

// folded waits until the worker has folded the topic to its ends.
func (r *foreignRig) folded(w *running) {
	r.t.Helper()
	testenv.Eventually(r.t, waitLong, func() error {
		list, err := w.Store().Sources(r.stream)
		if err != nil {
			return err
		}
		left := 0
		for p := range r.parts {
			_, end := r.bounds(wire.TopicPartition{Topic: r.topic, Partition: p})
			left += int(end)
			for _, m := range list {
				if m.Source.Partition == uint32(p) && !m.Restoring && len(m.Holes) == 0 {
					left -= int(m.Frontier.Next)
				}
			}
		}
		if left > 0 {
			return fmt.Errorf("%d offsets are not folded", left)
		}
		return nil
	})
}

// same holds the index against a fold of the log from its beginning.
func (r *foreignRig) same(w *running, d wire.Dialect, cfg fold.Config) {
	r.t.Helper()
	e, err := replay.New([]replay.Stream{{Name: r.stream, Dialect: d, Fold: cfg, Topics: []wire.TopicRole{{Topic: r.topic, Role: wire.RoleLane}}}})
	r.must(err)
	defer e.Close()
	for tp, recs := range r.records(r.topic) {
		for _, rec := range recs {
			off := uint64(rec.Offset)
			r.must(e.Put(&replay.Line{Topic: tp.Topic, Partition: &tp.Partition, Offset: &off, Timestamp: rec.Timestamp.UnixMilli(), Key: rec.Key, Value: rec.Value}))
		}
	}
	r.must(e.Flush())
	want, err := e.Store().Digest(context.Background(), r.stream)
	r.must(err)
	got, err := w.Store().Digest(context.Background(), r.stream)
	r.must(err)
	if got != want || got.Sessions == 0 {
		r.t.Fatalf("the index is not the fold of the log:\n got  %s\n want %s", got, want)
	}
}

// audit reads a session's snapshot from the store.
func (r *foreignRig) audit(w *running, session string) *wire.OsSnapshot {
	r.t.Helper()
	rd, err := w.Store().Reader()
	r.must(err)
	defer rd.Close()
	id := wire.NativeID(wire.DialectDeepStrike, r.stream, []byte(session))
	ks, err := rd.Session(r.stream, id)
	r.must(err)
	s := fold.Merge(id, ks)
	if s == nil || s.AuditSource() == nil {
		r.t.Fatalf("no audit snapshot of %s", session)
	}
	r.must(rd.Lists(id, s.Sources))
	return s.AuditSource().Partial.Native.Audit.View()
}

// A DeepStrike stream goes on over restarts, and a lost disk is restored from the
// changelog, the audit snapshot and the windows of its sessions among it.
func TestForeignStreamSurvives(t *testing.T) {
	r := newForeignRig(t)
	cfg := func(dir string) Config {
		c := r.config(dir, "a")
		c.Streams = []Stream{{Name: r.stream, Dialect: wire.DialectDeepStrike, Topics: []wire.TopicRole{{Topic: r.topic, Role: wire.RoleLane}}}}
		return c
	}
	dir := t.TempDir()
	r.run(50, "run-1", "run-2", "run-3")
	w := r.start(cfg(dir))
	r.folded(w)
	r.run(3, "run-1", "run-2")
	r.folded(w)
	w.stop()
	for _, dir := range []string{dir, t.TempDir()} { // the same disk, then a new one
		w = r.start(cfg(dir))
		r.run(30, "run-1")
		r.made["run-2"] -= 5 // the last lines again
		r.run(5, "run-2")
		r.folded(w)
		r.same(w, wire.DialectDeepStrike, fold.Config{})
		w.stop()
	}
	w = r.start(cfg(dir))
	r.folded(w)
	r.same(w, wire.DialectDeepStrike, fold.Config{})
	if n := len(r.audit(w, "run-1").Signals); n != 48 {
		t.Errorf("%d signals, want those of turns 1, 3 and 5 of each of 16 runs", n)
	}
	if r, err := w.Store().Check(context.Background()); err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	w.stop()
}

// lines collects what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// With dialect auto the first records decide, also when they come later than the
// worker, and the log says what they told.
func TestAutoDialect(t *testing.T) {
	r := newForeignRig(t)
	var log lines
	c := r.config(t.TempDir(), "a")
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	c.Streams = []Stream{{Name: r.stream, Auto: true, Topics: []wire.TopicRole{{Topic: r.topic, Role: wire.RoleLane}}}}
	w := r.start(c)
	testenv.Eventually(t, waitLong, func() error {
		if text := log.String(); !strings.Contains(text, "no record tells it yet") {
			return fmt.Errorf("the log does not say that nothing tells the dialect: %s", text)
		}
		return nil
	})
	r.run(9, "run-1", "run-2")
	r.folded(w)
	r.same(w, wire.DialectDeepStrike, fold.Config{})
	if text := log.String(); strings.Count(text, `msg="the records of a topic tell its dialect"`) != 1 || !strings.Contains(text, "dialect=deepstrike") {
		t.Errorf("logged:\n%s", text)
	}
	w.stop()
}
