package row

import (
	"encoding/binary"

	"sessionfold/wire"
)

// Packs lists the packs of one batch, so that pruning finds expired rows
// without looking at others.
type Packs struct {
	To    uint64 // last offset of the batch
	Packs []PackRef
}

// PackRef names one pack of a batch.
type PackRef struct {
	Session wire.ID
	First   uint64 // offset of its first row
	Rows    uint64
}

func appendPacksHead(b []byte, from, to uint64) []byte {
	return binary.AppendUvarint(append(b, Version), to-from)
}

func appendPackRef(b []byte, from uint64, p PackRef) []byte {
	b = append(b, p.Session[:]...)
	b = binary.AppendUvarint(b, p.First-from)
	return binary.AppendUvarint(b, p.Rows)
}

// DecodePacks reads the value of a batch key that ends in the offset from.
func DecodePacks(from uint64, b []byte) (Packs, error) {
	r := newReader("batch", b)
	p := Packs{To: from + r.uint()}
	for r.more() {
		ref := PackRef{Session: r.id16()}
		ref.First = from + r.uint()
		ref.Rows = r.uint()
		if ref.First < from || ref.First > p.To {
			r.fail("a pack outside its batch")
		}
		p.Packs = append(p.Packs, ref)
	}
	if err := r.end(); err != nil {
		return Packs{}, err
	}
	return p, nil
}
