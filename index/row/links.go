package row

import (
	"cmp"
	"encoding/binary"

	"sessionfold/fold"
	"sessionfold/wire"
)

// TagLinks is the tag of a session's links in one source. They are a row of
// their own, written when they changed: a session with many would carry them in
// every version of its partial otherwise.
const TagLinks byte = 'k'

// AppendLinks appends the key of a session's links in one source.
func AppendLinks(b []byte, k PartialKey) []byte { return appendPartialKey(b, TagLinks, k) }

// ParseLinks reads the key of a session's links in one source.
func ParseLinks(key []byte) (PartialKey, error) {
	if len(key) != partialKeyLen || key[0] != TagLinks {
		return PartialKey{}, keyError("links", partialKeyLen, key)
	}
	return parsePartialKey(key), nil
}

// AppendLinksValue appends links. Stamps are differences: a link's first to the
// earliest of all, its last to its first.
func AppendLinksValue(b []byte, links []fold.Link) []byte {
	base := earliest(links)
	b = append(b, Version)
	b = binary.AppendUvarint(b, base.Time)
	b = binary.AppendUvarint(b, base.Offset)
	b = binary.AppendUvarint(b, uint64(len(links)))
	for i := range links {
		l := &links[i]
		b = append(b, byte(l.Surface), byte(l.Relation))
		b = appendText(appendText(b, l.Resource), l.Item)
		b = appendStamp(appendStamp(b, base, l.First), l.First, l.Last)
	}
	return b
}

// earliest gives the first stamp by offset.
func earliest(links []fold.Link) (s fold.Stamp) {
	for i := range links {
		f := links[i].First
		if i == 0 || cmp.Or(cmp.Compare(f.Offset, s.Offset), cmp.Compare(f.Time, s.Time)) < 0 {
			s = f
		}
	}
	return s
}

// DecodeLinks reads links. The result shares nothing with b.
func DecodeLinks(b []byte) ([]fold.Link, error) {
	r := newReader("links", b)
	base := fold.Stamp{Time: r.uint(), Offset: r.uint()}
	links := make([]fold.Link, r.some("links", 2+2+4))
	for i := range links {
		l := &links[i]
		l.Surface, l.Relation = wire.LinkSurface(r.byte()), wire.LinkRelation(r.byte())
		l.Resource, l.Item = r.text(), r.text()
		l.First = r.stamp(base)
		l.Last = r.stamp(l.First)
	}
	if r.err == nil && earliest(links) != base {
		r.fail("the base is not the earliest stamp")
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return links, nil
}

// links writes those of the session that the step changed.
func (e *encoder) links(s *fold.SessionStep) {
	l := s.New.Links
	if l == nil || s.Old != nil && s.Old.Links == l {
		return
	}
	key := len(e.slab)
	e.slab = AppendLinks(e.slab, e.key(s))
	value := len(e.slab)
	e.slab = AppendLinksValue(e.slab, l.List)
	e.op(key, value, true)
}
