package worker

import (
	"sync"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Memory is what folds work in: decoders with what they decode, what the fold
// itself needs, and the batches that come of it. Parts that share one take what
// the last fold has used, which is still in the processor's cache, and there is
// as much of it as folds go on side by side, however many parts there are. Safe
// for concurrent use.
type Memory struct {
	newDecoder func(*wire.Source) wire.Decoder
	mu         sync.Mutex
	rows       row.Memory
	free       map[decodes][]*place // places that no fold has
}

// decodes is what a decoder can be used for.
type decodes struct {
	stream  string
	dialect wire.Dialect
}

// place is what one fold works in.
type place struct {
	decoder wire.Decoder
	fold    fold.Scratch
	batch   map[wire.ID]*fold.Partial // those that the records name
	missing []wire.ID                 // those to load
}

// NewMemory takes what makes a decoder for the sources of a stream that have one
// dialect.
func NewMemory(decoder func(*wire.Source) wire.Decoder) *Memory {
	return &Memory{newDecoder: decoder, free: map[decodes][]*place{}}
}

// Recycle takes the memory of a batch back; nothing of it may be used any more.
func (m *Memory) Recycle(b *row.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows.Recycle(b)
}

// lend gives memory to write a batch into.
func (m *Memory) lend(bytes int) ([]byte, []row.Op) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows.Lend(bytes)
}

func (m *Memory) take(src *wire.Source) *place {
	k := decodes{src.Stream, src.Dialect}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free[k]); n > 0 {
		p := m.free[k][n-1]
		m.free[k] = m.free[k][:n-1]
		return p
	}
	return &place{decoder: m.newDecoder(src), batch: map[wire.ID]*fold.Partial{}}
}

func (m *Memory) give(src *wire.Source, p *place) {
	clear(p.batch)
	p.missing = p.missing[:0]
	k := decodes{src.Stream, src.Dialect}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free[k] = append(m.free[k], p)
}
