package wire

import (
	"encoding/binary"
	"unicode/utf8"
)

// Undecodable is the error of a value that cannot be read in the format of its
// topic (spec settled.md, "undecodable"). It is a fixed word, not a text with a
// position: a partition may carry millions of such records, and each costs one
// comparison and no allocation.
type Undecodable string

func (u Undecodable) Error() string { return "wire: undecodable: " + string(u) }

// Reason is the fixed word.
func (u Undecodable) Reason() string { return string(u) }

// The reasons why a value does not decode. They are error values that stand for
// themselves, so that none is allocated on the way.
var (
	errCBORShort    error = Undecodable("short")          // the item ends early
	errCBORSyntax   error = Undecodable("malformed")      // no well-formed CBOR
	errCBORNesting  error = Undecodable("nesting")        // deeper than 128
	errCBORUTF8     error = Undecodable("utf8")           // ill-formed text
	errCBORType     error = Undecodable("field_type")     // a known field has another type or range
	errCBORTrailing error = Undecodable("trailing")       // bytes follow the item
	errCBORRepeated error = Undecodable("field_repeated") // a known field appears twice
	errCBORKey      error = Undecodable("key_type")       // a map key is no text
	errCBORMissing  error = Undecodable("field_missing")  // a required field is absent
	errTombstone    error = Undecodable("null_value")     // the record has no value
)

// maxCBORNesting is the deepest nesting that is read; an array, map or tag is a
// level, the outermost is 1 (spec settled.md, "Envelope and headers").
const maxCBORNesting = 128

// The CBOR major types.
const (
	majorUint = iota
	majorNint
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorSimple
)

// The simple values that carry meaning here, as initial bytes.
const (
	cborFalse = 0xf4
	cborTrue  = 0xf5
	cborNull  = 0xf6
	cborBreak = 0xff
)

// cborReader scans one CBOR item without allocating: strings are views of the
// input, except indefinite-length ones, which are joined in new memory. The
// first error sticks and every later call does nothing, so callers check once.
type cborReader struct {
	b     []byte
	i     int
	depth int // levels of nesting that enclose the position
	err   error
}

