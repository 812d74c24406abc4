package wire

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CompareKeys orders object keys as canonical JSON does (RFC 8785, section
// 3.2.3): by UTF-16 code units. That is the order of UTF-8 bytes but for
// characters beyond U+FFFF, whose surrogates come before U+E000.
func CompareKeys(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return cmp.Compare(len(a), len(b))
	}
	x, y := a[i], b[i]
	switch {
	case x >= 0xf0 && y >= 0xee && y < 0xf0:
		return -1
	case y >= 0xf0 && x >= 0xee && x < 0xf0:
		return 1
	}
	return cmp.Compare(x, y)
}

// AppendJSONText appends a text as canonical JSON: quotes, and escapes only
// where JSON needs one. The text is valid UTF-8.
func AppendJSONText[T string | []byte](b []byte, s T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\t':
			b = append(b, '\\', 't')
		case '\n':
			b = append(b, '\\', 'n')
		case '\f':
			b = append(b, '\\', 'f')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// JSONText gives the text of a canonical JSON text, quotes and all. Without
// escapes it is a view.
func JSONText(quoted string) string {
	in := quoted[1 : len(quoted)-1]
	if strings.IndexByte(in, '\\') < 0 {
		return in
	}
	b := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' {
			b = append(b, in[i])
			continue
		}
		i++
		switch in[i] {
		case 'b':
			b = append(b, '\b')
		case 't':
			b = append(b, '\t')
		case 'n':
			b = append(b, '\n')
		case 'f':
			b = append(b, '\f')
		case 'r':
			b = append(b, '\r')
		case 'u': // only control characters are written so
			n, _ := strconv.ParseUint(in[i+1:i+5], 16, 16)
			b = utf8.AppendRune(b, rune(n))
			i += 4
		default:
			b = append(b, in[i])
		}
	}
	return string(b)
}

// appendJSONNumber appends a number as canonical JSON (RFC 8785, section
// 3.2.2.3); false when it is out of range: not finite, or a whole number beyond
// ±(2^53−1). Every double beyond is whole.
func appendJSONNumber(b []byte, f float64) ([]byte, bool) {
	switch abs := math.Abs(f); {
	case !(abs <= MaxStateNumber):
		return append(b, '0'), false
	case f == 0:
		return append(b, '0'), true // minus zero too
	case abs >= 1e-6:
		return strconv.AppendFloat(b, f, 'f', -1, 64), true
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	if n := len(b); b[n-3] == '-' && b[n-2] == '0' { // Go writes e-09 where JavaScript writes e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b, true
}

// canon turns CBOR items into canonical JSON. What JSON has no value for is a
// fault, and reading goes on behind it; what is no CBOR is an error of r.
type canon struct {
	r        cborReader
	lastWins bool // of repeated keys: they come from JSON text
	fault    StateFault
	spare    []byte
}

func (c *canon) bad(f StateFault) {
	if c.fault == FaultNone {
		c.fault = f
	}
}

// value appends the next item.
func (c *canon) value(b []byte) []byte {
	r := &c.r
	switch first := r.peek(); first >> 5 {
	case majorUint, majorNint:
		major, n, _ := r.head()
		if n > MaxStateNumber || major == majorNint && n >= MaxStateNumber {
			c.bad(FaultNumber)
		}
		if major == majorNint {
			b, n = append(b, '-'), n+1
		}
		return strconv.AppendUint(b, n, 10)
	case majorText:
		return AppendJSONText(b, r.text())
	case majorArray:
		b = append(b, '[')
		n := 0
		for s := r.open(majorArray); r.more(&s); n++ {
			if n > 0 {
				b = append(b, ',')
			}
			b = c.value(b)
		}
		return append(b, ']')
	case majorMap:
		return c.object(b)
	case majorSimple:
		return c.simple(b, first)
	}
	c.bad(FaultValue)
	r.skip()
	return append(b, "null"...)
}

func (c *canon) simple(b []byte, first byte) []byte {
	r := &c.r
	switch first {
	case cborFalse:
		r.head()
		return append(b, "false"...)
	case cborTrue:
		r.head()
		return append(b, "true"...)
	case cborNull:
		r.head()
		return append(b, "null"...)
	case 0xf9, 0xfa, 0xfb:
		_, bits, _ := r.head()
		b, ok := appendJSONNumber(b, floatOf(first&31, bits))
		if !ok {
			c.bad(FaultNumber)
		}
		return b
	}
	c.bad(FaultValue)
	r.skip()
	return append(b, "null"...)
}

// member is where one member of an object lies in the text being written.
type member struct {
	key      string
	from, to int
}

func (c *canon) object(b []byte) []byte {
	r := &c.r
	start := len(b)
	b = append(b, '{')
	var few [16]member
	ms, sorted := few[:0], true
	for s := r.open(majorMap); r.more(&s); {
		key := r.key()
		if len(ms) > 0 {
			b = append(b, ',')
		}
		m := member{key: string(key), from: len(b)}
		b = append(AppendJSONText(b, key), ':')
		b = c.value(b)
		m.to = len(b)
		sorted = sorted && (len(ms) == 0 || CompareKeys(ms[len(ms)-1].key, m.key) < 0)
		ms = append(ms, m)
	}
	if !sorted {
		b = c.sort(b, start+1, ms)
	}
	return append(b, '}')
}

// sort puts the members, whose text begins at from, into order.
func (c *canon) sort(b []byte, from int, ms []member) []byte {
	slices.SortStableFunc(ms, func(x, y member) int { return CompareKeys(x.key, y.key) })
	old := append(c.spare[:0], b[from:]...)
	c.spare = old
	b = b[:from]
	for i := range ms {
		if i+1 < len(ms) && ms[i].key == ms[i+1].key {
			if !c.lastWins {
				c.bad(FaultValue)
			}
			continue
		}
		if len(b) > from {
			b = append(b, ',')
		}
		b = append(b, old[ms[i].from-from:ms[i].to-from]...)
	}
	return b
}

// pairedSurrogates says that no escape of a JSON text is half a character.
func pairedSurrogates(text []byte) bool {
	high := false
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 >= len(text) {
			if high {
				return false
			}
			continue
		}
		i++
		unit := uint64(0)
		if text[i] == 'u' && i+4 < len(text) {
			unit, _ = strconv.ParseUint(string(text[i+1:i+5]), 16, 32)
			i += 4
		}
		low := unit >= 0xdc00 && unit <= 0xdfff
		if high != low {
			return false
		}
		high = unit >= 0xd800 && unit <= 0xdbff
	}
	return !high
}
