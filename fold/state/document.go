package state

import (
	"strings"

	"sessionfold/wire"
)

// Document is one JSON value with its digest. It never changes.
type Document struct {
	root  item
	sum   [32]byte
	marks []mark // ascending
}

// Empty is the document that a session begins with.
var Empty = Parse("{}")

// Parse makes the document of a canonical JSON text, which it keeps.
func Parse(canonical string) *Document {
	_, depth := skipValue(canonical, 0)
	d := &Document{root: item{text: canonical, depth: int16(depth)}}
	d.digest(nil, 0)
	return d
}

// Size is the length of the canonical text in bytes.
func (d *Document) Size() int { return d.root.size() }

// Digest is the SHA-256 of the canonical text.
func (d *Document) Digest() [32]byte { return d.sum }

// Text gives the canonical text.
func (d *Document) Text() string {
	if d.root.box == nil {
		return d.root.text
	}
	var b strings.Builder
	b.Grow(d.Size())
	w := walker{put: func(s string) { b.WriteString(s) }}
	w.item(&d.root)
	return b.String()
}

// digest computes the digest of a document that equals the one of the marks in
// its first changed bytes.
func (d *Document) digest(marks []mark, changed int) {
	s := newSummer(marks, changed, d.Size())
	w := walker{skip: s.pos, put: s.write}
	w.item(&d.root)
	s.flush()
	s.h.Sum(d.sum[:0])
	d.marks = s.marks
}

// flat is the same document on one text of its own: what earlier texts it was
// made of can be let go.
func (d *Document) flat() *Document {
	return &Document{root: item{text: d.Text(), depth: d.root.depth}, sum: d.sum, marks: d.marks}
}

// Fault says which operation of a patch failed, from 0, and why. At is -1 when
// the patch as a whole is at fault.
type Fault struct {
	Why wire.StateFault
	At  int
}

func (f *Fault) Error() string { return "state: " + wire.FaultText(f.Why, f.At) }

// Apply gives the document with a whole patch applied (RFC 6902), or the fault
// of the first operation that fails. The document must keep to its limits after
// every operation.
func (d *Document) Apply(patch []wire.PatchOp) (*Document, *Fault) {
	p := patcher{root: d.root, changed: d.Size()}
	for i := range patch {
		if why := p.apply(&patch[i]); why != wire.FaultNone {
			return nil, &Fault{why, i}
		}
	}
	if !p.dirty {
		return &Document{root: p.root, sum: d.sum, marks: d.marks}, nil
	}
	out := &Document{root: p.root}
	out.digest(d.marks, p.changed)
	return out, nil
}
