package wire

import (
	"math"
	"strconv"

	"github.com/segmentio/encoding/json"
)

// jsonTokens reads one JSON value token by token. The tokenizer checks tokens
// and not their order, so the order is checked here: input that is no JSON is
// bad, whatever was read of it before. What a reader does not want it skips, and
// a value of another type than a reader wants is skipped too.
type jsonTokens struct {
	t     json.Tokenizer
	size  int // of the input
	end   int // of the token before the one at hand
	depth int
	done  bool
	bad   bool
}

func (r *jsonTokens) reset(b []byte) {
	r.t.Reset(b)
	r.size, r.end, r.depth, r.done, r.bad = len(b), 0, 0, false, false
	r.next()
}

// next goes to the next token.
func (r *jsonTokens) next() {
	if r.done || r.bad {
		return
	}
	r.end = r.size - r.t.Remaining()
	if !r.t.Next() {
		r.bad = r.t.Err != nil
		r.done = true
	}
}

// whole says that the input was one value and nothing else.
func (r *jsonTokens) whole() bool { return !r.bad && r.done && r.depth == 0 && r.t.Err == nil }

func (r *jsonTokens) at(c byte) bool { return !r.done && !r.bad && byte(r.t.Delim) == c }

func (r *jsonTokens) want(c byte) {
	if !r.at(c) {
		r.bad = true
		return
	}
	r.next()
}

// open enters an object or array.
func (r *jsonTokens) open(c byte) {
	r.want(c)
	if r.depth++; r.depth > maxJSONNesting {
		r.bad = true
	}
}

// more says that another entry follows; n counts them.
func (r *jsonTokens) more(end byte, n *int) bool {
	if r.bad {
		return false
	}
	if r.at(end) {
		r.next()
		r.depth--
		return false
	}
	if *n > 0 {
		r.want(',')
	}
	*n++
	return !r.bad
}

func (r *jsonTokens) isText() bool {
	return !r.done && !r.bad && r.t.Delim == 0 && len(r.t.Value) > 0 && r.t.Value[0] == '"'
}

// key reads an object's key and the colon.
func (r *jsonTokens) key() []byte {
	if !r.isText() {
		r.bad = true
		return nil
	}
	k := r.t.String()
	r.next()
	r.want(':')
	return k
}

// text gives a text, nil for a value of another type. It allocates only for
// escapes.
func (r *jsonTokens) text() []byte {
	if !r.isText() {
		r.skip()
		return nil
	}
	s := r.t.String()
	if s == nil {
		s = []byte{}
	}
	r.next()
	return s
}

// number gives the text of a number, or of a text; nil for other values.
func (r *jsonTokens) number() []byte {
	if r.done || r.bad || r.t.Delim != 0 || len(r.t.Value) == 0 {
		r.skip()
		return nil
	}
	if c := r.t.Value[0]; c != '-' && (c < '0' || c > '9') {
		return r.text()
	}
	v := r.t.Value
	r.next()
	return v
}

// count gives a whole number; 12.0 is 12. Everything else is no count (spec
// settled.md, "JSON numbers").
func (r *jsonTokens) count() (n uint64, ok bool) {
	if r.isText() {
		r.skip()
		return 0, false
	}
	raw := r.number()
	return wholeNumber(raw)
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
	if !r.done && !r.bad && r.t.Delim == 0 && len(r.t.Value) > 0 {
		switch r.t.Value[0] {
		case 't':
			v, ok = true, true
		case 'f':
			ok = true
		}
	}
	r.skip()
	return v, ok
}

// raw skips a value and gives its bytes as written, a view of in, the input.
func (r *jsonTokens) raw(in []byte) []byte {
	from := r.size - r.t.Remaining() - len(r.t.Value)
	r.skip()
	if r.bad {
		return nil
	}
	return in[from:r.end:r.end]
}

// skip passes over any value.
func (r *jsonTokens) skip() {
	n := 0
	switch {
	case r.bad:
	case r.done:
		r.bad = true
	case r.at('{'):
		for r.open('{'); r.more('}', &n); {
			r.name()
			r.skip()
		}
	case r.at('['):
		for r.open('['); r.more(']', &n); {
			r.skip()
		}
	case r.t.Delim != 0:
		r.bad = true
	default:
		r.next()
	}
}

// name passes over a key.
func (r *jsonTokens) name() {
	if !r.isText() {
		r.bad = true
		return
	}
	r.next()
	r.want(':')
}
