package row

import (
	"slices"

	"sessionfold/fold"
	"sessionfold/wire"
)

// What a step's encodings take, about; a wrong guess costs a copy.
const (
	guessRow     = 48
	guessSession = 2*packKeyLen + listKeyLen + 192
	guessStep    = 1024
)

// unsequenced is the value of a list entry in a Batch: the store writes its own
// apply sequence instead.
var unsequenced = AppendSeq(nil, 0)

// Encode makes a step's writes: per session the partial, its links and what
// became of its state document where they changed, the packed rows, new list and
// child entries, then the batch's packs and the source meta. Keys of one tag
// ascend but for child entries, which a store's memory table likes. The result
// does not refer to the step's records.
func Encode(step *fold.Step) *Batch {
	return EncodeInto(step, func(int) ([]byte, []Op) { return nil, nil })
}

// EncodeInto is Encode into empty memory such as Memory lends. It asks for room
// for some bytes, more or less, and makes what it does not get.
func EncodeInto(step *fold.Step, lend func(bytes int) ([]byte, []Op)) *Batch {
	rows := 0
	for i := range step.Sessions {
		rows += len(step.Sessions[i].Rows)
	}
	e, size := encoder{id: IDOf(step.Source)}, rows*guessRow+len(step.Sessions)*guessSession+guessStep
	e.slab, e.ops = lend(size)
	e.slab, e.ops = slices.Grow(e.slab, size), slices.Grow(e.ops, 3*len(step.Sessions)+2+rows/maxPackRows)
	for i := range step.Sessions {
		e.partial(&step.Sessions[i])
	}
	for i := range step.Sessions {
		e.links(&step.Sessions[i])
	}
	if step.Source.Dialect != wire.DialectAGDX {
		for i := range step.Sessions {
			e.chunks(&step.Sessions[i])
		}
	}
	e.states(step)
	if rows > 0 {
		e.timeline(step)
	}
	for i := range step.Sessions {
		e.entries(&step.Sessions[i])
	}
	for i := range step.Sessions {
		if step.Sessions[i].New.Parent.Set {
			e.children(&step.Sessions[i])
		}
	}
	e.meta(step)
	return &Batch{
		Source: step.Source, From: step.From, To: step.To, Frontier: step.Frontier,
		Ops: e.ops, Changes: step.Changes, slabs: [][]byte{e.slab},
	}
}

// encoder appends everything to one slab. When the slab grows, ops made before
// keep the old one, whose bytes no longer change.
type encoder struct {
	id   SourceID
	slab []byte
	ops  []Op
}

// op closes a write: its key begins at key and its value at value.
func (e *encoder) op(key, value int, durable bool) {
	end := len(e.slab)
	e.ops = append(e.ops, Op{Key: e.slab[key:value:value], Value: e.slab[value:end:end], Durable: durable})
}

func (e *encoder) key(s *fold.SessionStep) PartialKey {
	return PartialKey{Stream: e.id.Stream, Session: s.ID, Source: e.id.Source}
}

func (e *encoder) partial(s *fold.SessionStep) {
	key := len(e.slab)
	e.slab = AppendPartial(e.slab, e.key(s))
	value := len(e.slab)
	e.slab = AppendPartialValue(e.slab, s.New)
	e.op(key, value, true)
}

func (e *encoder) timeline(step *fold.Step) {
	var p packer
	refs := make([]PackRef, 0, len(step.Sessions))
	for i := range step.Sessions {
		s := &step.Sessions[i]
		k := PackKey{PartialKey: e.key(s)}
		for rows := s.Rows; len(rows) > 0; {
			k.First = rows[0].Rec.Offset
			key := len(e.slab)
			e.slab = AppendPack(e.slab, k)
			value, n := len(e.slab), 0
			e.slab, n = p.pack(e.slab, rows)
			e.op(key, value, false)
			refs = append(refs, PackRef{Session: s.ID, First: k.First, Rows: uint64(n)})
			rows = rows[n:]
		}
	}
	key := len(e.slab)
	e.slab = AppendBatch(e.slab, BatchKey{SourceID: e.id, From: step.From})
	value := len(e.slab)
	e.slab = appendPacksHead(e.slab, step.From, step.To)
	for _, ref := range refs {
		e.slab = appendPackRef(e.slab, step.From, ref)
	}
	e.op(key, value, false)
}

func (e *encoder) entries(s *fold.SessionStep) {
	var few [3]ListKey
	for _, k := range NewEntries(few[:0], e.key(s), s.Old, s.New) {
		key := len(e.slab)
		e.slab = AppendList(e.slab, k)
		e.ops = append(e.ops, Op{Key: e.slab[key:len(e.slab):len(e.slab)], Value: unsequenced})
	}
}

func (e *encoder) meta(step *fold.Step) {
	m := MetaOf(step.Source, step.Frontier)
	key := len(e.slab)
	e.slab = AppendSource(e.slab, e.id)
	value := len(e.slab)
	e.slab = AppendSourceMeta(e.slab, &m)
	e.op(key, value, true)
}
