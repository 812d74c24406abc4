package wire

import (
	"encoding/binary"
	"math"
)

// appendHead writes an initial byte with its argument in the shortest form.
func appendHead(b []byte, major byte, n uint64) []byte {
	m := major << 5
	switch {
	case n < 24:
		return append(b, m|byte(n))
	case n <= math.MaxUint8:
		return append(b, m|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, m|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, m|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, m|27), n)
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(appendHead(b, majorText, uint64(len(s))), s...)
}

func appendBytes(b, s []byte) []byte {
	return append(appendHead(b, majorBytes, uint64(len(s))), s...)
}

func appendUint(b []byte, n uint64) []byte { return appendHead(b, majorUint, n) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, cborTrue)
	}
	return append(b, cborFalse)
}

// appendFloat writes a float in the shortest form that keeps its value.
func appendFloat(b []byte, f float64) []byte {
	if f != f {
		return append(b, 0xf9, 0x7e, 0x00)
	}
	f32 := float32(f)
	if float64(f32) != f {
		return binary.BigEndian.AppendUint64(append(b, 0xfb), math.Float64bits(f))
	}
	if h, ok := halfOf(f32); ok {
		return binary.BigEndian.AppendUint16(append(b, 0xf9), h)
	}
	return binary.BigEndian.AppendUint32(append(b, 0xfa), math.Float32bits(f32))
}

// halfOf gives the half-precision bits of f when they hold it exactly.
func halfOf(f float32) (uint16, bool) {
	bits := math.Float32bits(f)
	sign := uint16(bits>>16) & 0x8000
	exp := int(bits>>23&0xff) - 127
	frac := bits & 0x7fffff
	switch {
	case bits&0x7fffffff == 0:
		return sign, true
	case exp == 128: // infinity; NaN never comes here
		return sign | 0x7c00, true
	case exp >= -14 && exp <= 15 && frac&0x1fff == 0:
		return sign | uint16(exp+15)<<10 | uint16(frac>>13), true
	case exp >= -24 && exp < -14:
		shift := uint(-exp - 1) // of the full 24-bit significand
		full := frac | 0x800000
		if full&(1<<shift-1) == 0 {
			return sign | uint16(full>>shift), true
		}
	}
	return 0, false
}

// floatOf turns the bits of a half, single or double float into its value.
func floatOf(info byte, bits uint64) float64 {
	switch info {
	case 25:
		h := uint32(bits)
		sign, exp, frac := h&0x8000<<16, h>>10&0x1f, h&0x3ff
		switch exp {
		case 0:
			v := math.Ldexp(float64(frac), -24)
			if sign != 0 {
				v = math.Copysign(v, -1)
			}
			return v
		case 31:
			return float64(math.Float32frombits(sign | 0x7f800000 | frac<<13))
		}
		return float64(math.Float32frombits(sign | (exp+112)<<23 | frac<<13))
	case 26:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}
