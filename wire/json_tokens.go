package wire

import (
	"math"
	"strconv"
)

// jsonTokens reads one JSON value as a lenient decoder wants it: what a reader
// does not want it skips, and a value of another type than a reader wants is
// skipped too. Input that is no JSON is bad all the same, whatever was read of
// it before.
type jsonTokens struct{ jsonReader }

func (r *jsonTokens) reset(b []byte) { r.jsonReader = jsonReader{b: b} }

// whole says that the input was one value and nothing else.
func (r *jsonTokens) whole() bool { return r.end() }

func (r *jsonTokens) at(c byte) bool { return r.next() == c }

func (r *jsonTokens) isText() bool { return r.at('"') }

// key reads an object's key and the colon.
func (r *jsonTokens) key() []byte {
	raw := r.jsonReader.key()
	if r.bad {
		return nil
	}
	return unquote(raw)
}

// text gives a text, nil for a value of another type. It allocates only for
// escapes.
func (r *jsonTokens) text() []byte {
	if !r.isText() {
		r.skip()
		return nil
	}
	raw := r.str()
	if r.bad {
		return nil
	}
	return unquote(raw)
}

// number gives the text of a number, or of a text; nil for other values.
func (r *jsonTokens) number() []byte {
	if c := r.next(); c == '-' || c >= '0' && c <= '9' {
		return r.jsonReader.number()
	}
	return r.text()
}

// count gives a whole number; 12.0 is 12. Everything else is no count (spec
// settled.md, "JSON numbers").
func (r *jsonTokens) count() (n uint64, ok bool) {
	if r.isText() {
		r.skip()
		return 0, false
	}
	return wholeNumber(r.number())
}

func wholeNumber(raw []byte) (n uint64, ok bool) {
	if len(raw) == 0 {
		return 0, false
	}
	for i, c := range raw {
		if c < '0' || c > '9' || i == 19 { // beyond 19 digits it may not fit
			f, err := strconv.ParseFloat(string(raw), 64)
			if u, e := strconv.ParseUint(string(raw), 10, 64); e == nil {
				return u, true
			}
			if err != nil || f < 0 || f >= math.MaxUint64 || f != math.Trunc(f) {
				return 0, false
			}
			return uint64(f), true
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// boolean gives true or false; ok is false for other values.
func (r *jsonTokens) boolean() (v, ok bool) {
	switch r.next() {
	case 't':
		v, ok = true, true
	case 'f':
		ok = true
	}
	r.skip()
	return v, ok
}

// raw skips a value and gives its bytes as written, a view of the input.
func (r *jsonTokens) raw() []byte {
	r.space()
	from := r.i
	r.skip()
	if r.bad {
		return nil
	}
	return r.b[from:r.i:r.i]
}
