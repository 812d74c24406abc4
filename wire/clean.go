package wire

import (
	"unicode/utf8"
)

// Clean makes text fit to keep (spec settled.md, "Text"): each maximal
// ill-formed part of UTF-8 and each control character (Unicode Cc) becomes one
// U+FFFD, then the text is cut at a rune boundary to at most max bytes; max 0
// cuts nothing. cut says that text was lost to the cut.
func Clean(b []byte, max int) (s string, cut bool) {
	n := cleanPrefix(b)
	if n == len(b) {
		if max == 0 || n <= max {
			return string(b), false
		}
		for n = max; !utf8.RuneStart(b[n]); n-- {
		}
		return string(b[:n]), true
	}
	out := make([]byte, 0, len(b)+8)
	out = append(out, b[:n]...)
	for n < len(b) && (max == 0 || len(out) <= max) {
		r, size := utf8.DecodeRune(b[n:])
		switch {
		case r == utf8.RuneError && size == 1:
			size = illFormed(b[n:])
		case r < 0x20 || r >= 0x7f && r <= 0x9f:
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r)
		n += size
	}
	if max == 0 || len(out) <= max {
		return string(out), false
	}
	for n = max; !utf8.RuneStart(out[n]); n-- {
	}
	return string(out[:n]), true
}

// cleanPrefix gives the length of the longest prefix that needs no replacement.
func cleanPrefix(b []byte) int {
	for i := 0; i < len(b); {
		if c := b[i]; c < utf8.RuneSelf {
			if c < 0x20 || c == 0x7f {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 || r <= 0x9f {
			return i
		}
		i += size
	}
	return len(b)
}

// illFormed gives the length of the maximal subpart of an ill-formed sequence
// at the start of b (Unicode, "U+FFFD Substitution of Maximal Subparts"): the
// longest start of a well-formed sequence, at least one byte.
func illFormed(b []byte) int {
	lo, hi, need := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 1
	case c >= 0xe0 && c <= 0xef:
		need = 2
		if c == 0xe0 {
			lo = 0xa0
		} else if c == 0xed {
			hi = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		need = 3
		if c == 0xf0 {
			lo = 0x90
		} else if c == 0xf4 {
			hi = 0x8f
		}
	}
	n := 1
	for ; n <= need && n < len(b) && b[n] >= lo && b[n] <= hi; n++ {
		lo, hi = 0x80, 0xbf
	}
	return n
}
