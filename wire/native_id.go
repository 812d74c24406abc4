package wire

import (
	"crypto/sha256"
	"strings"
)

// NativeID gives the id of a session of a foreign dialect from its id as people
// write it. A UUID, a ULID and 32 hexadecimal digits, in Everruns also
// "session_" before those, are their 128 bits whatever the case; any other text
// is hashed with its dialect and stream (spec deepstrike.md, section 1;
// settled.md, "Foreign dialects"). The text is not empty.
func NativeID(d Dialect, stream string, text []byte) ID {
	if id, ok := nativeBits(d, text); ok {
		return id
	}
	const unit = 0x1f
	b := make([]byte, 0, 64+len(stream)+len(text))
	b = append(append(b, "sessionfold.v1"...), unit)
	b = append(append(b, d.String()...), unit)
	b = append(append(b, stream...), unit)
	sum := sha256.Sum256(append(b, text...))
	return ID(sum[:16])
}

const everrunsPrefix = "session_"

func nativeBits(d Dialect, text []byte) (id ID, ok bool) {
	if n := len(everrunsPrefix); d == DialectEverruns && len(text) == n+32 && strings.EqualFold(string(text[:n]), everrunsPrefix) {
		return hexBits(text[n:])
	}
	switch len(text) {
	case 26:
		return parseIDBytes(text)
	case 32, 36:
		return hexBits(text)
	}
	return ID{}, false
}

// hexBits reads 32 hexadecimal digits, or a UUID with its dashes.
func hexBits(text []byte) (id ID, ok bool) {
	n := 0
	for i, c := range text {
		if len(text) == 36 && (i == 8 || i == 13 || i == 18 || i == 23) {
			if c != '-' {
				return ID{}, false
			}
			continue
		}
		if !isHex(c) {
			return ID{}, false
		}
		v := c & 15
		if c > '9' {
			v += 9
		}
		id[n/2] = id[n/2]<<4 | v
		n++
	}
	return id, n == 32
}

// hash64 is FNV-1a: short texts that must be told apart, without a key.
func hash64[T string | []byte](h uint64, text T) uint64 {
	if h == 0 {
		h = 14695981039346656037
	}
	for i := 0; i < len(text); i++ {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// ChildID gives the id of the session that the item of a child link names, as
// the dialect spells it; false for one that names none.
func ChildID(d Dialect, stream, item string) (ID, bool) {
	if d == DialectAGDX {
		id, err := ParseID(item)
		return id, err == nil && id.String() == item
	}
	return NativeID(d, stream, []byte(item)), item != ""
}
