package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

// TestCompareKeys: the order is that of UTF-16 code units.
func TestCompareKeys(t *testing.T) {
	runes := rapid.SampledFrom([]rune{'a', 'b', 0x7f, 0xe9, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfeff, 0xffff, 0x10000, 0x1f600, 0x10ffff})
	rapid.Check(t, func(t *rapid.T) {
		a, b := string(rapid.SliceOfN(runes, 0, 4).Draw(t, "a")), string(rapid.SliceOfN(runes, 0, 4).Draw(t, "b"))
		if got, want := CompareKeys(a, b), slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))); got != want {
			t.Fatalf("%+q and %+q compare %d, want %d", a, b, got, want)
		}
	})
}

// TestJSONNumbers: numbers are written as RFC 8785 wants them, appendix B among
// them, and the range ends at 2^53−1.
func TestJSONNumbers(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 5e-324: "5e-324", -5e-324: "-5e-324", 1e-7: "1e-7", 1.5e-9: "1.5e-9", 1e-10: "1e-10", 1e-6: "0.000001",
		9007199254740991: "9007199254740991", -9007199254740991: "-9007199254740991", 333333333.33333329: "333333333.3333333", 12.0: "12",
		0.1: "0.1", 1.1125369292536007e-308: "1.1125369292536007e-308", 4503599627370495.5: "4503599627370495.5",
	} {
		if got, ok := appendJSONNumber(nil, f); string(got) != want || !ok {
			t.Errorf("%g: %s, %v, want %s", f, got, ok, want)
		}
	}
	for _, f := range []float64{9007199254740992, -9007199254740992, 1e21, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()} {
		if got, ok := appendJSONNumber(nil, f); ok {
			t.Errorf("%g is in range as %s", f, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(-MaxStateNumber, MaxStateNumber).Draw(t, "number")
		got, _ := appendJSONNumber(nil, f)
		if want, err := jcs.NumberToJSON(f); err != nil || string(got) != want {
			t.Fatalf("%g: %s, want %s", f, got, want)
		}
	})
}

