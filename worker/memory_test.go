package worker

import (
	"hash/fnv"
	"sync/atomic"
	"testing"
	"time"

	"sessionfold/index/row"
	"sessionfold/wire"
)

// counted is a decoder that counts.
type counted struct {
	one
	n *atomic.Int64
}

func (c counted) Decode(src *wire.Source, raw []wire.Raw) []wire.Record {
	c.n.Add(int64(len(raw)))
	return c.one.Decode(src, raw)
}

// What is folded while a commit is in flight takes nothing of the commit's
// memory: a batch is what it was until it is in the store, and no longer held
// behind that.
func TestABatchIsWholeUntilItIsStored(t *testing.T) {
	const n = 12 * foldAt
	f := newWorld(t)
	f.add(part0, n)
	env, store := f.env(), f.env().Apply
	var decoded, folds, beside atomic.Int64
	env.Memory = NewMemory(func(*wire.Source) wire.Decoder { return counted{n: &decoded} })
	env.Folded = func(wire.TopicPartition, time.Duration, error) { folds.Add(1) }
	sums := map[*row.Batch]uint64{} // of the one commit in flight
	f.commit = func(x *Txn) error {
		at := folds.Load()
		clear(sums)
		for _, s := range x.Steps {
			sums[s.Batch] = sum(s.Batch)
		}
		f.until("another fold beside the commit", func() bool { return folds.Load() > at || n-decoded.Load() < foldAt })
		if folds.Load() > at {
			beside.Add(1)
		}
		return nil
	}
	env.Apply = func(steps []Applied) error {
		for _, s := range steps {
			if want, ok := sums[s.Batch]; !ok || sum(s.Batch) != want {
				t.Errorf("the batch of offsets %d to %d changed under its commit", s.Batch.From, s.Batch.To)
			}
		}
		return store(steps)
	}
	w, stop := f.startIn(quick, env)
	w.Assigned("m1", []wire.TopicPartition{part0})
	f.until("all is committed", func() bool { return len(f.committed) == n })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	f.ascending(n)
	if beside.Load() == 0 {
		t.Error("nothing was folded beside a commit")
	}
	for b := range sums {
		if b.Ops != nil {
			t.Error("a batch in the store did not bring its memory back")
		}
	}
}

func sum(b *row.Batch) uint64 {
	h := fnv.New64a()
	for _, op := range b.Ops {
		h.Write(op.Key)
		h.Write(op.Value)
	}
	return h.Sum64()
}
