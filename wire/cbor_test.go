package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// reference is the library that the scanner is held against.
func reference(t testing.TB) cbor.DecMode {
	t.Helper()
	m, err := cbor.DecOptions{MaxNestedLevels: maxCBORNesting, MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// FuzzCBOR: the scanner and the library agree on what is well formed, but for
// text that is no UTF-8, which only the scanner looks at.
func FuzzCBOR(f *testing.F) {
	for _, b := range [][]byte{{0xa0}, {0x9f, 1, 0xff}, {0x7f, 0x61, 'a', 0xff}, {0xf9, 0x7e, 0}, {0xf8, 24}, {0xf8, 32}, {0xc1, 1}, {0xfc}, {0xff}, {0x1f}, {0x3f}, {0xdf, 1}, {0x1c}, {0x3d}, {0x5e}, {0x7c}, {0x9d}, {0xbe}, {0xdc, 1}, {0xf8, 31}, {0x18}, {0x59, 1}, {0xbf, 1, 0xff}, event().Marshal()} {
		f.Add(b)
	}
	for n := 126; n < 131; n++ {
		f.Add([]byte(nest(n, un(1))))
		f.Add([]byte(cat(bytes.Repeat(item{0xc1}, n), un(1))))
		f.Add([]byte(cat(bytes.Repeat(item{0x9f}, n), bytes.Repeat(item{0xff}, n))))
	}
	mode := reference(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := cborReader{b: b}
		r.skip()
		err := r.end()
		if err == errCBORUTF8 {
			return
		}
		if err == errCBORNesting && hasTag(b) {
			return // the library counts the levels of tags in another way
		}
		if ref := mode.Wellformed(b); (ref == nil) != (err == nil) {
			t.Fatalf("%x: %v, by the library %v", b, err, ref)
		}
		if err == nil && r.depth != 0 {
			t.Fatalf("%x: %d levels are left open", b, r.depth)
		}
	})
}

// hasTag says that a byte could be the head of a tag.
func hasTag(b []byte) bool {
	for _, c := range b {
		if c>>5 == majorTag {
			return true
		}
	}
	return false
}

func TestHeadsAreShortest(t *testing.T) {
	for _, n := range []uint64{0, 23, 24, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, math.MaxUint64} {
		want, err := cbor.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendUint(nil, n); !bytes.Equal(got, want) {
			t.Errorf("%d is written as %x, want %x", n, got, want)
		}
		r := cborReader{b: appendUint(nil, n)}
		if back := r.uint(math.MaxUint64); back != n || r.end() != nil {
			t.Errorf("%d reads back as %d, %v", n, back, r.err)
		}
	}
}

func TestFloats(t *testing.T) {
	enc, err := cbor.EncOptions{ShortestFloat: cbor.ShortestFloat16, NaNConvert: cbor.NaNConvert7e00}.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	check := func(f float64) {
		want, err := enc.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		got := appendFloat(nil, f)
		if !bytes.Equal(got, want) {
			t.Fatalf("%v is written as %x, want %x", f, got, want)
		}
		r := cborReader{b: got}
		_, bits, _ := r.head()
		if back := floatOf(got[0]&31, bits); math.Float64bits(back) != math.Float64bits(f) && f == f {
			t.Fatalf("%v reads back as %v", f, back)
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, 1.5, -2, 65504, 65505, 65536, 5.960464477539063e-08, 6.103515625e-05, 6.097555160522461e-05,
		2.98e-08, 1e-45, 3.4028234663852886e38, 1e300, 5e-324, math.Inf(1), math.Inf(-1), math.NaN(), 0.1, 0.25, 1.0 / 3} {
		check(f)
	}
	for h := range 1 << 16 { // every half
		if f := floatOf(25, uint64(h)); f == f {
			check(f)
		}
	}
	// What the library reads of every half is what this package reads.
	for h := range 1 << 16 {
		var want float64
		if err := cbor.Unmarshal(binary.BigEndian.AppendUint16([]byte{0xf9}, uint16(h)), &want); err != nil {
			t.Fatal(err)
		}
		if got := floatOf(25, uint64(h)); got != want && (got == got || want == want) {
			t.Fatalf("half %04x is %v, want %v", h, got, want)
		}
	}
}