// TestStateLimits: what is counted and where it ends.
func TestStateLimits(t *testing.T) {
	delta := func(patch string) *StateRecord {
		return DecodeState(false, ContentJSON, []byte(`{"base_revision":0,"op_id":"x","patch":`+patch+`}`))
	}
	op := `{"op":"remove","path":"/a"}`
	if s := delta("[" + strings.Repeat(op+",", 255) + op + "]"); s.Fault != FaultNone || len(s.Patch) != 256 {
		t.Errorf("256 operations: %s", s.Fault)
	}
	if s := delta("[" + strings.Repeat(op+",", 256) + op + "]"); s.Fault != FaultOperations || s.Malformed || string(s.OpID) != "x" {
		t.Errorf("257 operations: %s", s.Fault)
	}
	patch := func(n int) string {
		return `[{"op":"add","path":"/a","value":"` + strings.Repeat("x", n) + `"}]`
	}
	over := len(patch(0))
	if s := delta(patch(MaxStateBytes - over)); s.Fault != FaultNone || s.Size != MaxStateBytes {
		t.Errorf("a patch of 8 MiB: %s, size %d", s.Fault, s.Size)
	}
	if s := delta(patch(MaxStateBytes - over + 1)); s.Fault != FaultPatchSize || s.Malformed {
		t.Errorf("a larger patch: %s", s.Fault)
	}
	document := func(n int) *StateRecord {
		return DecodeState(true, ContentJSON, []byte(`{"document":"`+strings.Repeat("x", n-2)+`","base_revision":0}`))
	}
	if s := document(MaxStateBytes); s.Fault != FaultNone || s.Size != MaxStateBytes {
		t.Errorf("a document of 8 MiB: %s", s.Fault)
	}
	if s := document(MaxStateBytes + 1); s.Fault != FaultDocumentSize {
		t.Errorf("a larger document: %s", s.Fault)
	}
	nested := func(n int) string {
		return `{"base_revision":0,"document":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	if s := DecodeState(true, ContentJSON, []byte(nested(255))); s.Fault != FaultNone {
		t.Errorf("a JSON body of 256 levels: %s", s.Fault)
	}
	if s := DecodeState(true, ContentJSON, []byte(nested(256))); s.Fault != FaultUnreadable {
		t.Errorf("a JSON body of 257 levels: %s", s.Fault)
	}
}

// TestPatchSize: the size is that of the canonical patch with the members that
// each operation takes.
func TestPatchSize(t *testing.T) {
	text := `[{"op":"add","path":"/a\n\"é","value":{"k":[1.5,null]}},{"from":"/\u0001","op":"move","path":""},{"op":"copy","from":"/x","path":"/y"},{"op":"remove","path":"/a"},{"op":"test","path":"/b","value":"\\"}]`
	s := DecodeState(false, ContentJSON, []byte(`{"base_revision":0,"op_id":"x","patch":`+text+`}`))
	want, err := jcs.Transform([]byte(text))
	if err != nil || s.Size != len(want) {
		t.Errorf("size %d, want %d (%v)", s.Size, len(want), err)
	}
}

// FuzzStateJSON: no body panics; a document that is taken is the canonical form
// that the library gives.
func FuzzStateJSON(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `[1.0,-0,1e-7,"\ud83d\ude00\u0000"]`, `{"\ue000":1,"\ud83d\ude00":2,"a":{"b":[]}}`, `"\ud800"`, `1e400`, `{"a":1,"a":2}`, `nul`, "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := DecodeState(true, ContentJSON, []byte(`{"base_revision":3,"document":`+text+`}`))
		checkState(t, s)
		if s.Fault != FaultNone || s.Base != 3 {
			return // text may close the body and say more
		}
		want, err := jcs.Transform([]byte(`[` + text + `]`))
		if err == nil && "["+s.Document+"]" != string(want) && !strings.Contains(text, `"document"`) {
			t.Errorf("%q became %s, the library says %s", text, s.Document, want)
		}
	})
}

// FuzzState: no body of either kind and encoding panics, and what comes out is
// canonical.
func FuzzState(f *testing.F) {
	f.Add(false, uint8(1), []byte(`{"base_revision":1,"op_id":"a","patch":[{"op":"add","path":"/a","value":[1]},{"op":"move","from":"/a","path":"/b"}]}`))
	f.Add(true, uint8(3), []byte("\xa2\x6dbase_revision\x00\x68document\xa2\x61b\x01\x61a\xf9\x3e\x00"))
	f.Add(false, uint8(3), []byte("\xbf\x6dbase_revision\x00\x65op_id\x61x\x65patch\x9f\xa2\x62op\x66remove\x64path\x62/a\xff\xff"))
	f.Fuzz(func(t *testing.T, snapshot bool, content uint8, body []byte) {
		checkState(t, DecodeState(snapshot, ContentType(content), body))
	})
}

func checkState(t *testing.T, s *StateRecord) {
	t.Helper()
	if s.Malformed && s.Fault == FaultNone {
		t.Fatal("malformed without a reason")
	}
	if s.Fault != FaultNone {
		return
	}
	values := []string{}
	if s.Snapshot {
		values = append(values, s.Document)
	} else if len(s.OpID) == 0 || len(s.Patch) > MaxPatchOps {
		t.Fatalf("a delta with id %q and %d operations", s.OpID, len(s.Patch))
	}
	for i := range s.Patch {
		if s.Patch[i].Kind.String() == "" {
			t.Fatal("an operation without a word")
		}
		if s.Patch[i].Kind.HasValue() {
			values = append(values, s.Patch[i].Value)
		}
	}
	for _, v := range values {
		if !json.Valid([]byte(v)) {
			t.Fatalf("no JSON: %q", v)
		}
		again := DecodeState(true, ContentJSON, fmt.Appendf(nil, `{"base_revision":0,"document":%s}`, v))
		if again.Fault != FaultNone || again.Document != v {
			t.Fatalf("not canonical: %q, again %q (%s)", v, again.Document, again.Fault)
		}
	}
}
