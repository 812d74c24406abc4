package wire

import "unicode/utf8"

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
