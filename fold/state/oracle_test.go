package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"sessionfold/wire"
)

// keys of drawn objects. The library takes the empty one for the object itself;
// rfcCases has it.
var keys = []string{"a", "b", "aa", "/", "~", "é", "\uffee", "\U0001f600", "\"", "\\", "\n", "\x01", "0", "-", "k\x7f"}

func genKey() *rapid.Generator[string] { return rapid.SampledFrom(keys) }

// genValue draws a JSON value as Go's json package writes it.
func genValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 8).Draw(t, "kind")
		if depth == 0 {
			kind %= 6
		}
		switch kind {
		case 0:
			return "null" // the library drops nulls and takes them for objects; rfcCases has them
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64Range(-wire.MaxStateNumber, wire.MaxStateNumber).Draw(t, "int")
		case 3:
			return rapid.Float64Range(-1e9, 1e9).Draw(t, "float")
		case 4:
			return rapid.Float64Range(-1e-5, 1e-5).Draw(t, "small")
		case 5:
			return rapid.StringN(0, 12, -1).Draw(t, "text")
		case 6:
			return rapid.SliceOfN(genValue(depth-1), 0, 60).Draw(t, "array")
		}
		m := map[string]any{}
		for range rapid.IntRange(0, 5).Draw(t, "members") {
			m[genKey().Draw(t, "key")] = genValue(depth-1).Draw(t, "member")
		}
		return m
	})
}

func marshal(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// paths lists the pointers of a value.
func paths(v any, at string, out []string) []string {
	out = append(out, at)
	switch v := v.(type) {
	case []any:
		for i := range v {
			out = paths(v[i], fmt.Sprintf("%s/%d", at, i), out)
		}
	case map[string]any:
		for _, k := range keys {
			if e, ok := v[k]; ok {
				out = paths(e, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k), out)
			}
		}
	}
	return out
}

// genOp draws an operation on a document, most of them possible. The library
// that they are held against has its own mind about the root, so it is left out.
func genOp(t *rapid.T, doc string) map[string]any {
	var v any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	known := paths(v, "", nil)[1:]
	path := func(label string) string {
		p := ""
		if len(known) > 0 && rapid.IntRange(0, 9).Draw(t, label+" known") > 0 {
			p = rapid.SampledFrom(known).Draw(t, label)
		}
		switch rapid.IntRange(0, 5).Draw(t, label+" end") {
		case 0:
			p += "/-"
		case 1:
			p += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(genKey().Draw(t, label+" key"))
		}
		if p == "" {
			p = "/a"
		}
		return p
	}
	op := map[string]any{"op": rapid.SampledFrom([]string{"add", "add", "add", "remove", "replace", "move", "copy", "test"}).Draw(t, "op"), "path": path("path")}
	switch op["op"] {
	case "move", "copy":
		op["from"] = path("from")
	case "add", "replace":
		op["value"] = genValue(1).Draw(t, "value")
	case "test":
		op["value"] = 0
		if d, _, why := look(Parse(doc).root, must(tokens(op["path"].(string)))); why == wire.FaultNone && rapid.Bool().Draw(t, "passes") {
			op["value"] = json.RawMessage(d.text)
		}
	}
	return op
}

func must(ts []string, _ wire.StateFault) []string { return ts }

// TestPatchAgainstLibrary: documents of many shapes and sizes, patched again and
// again, agree with evanphx/json-patch, and their text with gowebpki/jcs.
func TestPatchAgainstLibrary(t *testing.T) {
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = false
	options.EscapeHTML = false
	rapid.Check(t, func(t *rapid.T) {
		first := marshal(genValue(3).Draw(t, "document"))
		if first[0] != '{' && first[0] != '[' {
			first = "[" + first + "]" // the library takes nothing else
		}
		text, err := jcs.Transform([]byte(first))
		if err != nil {
			t.Fatal(err)
		}
		d := Parse(string(text))
		for range rapid.IntRange(1, 12).Draw(t, "patches") {
			op := genOp(t, string(text))
			patch := marshal([]any{op})
			rec := delta(patch)
			if rec.Fault != wire.FaultNone {
				t.Fatalf("%s: %s", patch, rec.Fault)
			}
			next, fault := d.Apply(rec.Patch)
			if inside(op) {
				if fault == nil {
					t.Fatalf("%s was applied", patch)
				}
				continue
			}
			p, err := jsonpatch.DecodePatch([]byte(patch))
			if err != nil {
				t.Fatal(err)
			}
			want, err := p.ApplyWithOptions(text, options)
			if (err != nil) != (fault != nil) {
				t.Fatalf("%s on %s: %v, the library says %v", patch, text, fault, err)
			}
			if err != nil {
				continue
			}
			if text, err = jcs.Transform(want); err != nil {
				t.Fatal(err)
			}
			d = next
			checkDocument(t, d, string(text))
		}
	})
}

// inside: the library moves values into themselves.
func inside(op map[string]any) bool {
	from, ok := op["from"].(string)
	return ok && op["op"] == "move" && strings.HasPrefix(op["path"].(string), from+"/")
}
