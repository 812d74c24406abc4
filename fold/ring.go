package fold

// Layout of a Ring. One chunk more than RingKeeps needs, so that dropping a
// chunk never drops an entry that is kept.
const (
	RingChunk = 32
	RingSlots = MaxSet/RingChunk + 2
	RingKeeps = MaxSet
)

// Ring is a list that keeps its newest RingKeeps entries, in chunks that are
// stored apart: adding to a long list rewrites one chunk. Entry i lies in slot
// i/RingChunk modulo RingSlots. A ring that was read without its chunks has
// Slots nil; chunks never change once a step holds them.
type Ring[T any] struct {
	N     uint64 // entries ever added
	Slots []*Chunk[T]
}

// Chunk is the entries from a multiple of RingChunk on.
type Chunk[T any] struct{ Items []T }

// First is the number of the oldest entry that is kept.
func (r *Ring[T]) First() uint64 { return r.N - min(r.N, RingKeeps) }

// at gives entry i, which is kept.
func (r *Ring[T]) at(i uint64) *T {
	return &r.Slots[i/RingChunk%RingSlots].Items[i%RingChunk]
}

// Each calls f with the entries that are kept, oldest first.
func (r *Ring[T]) Each(f func(*T)) {
	for i := r.First(); i < r.N; i++ {
		f(r.at(i))
	}
}

// find gives the number of the first entry kept for which f holds.
func (r *Ring[T]) find(f func(*T) bool) (uint64, bool) {
	for i := r.First(); i < r.N; i++ {
		if f(r.at(i)) {
			return i, true
		}
	}
	return 0, false
}

// own gives the ring slots of its own, and the slot of entry i a chunk of its
// own.
func (r *Ring[T]) own(i uint64) *Chunk[T] {
	slots := make([]*Chunk[T], len(r.Slots), len(r.Slots)+1)
	copy(slots, r.Slots)
	r.Slots = slots
	slot := int(i / RingChunk % RingSlots)
	if slot == len(slots) {
		r.Slots = append(slots, nil)
	}
	c := &Chunk[T]{}
	if old := r.Slots[slot]; old != nil && (i < r.N || i%RingChunk != 0) {
		c.Items = append(make([]T, 0, len(old.Items)+4), old.Items...)
	}
	r.Slots[slot] = c
	return c
}

// add appends an entry. owned says that the last chunk and the slots are of this
// batch already.
func (r *Ring[T]) add(v T, owned bool) {
	slot := int(r.N / RingChunk % RingSlots)
	var c *Chunk[T]
	switch {
	case !owned:
		c = r.own(r.N)
	case r.N%RingChunk != 0:
		c = r.Slots[slot]
	default:
		c = &Chunk[T]{}
		if slot == len(r.Slots) {
			r.Slots = append(r.Slots, c)
		} else {
			r.Slots[slot] = c
		}
	}
	c.Items = append(c.Items, v)
	r.N++
}

// set replaces entry i, which is kept.
func (r *Ring[T]) set(i uint64, v T) { r.own(i).Items[i%RingChunk] = v }

// Span gives the entries that a slot holds, from and to (exclusive); none: equal.
// A slot may hold some that are not kept any more.
func (r *Ring[T]) Span(slot int) (from, to uint64) {
	if r.N == 0 {
		return 0, 0
	}
	last := (r.N - 1) / RingChunk // the newest chunk
	back := (last + RingSlots - uint64(slot)) % RingSlots
	if back > last {
		return 0, 0
	}
	from = (last - back) * RingChunk
	return from, min(from+RingChunk, r.N)
}
