package wire

import (
	"encoding/binary"
	"unicode/utf8"
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
