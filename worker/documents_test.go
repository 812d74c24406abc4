package worker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/testenv/reach"
	"sessionfold/wire"
	"sessionfold/worker"
)

// TestDocumentsOfAPart: whatever the cache holds, however far the store is
// behind the fold, and when a part is made anew, the same documents come out.
func TestDocumentsOfAPart(t *testing.T) {
	runs := 0
	reach.Check(t, map[string]*int{"a batch folded in runs": &runs}, func(t *rapid.T) {
		src := wire.NewSource("agents", "agents.agent.sessions", 7, 0, wire.RoleLane, wire.DialectAGDX)
		log := stateLog(t, rapid.IntRange(1, 60).Draw(t, "records"))
		plain := newPartWorld(t, src, 1<<30)
		plain.fold(t, log)
		plain.apply(t, 0)
		w := newPartWorld(t, src, rapid.SampledFrom([]int{1, 2_000, 100_000}).Draw(t, "cache"))
		for rest := log; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			runs += w.fold(t, rest[:n])
			rest = rest[n:]
			w.apply(t, rapid.IntRange(0, 2).Draw(t, "behind"))
			if rapid.IntRange(0, 4).Draw(t, "fail") == 0 {
				// What was folded and not applied is lost: begin again from the store.
				rest = log[len(log)-len(rest)-w.forget():]
			}
		}
		w.apply(t, 0)
		if got, want := w.digest(t), plain.digest(t); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if r, err := w.store.Check(context.Background()); err != nil || r.Total > 0 || r.Documents == 0 {
			t.Fatalf("check: %+v, %v", r, err)
		}
		plain.close(t)
		w.close(t)
	})
}

// stateLog makes state records of a few sessions, mostly ones that apply.
func stateLog(t *rapid.T, n int) []wire.Raw {
	revisions := map[wire.ID]int{}
	var out []wire.Raw
	for i := range n {
		id := wire.ID{15: byte(rapid.IntRange(1, 4).Draw(t, "session"))}
		base := revisions[id]
		if rapid.IntRange(0, 5).Draw(t, "off") == 0 {
			base += 3
		} else {
			revisions[id]++
		}
		value := strings.Repeat("v", rapid.SampledFrom([]int{1, 1, 500, 40_000}).Draw(t, "size"))
		e := wire.Envelope{Kind: wire.KindEvent, Conversation: id, Source: []byte("writer"), Operation: []byte(wire.OpStateDelta)}
		e.SetRecord(wire.ID{0: 1, 15: byte(i)})
		e.Body = fmt.Appendf(nil, `{"base_revision":%d,"op_id":"op%d","patch":[{"op":"add","path":"/k%d","value":%q}]}`, base, i, rapid.IntRange(0, 9).Draw(t, "key"), value)
		out = append(out, wire.Raw{Offset: uint64(i), Timestamp: int64(1000 + i), Value: e.Append(nil), Headers: e.Headers(wire.ContentJSON)})
	}
	return out
}

// partWorld is a part with its store.
type partWorld struct {
	src   *wire.Source
	cache int
	store *index.Store
	part  *worker.Part
	steps []*row.Batch // folded, not applied
	sizes []int
	told  int // applied, but the part was not told yet: the store is ahead of what it knows
}

func newPartWorld(t *rapid.T, src *wire.Source, cache int) *partWorld {
	store, err := index.Open(index.Options{Dir: "db", FS: index.Memory(), CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	w := &partWorld{src: src, cache: cache, store: store}
	w.begin(fold.Frontier{})
	return w
}

func (w *partWorld) begin(f fold.Frontier) {
	w.part = worker.NewPart(worker.PartConfig{
		Source: w.src, Fold: &fold.Config{}, Memory: worker.NewMemory(func(*wire.Source) wire.Decoder { return wire.NewAGDXDecoder() }),
		Load: w.store.Load, LoadState: w.store.LoadState, CacheSessions: 2, CacheDocuments: w.cache,
	}, f)
}

// fold gives how many runs the batch took beyond the first.
func (w *partWorld) fold(t *rapid.T, raw []wire.Raw) int {
	b, err := w.part.Fold(raw)
	if err != nil {
		t.Fatal(err)
	}
	if b.From > raw[0].Offset || b.To != raw[len(raw)-1].Offset || b.Frontier.Next != w.part.Frontier().Next {
		t.Fatalf("a step from %d to %d of records %d to %d", b.From, b.To, raw[0].Offset, raw[len(raw)-1].Offset)
	}
	w.steps, w.sizes = append(w.steps, b), append(w.sizes, len(raw))
	metas := 0
	for _, op := range b.Ops {
		if op.Key[0] == row.TagSource {
			metas++
		}
	}
	return metas - 1
}

// apply writes all steps but the newest few.
func (w *partWorld) apply(t *rapid.T, behind int) {
	for len(w.steps) > behind {
		if err := w.store.Apply([]index.Applied{{Batch: w.steps[0], ChangelogNext: 1}}); err != nil {
			t.Fatal(err)
		}
		w.told++
		w.steps, w.sizes = w.steps[1:], w.sizes[1:]
	}
	for w.told > 0 && (behind == 0 || rapid.Bool().Draw(t, "tell")) {
		w.part.Applied()
		w.told--
	}
}

// forget drops the part; it gives how many records are to be folded again.
func (w *partWorld) forget() (n int) {
	for _, s := range w.sizes {
		n += s
	}
	w.steps, w.sizes, w.told = nil, nil, 0
	m, _, err := w.store.Meta(w.src)
	if err != nil {
		panic(err)
	}
	w.begin(m.Frontier)
	return n
}

func (w *partWorld) digest(t *rapid.T) index.Digest {
	d, err := w.store.Digest(context.Background(), "agents")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (w *partWorld) close(t *rapid.T) {
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
}
