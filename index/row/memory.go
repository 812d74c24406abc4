package row

import "slices"

// Memory holds memory that batches have been written into, for the next ones: a
// catch-up makes megabytes of them, and fresh memory costs more than writing
// into it does. The zero value is ready; not safe for concurrent use.
type Memory struct {
	slabs [][]byte // idle; what came back last, at the end, is still in the processor's cache
	ops   [][]Op
	idle  int // bytes of slabs
}

const (
	leastSlab = 64 << 10 // smaller ones are left to the garbage collector
	maxIdle   = 32 << 20
	maxOps    = 32 // idle slices of writes
)

// Recycle takes a batch's memory back; nothing of it may be used any more.
// Whoever does not know that leaves the batch to the garbage collector.
func (m *Memory) Recycle(b *Batch) {
	for _, s := range b.slabs {
		if n := cap(s); n >= leastSlab && m.idle+n <= maxIdle {
			m.slabs, m.idle = append(m.slabs, s[:0]), m.idle+n
		}
	}
	if len(m.ops) < maxOps {
		clear(b.Ops)
		m.ops = append(m.ops, b.Ops[:0])
	}
	b.slabs, b.Ops = nil, nil
}

// Lend gives memory for EncodeInto: some with room for that many bytes, if there
// is any.
func (m *Memory) Lend(bytes int) (slab []byte, list []Op) {
	if n := len(m.ops); n > 0 {
		list, m.ops = m.ops[n-1], m.ops[:n-1]
	}
	for i, s := range slices.Backward(m.slabs) {
		if cap(s) >= bytes {
			m.slabs, m.idle = slices.Delete(m.slabs, i, i+1), m.idle-cap(s)
			return s, list
		}
	}
	return nil, list
}
