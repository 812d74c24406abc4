package wire

import (
	"encoding/binary"
	"errors"

	"github.com/oklog/ulid/v2"
)

// ID is a 128-bit id, big-endian: a conversation, record, correlation, cause
// or channel. As text it is 26 characters of Crockford base32, upper case
// (spec agdx.md, section 1).
type ID [16]byte

// ErrID is returned for text that is not 26 characters of Crockford base32
// whose first is at most 7.
var ErrID = errors.New("wire: an id is 26 characters of Crockford base32, the first at most 7")

// ParseID reads the text form; lower case is accepted, nothing else is.
func ParseID(s string) (ID, error) {
	u, err := ulid.ParseStrict(s)
	if err != nil {
		return ID{}, ErrID
	}
	return ID(u), nil
}

// String is the 26-character text form.
func (id ID) String() string { return ulid.ULID(id).String() }

// IsZero says that no id is set. The all-zero id is a legal value on the wire,
// so presence is kept beside an id wherever the two must be told apart.
func (id ID) IsZero() bool { return id == ID{} }

// Compare orders ids by their bytes: -1, 0 or 1.
func (id ID) Compare(o ID) int {
	a, b := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(o[:8])
	if a == b {
		a, b = binary.BigEndian.Uint64(id[8:]), binary.BigEndian.Uint64(o[8:])
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// MarshalText makes an id its text in JSON.
func (id ID) MarshalText() ([]byte, error) { return ulid.ULID(id).MarshalText() }

// UnmarshalText reads the text form.
func (id *ID) UnmarshalText(b []byte) error {
	v, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = v
	return nil
}

// Append appends the text form.
func (id ID) Append(b []byte) []byte {
	n := len(b)
	b = append(b, "00000000000000000000000000"...)
	// The destination has the right length, so this cannot fail.
	_ = ulid.ULID(id).MarshalTextTo(b[n:])
	return b
}
