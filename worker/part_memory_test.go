package worker

import (
	"bytes"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index/row"
	"sessionfold/testenv/agdxgen"
	"sessionfold/wire"
)

// The memory behind fetched records is used again after they are folded, and that
// of a batch once it is in the store: nothing that a part gives or keeps may be a
// view of either. Two parts fold the same log; behind one of them, which shares its
// memory with those of other topics, both are overwritten after every batch.
func TestAPartKeepsNoViewOfWhatItFolded(t *testing.T) {
	epoch := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	gen := agdxgen.New(agdxgen.Options{Stream: "s", Seed: 3, Epoch: epoch, Sessions: 60, Rate: 1000})
	byTopic := map[string][]wire.Raw{}
	roles := map[string]wire.Role{}
	for {
		r, ok := gen.Next()
		if !ok {
			break
		}
		log := byTopic[r.Topic]
		byTopic[r.Topic] = append(log, wire.Raw{
			Offset: uint64(len(log)), Timestamp: epoch.UnixMilli() + int64(len(log)), Key: r.Key, Value: r.Value, Headers: r.Headers,
		})
		roles[r.Topic] = r.Role
	}
	if len(byTopic) < 4 {
		t.Fatalf("the generator wrote %d topics only", len(byTopic))
	}
	shared := NewMemory(agdx)
	for topic, log := range byTopic {
		if roles[topic] == wire.RoleHeartbeats {
			continue
		}
		clean, reused := memoryPart(topic, roles[topic], NewMemory(agdx)), memoryPart(topic, roles[topic], shared)
		var want, got []*row.Batch
		for len(log) > 0 {
			n := min(len(log), 37)
			var own []wire.Raw
			for _, r := range log[:n] {
				own = append(own, copied(r))
			}
			a, err := clean.Fold(log[:n])
			if err != nil {
				t.Fatal(err)
			}
			b, err := reused.Fold(own)
			if err != nil {
				t.Fatal(err)
			}
			for i := range own {
				overwrite(&own[i])
			}
			kept := &row.Batch{}
			for _, op := range b.Ops {
				kept.Ops = append(kept.Ops, row.Op{Key: bytes.Clone(op.Key), Value: bytes.Clone(op.Value)})
			}
			for _, op := range b.Ops {
				if tag := op.Key[0]; op.Durable || tag == row.TagPack || tag == row.TagBatch { // the others have one value for all
					fill(op.Value)
				}
				fill(op.Key)
			}
			reused.Applied()
			shared.Recycle(b)
			clean.Applied()
			want, got, log = append(want, a), append(got, kept), log[n:]
		}
		for i := range want {
			if len(want[i].Ops) != len(got[i].Ops) {
				t.Fatalf("%s, batch %d: %d writes, want %d", topic, i, len(got[i].Ops), len(want[i].Ops))
			}
			for j := range want[i].Ops {
				w, g := want[i].Ops[j], got[i].Ops[j]
				if !bytes.Equal(w.Key, g.Key) || !bytes.Equal(w.Value, g.Value) {
					t.Fatalf("%s, batch %d, write %d: what was overwritten shows in %s", topic, i, j, row.Describe(g.Key))
				}
			}
		}
	}
}

func agdx(*wire.Source) wire.Decoder { return wire.NewAGDXDecoder() }

func memoryPart(topic string, role wire.Role, m *Memory) *Part {
	return NewPart(PartConfig{
		Source: wire.NewSource("s", topic, 1, 0, role, wire.DialectAGDX), Fold: &fold.Config{}, Memory: m,
		Load:      func(*wire.Source, []wire.ID) (map[wire.ID]*fold.Partial, error) { return nil, nil },
		LoadState: func(*wire.Source, wire.ID) (*state.State, error) { return nil, nil },
	}, fold.Frontier{})
}

func copied(r wire.Raw) wire.Raw {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	headers := r.Headers
	r.Headers = nil
	for _, h := range headers {
		r.Headers = append(r.Headers, wire.Header{Key: h.Key, Value: bytes.Clone(h.Value)})
	}
	return r
}

func overwrite(r *wire.Raw) {
	fill(r.Key)
	fill(r.Value)
	for _, h := range r.Headers {
		fill(h.Value)
	}
}

func fill(b []byte) {
	for i := range b {
		b[i] = 0xa5
	}
}
