package row

import (
	"sessionfold/fold"
	"sessionfold/wire"
)

// Op is one write. Durable ops go to the changelog topic and to Pebble; derived
// ones only to Pebble, because folding the source again gives them back.
type Op struct {
	Key     []byte
	Value   []byte // nil deletes the key
	Durable bool
}

// Batch is one step, encoded: what sink writes to Kafka in one transaction and
// index then writes to Pebble in one batch.
type Batch struct {
	Kind     BatchKind
	Source   *wire.Source
	From, To uint64
	Frontier fold.Frontier // after the step; its source-meta record is among Ops
	Ops      []Op
	Changes  []wire.ChangeRow // in seq order

	slabs [][]byte // that hold the keys and values, see Memory
}

// Append puts the writes of the step that follows behind those of this one, with
// their memory.
func (b *Batch) Append(next *Batch) {
	b.To, b.Frontier = next.To, next.Frontier
	b.Ops = append(b.Ops, next.Ops...)
	b.Changes = append(b.Changes, next.Changes...)
	b.slabs = append(b.slabs, next.slabs...)
}

// BatchKind says what a batch is. Batches of other kinds than BatchStep are
// committed each by itself.
type BatchKind uint8

// The kinds.
const (
	// BatchStep is a step of the fold.
	BatchStep BatchKind = iota
	// BatchReset begins the source anew: ResetBatch.
	BatchReset
	// BatchCopy holds rows that the store has already, for a changelog that has
	// lost them; more follow. It has no change rows.
	BatchCopy
	// BatchCopyEnd is the last one of these and holds the source meta.
	BatchCopyEnd
)
