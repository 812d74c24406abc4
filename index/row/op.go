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
	Source   *wire.Source
	From, To uint64
	Frontier fold.Frontier // after the step; its source-meta record is among Ops
	Ops      []Op
	Changes  []wire.ChangeRow // in seq order
}
