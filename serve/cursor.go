package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// A cursor is base64url of: format, read, 8 bytes of what it is bound to, the
// read's own fields, 8 bytes that prove it whole. The proof is no secret: a
// cursor holds positions only, and every request passes its authorisation
// again.
const (
	cursorFormat  = 1
	cursorList    = 'l'
	cursorEvents  = 'e'
	cursorHead    = 1 + 1 + 8
	cursorProof   = 8
	proofDomain   = "sessionfold cursor 1\x00"
	bindingDomain = "sessionfold cursor binding 1\x00"
)

// binding is a digest of all that a cursor may be used with: the read, the
// stream, the filters and the order. The parts are told apart by their lengths.
func binding(parts ...string) [8]byte {
	h := sha256.New()
	h.Write([]byte(bindingDomain))
	var n [4]byte
	for _, p := range parts {
		binary.BigEndian.PutUint32(n[:], uint32(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return [8]byte(h.Sum(nil))
}

func proof(b []byte) []byte {
	h := sha256.New()
	h.Write([]byte(proofDomain))
	h.Write(b)
	return h.Sum(nil)[:cursorProof]
}

// sealCursor makes the text of a cursor.
func sealCursor(read byte, bound [8]byte, fields []byte) string {
	b := append([]byte{cursorFormat, read}, bound[:]...)
	b = append(b, fields...)
	return base64.RawURLEncoding.EncodeToString(append(b, proof(b)...))
}

// openCursor gives the fields of a cursor that belongs to the read and binding.
func openCursor(read byte, bound [8]byte, text string) ([]byte, error) {
	if len(text) > MaxCursorBytes {
		return nil, invalid("cursor: %d bytes, at most %d", len(text), MaxCursorBytes)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < cursorHead+cursorProof || b[0] != cursorFormat {
		return nil, errCursor
	}
	b, p := b[:len(b)-cursorProof], b[len(b)-cursorProof:]
	if !bytes.Equal(proof(b), p) {
		return nil, errCursor
	}
	if b[1] != read || [8]byte(b[2:cursorHead]) != bound {
		return nil, invalid("cursor: it belongs to another read, stream, session, filter or order; start again without it")
	}
	return b[cursorHead:], nil
}

var errCursor = invalid("cursor: pass on the text of the page before, whole and unchanged")

// fields reads what a cursor holds; the first fault stays.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) uint() uint64 {
	n, size := binary.Uvarint(f.b)
	if size <= 0 {
		f.bad, f.b = true, nil
		return 0
	}
	f.b = f.b[size:]
	return n
}

func (f *fields) take(n int) []byte {
	if len(f.b) < n {
		f.bad, f.b = true, nil
		return make([]byte, n)
	}
	v := f.b[:n]
	f.b = f.b[n:]
	return v
}

// end fails when fields are missing or left over.
func (f *fields) end() error {
	if f.bad || len(f.b) != 0 {
		return errCursor
	}
	return nil
}
