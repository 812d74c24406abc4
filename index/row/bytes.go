package row

import (
	"encoding/binary"
	"fmt"
)

// Error says where a stored value cannot be read. Values are the program's own,
// so it means damage, or another format version.
type Error struct {
	What string // which encoding
	At   int    // byte within the value
	Why  string
}

func (e *Error) Error() string { return fmt.Sprintf("row: %s, byte %d: %s", e.What, e.At, e.Why) }

// reader walks a value. The first failure sticks; reads after it give zeros.
type reader struct {
	what string
	b    []byte
	pos  int
	err  *Error
}

// newReader begins a value: it takes the version byte.
func newReader(what string, b []byte) reader {
	r := reader{what: what, b: b}
	if len(b) == 0 {
		r.fail("empty")
	} else if b[0] != Version {
		r.fail(fmt.Sprintf("format version %d, this program reads version %d", b[0], Version))
	}
	r.pos = min(1, len(b))
	return r
}

func (r *reader) fail(why string) {
	if r.err == nil {
		r.err = &Error{What: r.what, At: r.pos, Why: why}
	}
	r.pos = len(r.b)
}

// end is the outcome of a whole value.
func (r *reader) end() error {
	if r.err == nil && r.pos != len(r.b) {
		r.fail(fmt.Sprintf("%d bytes behind the end", len(r.b)-r.pos))
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

func (r *reader) more() bool { return r.err == nil && r.pos < len(r.b) }

func (r *reader) byte() byte {
	if r.pos >= len(r.b) {
		r.fail("ends early")
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

// uint reads a varint in its shortest form; other forms are refused, so that
// one value has one encoding.
func (r *reader) uint() uint64 {
	if r.pos < len(r.b) && r.b[r.pos] < 0x80 {
		r.pos++
		return uint64(r.b[r.pos-1])
	}
	v, n := binary.Uvarint(r.b[r.pos:])
	switch {
	case n == 0:
		r.fail("ends early")
		return 0
	case n < 0:
		r.fail("number beyond 64 bits")
		return 0
	case r.b[r.pos+n-1] == 0:
		r.fail("number not in its shortest form")
		return 0
	}
	r.pos += n
	return v
}

// mask reads a set of bits of which only those of known may be set.
func (r *reader) mask(known uint64) uint64 {
	m := r.uint()
	if m&^known != 0 {
		r.fail(fmt.Sprintf("unknown bits %#x: written by a later program", m&^known))
		return 0
	}
	return m
}

// count reads how many items follow, each of at least size bytes.
func (r *reader) count(size int) int {
	n := r.uint()
	if n > uint64(len(r.b)-r.pos)/uint64(size) {
		r.fail(fmt.Sprintf("%d items do not fit", n))
		return 0
	}
	return int(n)
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)-r.pos) {
		r.fail("ends early")
		return nil
	}
	p := r.b[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return p
}

func (r *reader) bytes() []byte { return r.take(r.uint()) }

func (r *reader) text() string { return string(r.bytes()) }

// id16 copies 16 bytes.
func (r *reader) id16() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

func appendText[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// groups reads optional groups: each a tag, ascending, then what read takes for
// it. read returns false for a tag it does not know.
func (r *reader) groups(read func(tag uint64) bool) {
	last := uint64(0)
	for r.more() {
		at := r.pos
		tag := r.uint()
		if r.err != nil {
			return
		}
		if tag <= last {
			r.fail(fmt.Sprintf("group %d behind group %d", tag, last))
			return
		}
		if !read(tag) {
			r.pos = at
			r.fail(fmt.Sprintf("unknown group %d: written by a later program", tag))
			return
		}
		last = tag
	}
}
