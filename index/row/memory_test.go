package row

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessionfold/fold"
)

// Steps of all sizes are encoded into memory that came back, as into new one.
func TestMemoryIsUsedAgain(t *testing.T) {
	var m Memory
	var slab *byte
	again := 0
	for i, n := range []int{5000, 4000, 1, 6000, 12000, 300, 11000, 5000} {
		step := fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, records(0, n))
		want, got := Encode(step), EncodeInto(step, m.Lend)
		if d := cmp.Diff(want.Ops, got.Ops); d != "" {
			t.Fatalf("step %d of %d records (-new +used again):\n%s", i, n, d)
		}
		if first := &got.Ops[0].Key[0]; first == slab {
			again++
		} else {
			slab = first
		}
		if i%3 == 2 { // steps of one commit are one batch
			more := fold.Apply(&fold.Config{}, lane, step.Frontier, nil, records(uint64(n), n))
			want, next := Encode(more), EncodeInto(more, m.Lend)
			held := len(got.Ops)
			got.Append(next)
			if d := cmp.Diff(want.Ops, got.Ops[held:]); d != "" {
				t.Fatalf("the step behind step %d (-new +used again):\n%s", i, d)
			}
			if got.To != more.To || got.Frontier.Next != more.Frontier.Next || len(got.slabs) != 2 {
				t.Fatalf("a joined batch to %d, next %d, of %d slabs", got.To, got.Frontier.Next, len(got.slabs))
			}
		}
		m.Recycle(got)
		if got.Ops != nil {
			t.Fatal("a batch whose memory went back still shows it")
		}
	}
	if again == 0 {
		t.Error("no memory was used again")
	}
	if m.idle > maxIdle || m.idle == 0 {
		t.Errorf("%d bytes lie idle", m.idle)
	}
}

// What lies idle is bounded, however much comes back at once.
func TestIdleMemoryIsBounded(t *testing.T) {
	var m Memory
	step := fold.Apply(&fold.Config{}, lane, fold.Frontier{}, nil, records(0, 20_000))
	var all []*Batch
	for range 40 {
		all = append(all, EncodeInto(step, m.Lend))
	}
	for _, b := range all {
		m.Recycle(b)
	}
	total := 0
	for _, s := range m.slabs {
		total += cap(s)
	}
	if total != m.idle || total > maxIdle || total < maxIdle/2 {
		t.Errorf("%d bytes lie idle, %d are counted", total, m.idle)
	}
}
