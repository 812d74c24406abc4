package wire

import (
	"encoding/json"
	"math"
	"strconv"
)

// maxJSONNesting is the deepest nesting of JSON that is read (spec settled.md,
// "Envelope and headers").
const maxJSONNesting = 256

// jsonReader scans one JSON value strictly and without recursion beyond
// maxJSONNesting, whatever the input says. It exists because argument names are
// read on the hot path and a lenient scanner could take content for a name.
type jsonReader struct {
	b     []byte
	i     int
	depth int
	bad   bool
}

func (r *jsonReader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

// next gives the byte behind white space, 0 at the end.
func (r *jsonReader) next() byte {
	r.space()
	if r.bad || r.i >= len(r.b) {
		return 0
	}
	return r.b[r.i]
}

func (r *jsonReader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.i++
	return true
}

// want takes the byte or marks the input as bad.
func (r *jsonReader) want(c byte) {
	if !r.take(c) {
		r.bad = true
	}
}

// end says that the input was one value and nothing else.
func (r *jsonReader) end() bool {
	r.space()
	return !r.bad && r.i == len(r.b)
}

// str reads a quoted string and gives it raw, with its quotes.
func (r *jsonReader) str() []byte {
	r.want('"')
	if r.bad {
		return nil
	}
	from := r.i - 1
	for ; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; {
		case c == '"':
			r.i++
			return r.b[from:r.i:r.i]
		case c < 0x20:
			r.bad = true
			return nil
		case c == '\\':
			if r.i++; !r.escape() {
				r.bad = true
				return nil
			}
		}
	}
	r.bad = true
	return nil
}

// escape steps to the last byte of an escape.
func (r *jsonReader) escape() bool {
	if r.i >= len(r.b) {
		return false
	}
	switch r.b[r.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for n := 0; n < 4; n++ {
			r.i++
			if r.i >= len(r.b) || !isHex(r.b[r.i]) {
				return false
			}
		}
		return true
	}
	return false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// unquote gives the text of a raw string; it allocates only for escapes.
func unquote(raw []byte) []byte {
	in := raw[1 : len(raw)-1]
	for _, c := range in {
		if c == '\\' {
			var s string
			if json.Unmarshal(raw, &s) != nil {
				return nil
			}
			return []byte(s)
		}
	}
	return in
}

// number reads a number and gives it raw.
func (r *jsonReader) number() []byte {
	from := r.i
	digits := func() bool {
		n := r.i
		for r.i < len(r.b) && r.b[r.i] >= '0' && r.b[r.i] <= '9' {
			r.i++
		}
		return r.i > n
	}
	at := func(c byte) bool {
		if r.i < len(r.b) && r.b[r.i] == c {
			r.i++
			return true
		}
		return false
	}
	at('-')
	ok := at('0') || digits()
	if at('.') {
		ok = digits() && ok
	}
	if at('e') || at('E') {
		if !at('+') {
			at('-')
		}
		ok = digits() && ok
	}
	if !ok {
		r.bad = true
	}
	return r.b[from:r.i:r.i]
}

func (r *jsonReader) word(w string) bool {
	if len(r.b)-r.i < len(w) || string(r.b[r.i:r.i+len(w)]) != w {
		r.bad = true
		return false
	}
	r.i += len(w)
	return true
}

// open enters an object or array.
func (r *jsonReader) open(c byte) {
	r.want(c)
	if r.depth++; r.depth > maxJSONNesting {
		r.bad = true
	}
}

// more says that another entry of the object or array follows; n counts them.
func (r *jsonReader) more(end byte, n *int) bool {
	if r.bad {
		return false
	}
	if r.take(end) {
		r.depth--
		return false
	}
	if *n > 0 {
		r.want(',')
	}
	*n++
	return !r.bad
}

// key reads an object's key and the colon.
func (r *jsonReader) key() []byte {
	raw := r.str()
	r.want(':')
	return raw
}

// skip reads any value.
func (r *jsonReader) skip() {
	n := 0
	switch c := r.next(); {
	case c == '{':
		for r.open('{'); r.more('}', &n); {
			r.key()
			r.skip()
		}
	case c == '[':
		for r.open('['); r.more(']', &n); {
			r.skip()
		}
	case c == '"':
		r.str()
	case c == 't':
		r.word("true")
	case c == 'f':
		r.word("false")
	case c == 'n':
		r.word("null")
	case c == '-' || c >= '0' && c <= '9':
		r.number()
	default:
		r.bad = true
	}
}

// cborOf gives the CBOR of a JSON text, so that bodies that may be either are
// read by one reader. Integers keep their value where 64 bits hold it; other
// numbers become floats. Rare records only: it allocates.
func cborOf(text []byte) ([]byte, bool) {
	r := jsonReader{b: text}
	b := r.cbor(make([]byte, 0, len(text)))
	return b, r.end()
}

func (r *jsonReader) cbor(b []byte) []byte {
	n := 0
	switch c := r.next(); c {
	case '{':
		b = append(b, majorMap<<5|31)
		for r.open('{'); r.more('}', &n); {
			if raw := r.key(); !r.bad {
				b = r.cbor(appendText(b, unquote(raw)))
			}
		}
		return append(b, cborBreak)
	case '[':
		b = append(b, majorArray<<5|31)
		for r.open('['); r.more(']', &n); {
			b = r.cbor(b)
		}
		return append(b, cborBreak)
	case '"':
		if raw := r.str(); !r.bad {
			b = appendText(b, unquote(raw))
		}
		return b
	case 't':
		r.word("true")
		return append(b, cborTrue)
	case 'f':
		r.word("false")
		return append(b, cborFalse)
	case 'n':
		r.word("null")
		return append(b, cborNull)
	case 0:
		r.bad = true
		return b
	}
	return appendNumber(b, string(r.number()))
}

func appendNumber(b []byte, s string) []byte {
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return appendUint(b, u)
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n < 0 { // "-0" is a float
		return appendHead(b, majorNint, uint64(-1-n))
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		f = math.NaN() // out of range: no JSON number has this value
	}
	return appendFloat(b, f)
}
