package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

func TestJSONScanner(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for in, ok := range map[string]bool{
		`{}`: true, `[]`: true, ` {"a" : [1 , -2.5e+3, true, false, null, "x\n\u00e9"] } `: true, `"x"`: true, `"\u09aF"`: true, `"\uA9f0"`: true, `"\u00g0"`: false, `"\u00:0"`: false, "\"\\u00`0\"": false, `0`: true, `-0.5`: true, `1e9`: true,
		"": false, ` `: false, `{`: false, `}`: false, `{]`: false, `[1,]`: false, `{"a"}`: false, `{"a":}`: false, `{"a":1,}`: false, `{a:1}`: false,
		`{"a":1 "b":2}`: false, `[1 2]`: false, `01`: false, `1.`: false, `.5`: false, `1e`: false, `-`: false, `+1`: false, `NaN`: false, `Infinity`: false,
		`tru`: false, `nulll`: false, `"x`: false, `"\x"`: false, `"\u12"`: false, `"\u12g4"`: false, "\"a\nb\"": false, `"a" "b"`: false, `'a'`: false,
		"\ufeff{}": false, `{"a":1}}`: false, `[,1]`: false,
		deep(256): true, deep(257): false, deep(1_000_000): false, strings.Repeat(`{"a":`, 1_000_000): false,
	} {
		r := jsonReader{b: []byte(in)}
		r.skip()
		if got := r.end(); got != ok {
			t.Errorf("%.40q is read: %v, want %v", in, got, ok)
		}
		if _, got := cborOf([]byte(in)); got != ok {
			t.Errorf("%.40q becomes CBOR: %v, want %v", in, got, ok)
		}
	}
}

// FuzzJSON: what this scanner reads, the standard library reads too, and the
// CBOR that is made of it means the same.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2,3.5,"x\u00e9",null,true]}`, `18446744073709551615`, `-9223372036854775808`, `1e400`, `-0`, `[[[]]]`, `"\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := jsonReader{b: b}
		r.skip()
		ok := r.end()
		if std := json.Valid(b); ok != std && !(std && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) > maxJSONNesting) {
			t.Fatalf("%q is read: %v, by encoding/json: %v", b, ok, std)
		}
		c, made := cborOf(b)
		if made != ok {
			t.Fatalf("%q is read: %v, made CBOR: %v", b, ok, made)
		}
		if !ok || !bytes.Equal(b, bytes.ToValidUTF8(b, nil)) {
			return
		}
		var want, got any
		if json.Unmarshal(b, &want) != nil { // a number out of range
			return
		}
		if err := cbor.Unmarshal(c, &got); err != nil {
			t.Fatalf("%q became CBOR that does not read: %v", b, err)
		}
		if !sameJSON(want, got) {
			t.Fatalf("%q means %v as JSON and %v as CBOR", b, want, got)
		}
	})
}

func sameJSON(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[any]any)
		for k, v := range w {
			ok = ok && sameJSON(v, g[k])
		}
		return ok && len(w) == len(g)
	case []any:
		g, ok := got.([]any)
		ok = ok && len(w) == len(g)
		for i := range w {
			ok = ok && sameJSON(w[i], g[i])
		}
		return ok
	case float64:
		switch g := got.(type) {
		case uint64:
			return float64(g) == w
		case int64:
			return float64(g) == w
		case float64:
			return g == w || math.IsNaN(g)
		}
		return false
	}
	return reflect.DeepEqual(want, got)
}