func (r *cborReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// head reads an initial byte with its argument. indefinite is set for strings,
// arrays and maps of unknown length and for the break byte.
func (r *cborReader) head() (major byte, arg uint64, indefinite bool) {
	if r.err != nil {
		return 0, 0, false
	}
	if r.i >= len(r.b) {
		r.err = errCBORShort
		return 0, 0, false
	}
	c := r.b[r.i]
	r.i++
	major, info := c>>5, c&31
	if info < 24 {
		return major, uint64(info), false
	}
	if info < 28 {
		n := 1 << (info - 24)
		if len(r.b)-r.i < n {
			r.err = errCBORShort
			return 0, 0, false
		}
		p := r.b[r.i:]
		switch n {
		case 1:
			arg = uint64(p[0])
		case 2:
			arg = uint64(binary.BigEndian.Uint16(p))
		case 4:
			arg = uint64(binary.BigEndian.Uint32(p))
		default:
			arg = binary.BigEndian.Uint64(p)
		}
		r.i += n
		if major == majorSimple && n == 1 && arg < 32 {
			r.err = errCBORSyntax // a two-byte simple value below 32 does not exist
		}
		return major, arg, false
	}
	if info == 31 && (major >= majorBytes && major <= majorMap || major == majorSimple) {
		return major, 0, true
	}
	r.err = errCBORSyntax
	return 0, 0, false
}

// peek gives the initial byte of the next item without consuming it.
func (r *cborReader) peek() byte {
	if r.err != nil {
		return 0
	}
	if r.i >= len(r.b) {
		r.err = errCBORShort
		return 0
	}
	return r.b[r.i]
}

// null consumes a null when one is next.
func (r *cborReader) null() bool {
	if r.peek() != cborNull {
		return false
	}
	r.i++
	return true
}

// short reads a definite string of the major type with at most 255 bytes whose
// head is in shortest form: nearly every string there is. ok is false when the
// next item is anything else, and then nothing is consumed.
func (r *cborReader) short(want byte) (s []byte, ok bool) {
	if r.err != nil || r.i+2 > len(r.b) {
		return nil, false
	}
	c := r.b[r.i] - want<<5
	from := r.i + 1
	end := from + int(c)
	if c == 24 {
		from++
		end = from + int(r.b[r.i+1])
	} else if c > 24 {
		return nil, false
	}
	if end > len(r.b) {
		return nil, false
	}
	r.i = end
	return r.b[from:end:end], true
}

// str reads a string of the major type; any other item is a type error.
func (r *cborReader) str(want byte) []byte {
	if s, ok := r.short(want); ok {
		if want == majorText && !utf8.Valid(s) {
			r.err = errCBORUTF8
		}
		return s
	}
	major, n, indefinite := r.head()
	if r.err != nil {
		return nil
	}
	if major != want {
		r.err = errCBORType
		return nil
	}
	return r.rest(major, n, indefinite)
}

// rest reads the content of a string whose head has been read. The result is
// never nil when no error happened.
func (r *cborReader) rest(major byte, n uint64, indefinite bool) []byte {
	if indefinite {
		return r.chunks(major)
	}
	if n > uint64(len(r.b)-r.i) {
		r.fail(errCBORShort)
		return nil
	}
	s := r.b[r.i : r.i+int(n) : r.i+int(n)]
	r.i += int(n)
	if major == majorText && !utf8.Valid(s) {
		r.fail(errCBORUTF8)
		return nil
	}
	return s
}

// chunks joins an indefinite-length string. Every chunk of a text must itself
// be UTF-8.
func (r *cborReader) chunks(major byte) []byte {
	out := []byte{}
	for {
		if r.peek() == cborBreak {
			r.i++
			return out
		}
		m, n, indefinite := r.head()
		if r.err == nil && (m != major || indefinite) {
			r.err = errCBORSyntax
		}
		if r.err != nil {
			return nil
		}
		out = append(out, r.rest(m, n, false)...)
	}
}

// text reads a text string.
func (r *cborReader) text() []byte { return r.str(majorText) }

// bytes reads a byte string.
func (r *cborReader) bytes() []byte { return r.str(majorBytes) }

// id reads a byte string of 16 bytes.
func (r *cborReader) id(to *ID) {
	b, ok := r.short(majorBytes)
	if !ok {
		b = r.str(majorBytes)
	}
	if r.err != nil {
		return
	}
	if len(b) != len(to) {
		r.err = errCBORType
		return
	}
	copy(to[:], b)
}

// uint reads an unsigned integer of at most max.
func (r *cborReader) uint(max uint64) uint64 {
	major, n, _ := r.head()
	if r.err == nil && (major != majorUint || n > max) {
		r.err = errCBORType
	}
	return n
}

// boolean reads true or false.
func (r *cborReader) boolean() bool {
	c := r.peek()
	if r.err == nil && c != cborTrue && c != cborFalse {
		r.err = errCBORType
	}
	r.i++
	return c == cborTrue
}

// cborSeq counts the entries of an array or map that is being read.
type cborSeq struct {
	left       uint64
	indefinite bool
}

// open reads the head of an array or map. Every entry takes at least one byte,
// so a count beyond the input is refused at once and no caller reserves memory
// for it.
func (r *cborReader) open(want byte) (s cborSeq) {
	major, n, indefinite := r.head()
	if r.err != nil {
		return s
	}
	if major != want {
		r.err = errCBORType
		return s
	}
	r.enter()
	if n > uint64(len(r.b)-r.i) {
		r.fail(errCBORShort)
	}
	return cborSeq{left: n, indefinite: indefinite}
}

// more says that another entry follows; at the end it leaves the level.
func (r *cborReader) more(s *cborSeq) bool {
	if r.err != nil {
		return false
	}
	if s.indefinite {
		if r.peek() != cborBreak {
			return r.err == nil
		}
		r.i++
	} else if s.left > 0 {
		s.left--
		return true
	}
	r.depth--
	return false
}

func (r *cborReader) enter() {
	r.depth++
	if r.depth > maxCBORNesting {
		r.fail(errCBORNesting)
	}
}

// key reads a map key, which must be text.
func (r *cborReader) key() []byte {
	k, known := r.name()
	if !known && !utf8.Valid(k) {
		r.fail(errCBORUTF8)
	}
	return k
}

// name reads a map key and leaves it to the caller to check that it is UTF-8
// unless checked says so: a key that equals a known name needs no check.
func (r *cborReader) name() (k []byte, checked bool) {
	if k, ok := r.short(majorText); ok {
		return k, false
	}
	return r.longKey(), true
}

func (r *cborReader) longKey() []byte {
	major, n, indefinite := r.head()
	if r.err != nil {
		return nil
	}
	if major != majorText {
		r.err = errCBORKey
		return nil
	}
	return r.rest(major, n, indefinite)
}

// skip reads one item of any type and checks that it is well formed, texts
// included. It recurses at most maxCBORNesting deep.
func (r *cborReader) skip() {
	major, n, indefinite := r.head()
	if r.err != nil {
		return
	}
	switch major {
	case majorBytes, majorText:
		if !indefinite {
			r.rest(major, n, false)
			return
		}
		for r.peek() != cborBreak {
			m, n, ind := r.head()
			if r.err == nil && (m != major || ind) {
				r.err = errCBORSyntax
			}
			if r.err != nil {
				return
			}
			r.rest(m, n, false)
		}
		r.i++
	case majorArray, majorMap:
		r.enter()
		if n > uint64(len(r.b)-r.i) {
			r.fail(errCBORShort)
		}
		s := cborSeq{left: n, indefinite: indefinite}
		for r.more(&s) {
			r.skip()
			if major == majorMap {
				r.skip()
			}
		}
	case majorTag:
		r.enter()
		r.skip()
		r.depth--
	case majorSimple:
		if indefinite {
			r.err = errCBORSyntax // a break outside of anything indefinite
		}
	}
}

// once notes a known field and fails when it was seen before.
func (r *cborReader) once(seen *int, bit int) bool {
	if *seen&bit != 0 {
		r.fail(errCBORRepeated)
	}
	*seen |= bit
	return r.err == nil
}

// optional notes a known field and says that a value other than null follows;
// a null is consumed and means absence.
func (r *cborReader) optional(seen *int, bit int) bool {
	return r.once(seen, bit) && !r.null()
}

// raw reads one item of any type as it stands.
func (r *cborReader) raw() []byte {
	from := r.i
	r.skip()
	if r.err != nil {
		return nil
	}
	return r.b[from:r.i:r.i]
}

// endWith checks that the input is used up and that all required fields were
// there.
func (r *cborReader) endWith(complete bool) error {
	if err := r.end(); err != nil {
		return err
	}
	if !complete {
		return errCBORMissing
	}
	return nil
}

// end checks that the input is used up.
func (r *cborReader) end() error {
	if r.err == nil && r.i != len(r.b) {
		r.err = errCBORTrailing
	}
	return r.err
}
