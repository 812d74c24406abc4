package row

import (
	"encoding/binary"
	"fmt"

	"sessionfold/fold"
)

// TagChunk is the tag of a chunk of a list that grows with a session of a
// foreign dialect. Chunks are rows of their own, written when they changed.
const TagChunk byte = 'q'

// chunkKeyLen is a partial's key, the list and the slot.
const chunkKeyLen = partialKeyLen + 1 + 1

// The lists. Numbers are stored: only append.
const (
	listSeen = 1 + iota
	listAttempts
	listKids
	listProcesses
	listExceeded
	listUsed
	listCancelled
	listSignals
	listEnd
)

// ChunkKey names a chunk: a list of a partial and the slot in its ring.
type ChunkKey struct {
	PartialKey
	List, Slot byte
}

// AppendChunk appends the key of a chunk.
func AppendChunk(b []byte, k ChunkKey) []byte {
	return append(appendPartialKey(b, TagChunk, k.PartialKey), k.List, k.Slot)
}

// ParseChunk reads the key of a chunk.
func ParseChunk(key []byte) (ChunkKey, error) {
	if len(key) != chunkKeyLen || key[0] != TagChunk {
		return ChunkKey{}, keyError("chunk", chunkKeyLen, key)
	}
	k := ChunkKey{PartialKey: parsePartialKey(key), List: key[partialKeyLen], Slot: key[partialKeyLen+1]}
	if k.List == 0 || k.List >= listEnd || k.Slot >= fold.RingSlots {
		return ChunkKey{}, fmt.Errorf("row: chunk key %x has list %d and slot %d", key, k.List, k.Slot)
	}
	return k, nil
}

// ring is a list of a native group whatever its entries are.
type ring interface {
	// span gives the entries of a slot, none: equal.
	span(slot int) (from, to uint64)
	// changed says that the slot is not that of the ring before.
	changed(slot int, old ring) bool
	append(b []byte, slot int) []byte
	read(r *reader, slot int)
}

type ringOf[T any] struct {
	*fold.Ring[T]
	put func([]byte, *T) []byte
	get func(*reader, *T)
}

func (g ringOf[T]) span(slot int) (from, to uint64) { return g.Span(slot) }

func (g ringOf[T]) changed(slot int, old ring) bool {
	if slot >= len(g.Slots) {
		return false
	}
	o, ok := old.(ringOf[T])
	return !ok || slot >= len(o.Slots) || o.Slots[slot] != g.Slots[slot]
}

func (g ringOf[T]) append(b []byte, slot int) []byte {
	from, to := g.Span(slot)
	b = append(b, Version)
	b = binary.AppendUvarint(binary.AppendUvarint(b, from), to-from)
	for i := range g.Slots[slot].Items {
		b = g.put(b, &g.Slots[slot].Items[i])
	}
	return b
}

func (g ringOf[T]) read(r *reader, slot int) {
	from, to := g.Span(slot)
	if at, n := r.uint(), r.uint(); at != from || n != to-from {
		r.fail(fmt.Sprintf("entries %d to %d, the partial has %d to %d", at, at+n, from, to))
		return
	}
	c := &fold.Chunk[T]{Items: make([]T, to-from)}
	for i := range c.Items {
		g.get(r, &c.Items[i])
	}
	for len(g.Slots) <= slot {
		g.Slots = append(g.Slots, nil)
	}
	g.Slots[slot] = c
}

// ringsOf gives the lists of a partial by their numbers; nil for those that it
// cannot have.
func ringsOf(p *fold.Partial) (all [listEnd]ring) {
	if p == nil || p.Native == nil {
		return all
	}
	n := p.Native
	all[listSeen] = ringOf[uint64]{&n.Seen, appendMark, readMark}
	all[listAttempts] = ringOf[uint64]{&n.Attempts, appendMark, readMark}
	all[listKids] = ringOf[fold.Kid]{&n.Kids, appendKid, readKid}
	if a := n.Audit; a != nil {
		all[listProcesses] = ringOf[fold.Process]{&a.Processes, appendProcess, readProcess}
		all[listExceeded] = ringOf[fold.Exceeded]{&a.Exceeded, appendExceeded, readExceeded}
		all[listUsed] = ringOf[fold.BudgetUse]{&a.Used, appendUse, readUse}
		all[listCancelled] = ringOf[fold.Cancelled]{&a.Cancelled, appendCancelled, readCancelled}
		all[listSignals] = ringOf[fold.Signal]{&a.Signals, appendSignal, readSignal}
	}
	return all
}

// Chunks calls f with the key of every chunk that a partial has.
func Chunks(k PartialKey, p *fold.Partial, f func(ChunkKey) error) error {
	for list, g := range ringsOf(p) {
		if g == nil {
			continue
		}
		for slot := range fold.RingSlots {
			if from, to := g.span(slot); from == to {
				continue
			}
			if err := f(ChunkKey{PartialKey: k, List: byte(list), Slot: byte(slot)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReadChunk puts the value of a chunk into the partial that it belongs to.
func ReadChunk(p *fold.Partial, k ChunkKey, b []byte) error {
	r := newReader("chunk", b)
	g := ringsOf(p)[k.List]
	if g == nil {
		r.fail("its partial has no such list")
	} else {
		g.read(&r, int(k.Slot))
	}
	return r.end()
}

// CheckChunk holds a value against the form of its list, without the partial.
func CheckChunk(k ChunkKey, b []byte) error {
	r := newReader("chunk", b)
	from, n := r.uint(), r.uint()
	if from/fold.RingChunk%fold.RingSlots != uint64(k.Slot) || from%fold.RingChunk != 0 || n == 0 || n > fold.RingChunk || from+n < from {
		r.fail("entries that its slot cannot hold")
		return r.end()
	}
	p := &fold.Partial{Native: &fold.Native{Audit: &fold.Audit{}}}
	*lengthOf(p, k.List) = from + n
	return ReadChunk(p, k, b)
}

// lengthOf gives how many entries a list of a partial ever had.
func lengthOf(p *fold.Partial, list byte) *uint64 {
	n := p.Native
	return [listEnd]*uint64{
		listSeen: &n.Seen.N, listAttempts: &n.Attempts.N, listKids: &n.Kids.N, listProcesses: &n.Audit.Processes.N,
		listExceeded: &n.Audit.Exceeded.N, listUsed: &n.Audit.Used.N, listCancelled: &n.Audit.Cancelled.N, listSignals: &n.Audit.Signals.N,
	}[list]
}

// AppendChunkValue appends the value of a chunk of a partial that was read with
// its chunks.
func AppendChunkValue(b []byte, p *fold.Partial, k ChunkKey) []byte {
	return ringsOf(p)[k.List].append(b, int(k.Slot))
}

// chunks writes those of the session that the step changed.
func (e *encoder) chunks(s *fold.SessionStep) {
	if s.New.Native == nil || s.Old != nil && s.Old.Native == s.New.Native {
		return
	}
	old := ringsOf(s.Old)
	for list, g := range ringsOf(s.New) {
		if g == nil {
			continue
		}
		for slot := range fold.RingSlots {
			if !g.changed(slot, old[list]) {
				continue
			}
			key := len(e.slab)
			e.slab = AppendChunk(e.slab, ChunkKey{PartialKey: e.key(s), List: byte(list), Slot: byte(slot)})
			value := len(e.slab)
			e.slab = g.append(e.slab, slot)
			e.op(key, value, true)
		}
	}
}
