package row

import "encoding/binary"

// Local is what this store knows of a source beside the changelog.
type Local struct {
	ChangelogNext int64  // next offset of the changelog partition to read; 0 when none was reached
	ChangelogID   uint64 // generation of the changelog topic that this offset is of; 0 not known
	Retained      uint64 // first offset the source retains; rows below are hidden, then removed
	AppliedAt     uint64 // wall clock of the last apply, seconds since the epoch: tells a stale directory
	Restoring     bool   // a restore was begun and not ended: partials may be ahead of the source meta
	Removing      bool   // a removal was begun and not ended: nothing of the source may be used
	Holes         []Span // folded offsets whose timeline rows are not here, ascending, apart
}

// The marks of a local state.
const (
	localRestoring = 1 << iota
	localRemoving
)

// Span is an inclusive range of offsets.
type Span struct{ From, To uint64 }

// AppendLocalValue appends a source's local state.
func AppendLocalValue(b []byte, l *Local) []byte {
	b = append(b, Version)
	marks := uint64(0)
	if l.Restoring {
		marks |= localRestoring
	}
	if l.Removing {
		marks |= localRemoving
	}
	for _, n := range [...]uint64{uint64(l.ChangelogNext), l.ChangelogID, l.Retained, l.AppliedAt, marks, uint64(len(l.Holes))} {
		b = binary.AppendUvarint(b, n)
	}
	for _, h := range l.Holes {
		b = binary.AppendUvarint(b, h.From)
		b = binary.AppendUvarint(b, h.To-h.From)
	}
	return b
}

// DecodeLocal reads a source's local state.
func DecodeLocal(b []byte) (Local, error) {
	r := newReader("local source state", b)
	l := Local{ChangelogNext: int64(r.uint()), ChangelogID: r.uint(), Retained: r.uint(), AppliedAt: r.uint()}
	marks := r.mask(localRestoring | localRemoving)
	l.Restoring, l.Removing = marks&localRestoring != 0, marks&localRemoving != 0
	if n := r.count(2); n > 0 {
		l.Holes = make([]Span, n)
		for i := range l.Holes {
			from := r.uint()
			l.Holes[i] = Span{From: from, To: from + r.uint()}
		}
	}
	if err := r.end(); err != nil {
		return Local{}, err
	}
	return l, nil
}

// AddHole joins a span to the holes; touching and overlapping ones become one.
func AddHole(holes []Span, h Span) []Span {
	out := make([]Span, 0, len(holes)+1)
	placed := false
	for _, o := range holes {
		switch {
		case o.To < h.From && h.From-o.To > 1:
			out = append(out, o)
		case h.To < o.From && o.From-h.To > 1:
			if !placed {
				out, placed = append(out, h), true
			}
			out = append(out, o)
		default:
			h = Span{From: min(o.From, h.From), To: max(o.To, h.To)}
		}
	}
	if !placed {
		out = append(out, h)
	}
	return out
}

// CutHoles removes a span from the holes.
func CutHoles(holes []Span, c Span) []Span {
	var out []Span
	for _, o := range holes {
		if c.To < o.From || o.To < c.From {
			out = append(out, o)
			continue
		}
		if o.From < c.From {
			out = append(out, Span{From: o.From, To: c.From - 1})
		}
		if c.To < o.To {
			out = append(out, Span{From: c.To + 1, To: o.To})
		}
	}
	return out
}

// Identity is who a store is. WalkID changes whenever apply sequences may have
// been taken back, so that no cursor trusts one that was.
type Identity struct {
	StoreID [16]byte
	WalkID  [8]byte
}

// AppendIdentity appends the store's identity.
func AppendIdentity(b []byte, i Identity) []byte {
	b = append(b, Version)
	b = append(b, i.StoreID[:]...)
	return append(b, i.WalkID[:]...)
}

// DecodeIdentity reads the store's identity; another format version is an
// *Error at byte 0 or 1.
func DecodeIdentity(b []byte) (Identity, error) {
	r := newReader("store identity", b)
	i := Identity{StoreID: r.id16()}
	copy(i.WalkID[:], r.take(8))
	if err := r.end(); err != nil {
		return Identity{}, err
	}
	return i, nil
}

// AppendSeq appends an apply sequence: the value of the store's counter and of
// list entries.
func AppendSeq(b []byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, Version), seq)
}

// DecodeSeq reads an apply sequence.
func DecodeSeq(b []byte) (uint64, error) {
	r := newReader("apply sequence", b)
	v := r.take(8)
	if err := r.end(); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(v), nil
}
