package state

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"sessionfold/wire"
)

// delta reads a patch as a producer would send it.
func delta(patch string) *wire.StateRecord {
	return wire.DecodeState(false, wire.ContentJSON, []byte(`{"base_revision":0,"op_id":"x","patch":`+patch+`}`))
}

// canonical is a JSON text in canonical form.
func canonical(t *testing.T, text string) string {
	t.Helper()
	s := wire.DecodeState(true, wire.ContentJSON, []byte(`{"base_revision":0,"document":`+text+`}`))
	if s.Fault != wire.FaultNone {
		t.Fatalf("%s: %s", text, s.Fault)
	}
	return s.Document
}

// rfcCases: every rule of RFC 6902, sections 4 and 5, of RFC 6901 where patches
// meet it, and the situations of the RFC's appendix. A case with a fault leaves
// the document as it was.
var rfcCases = []struct {
	name, doc, patch, want string
	fault                  wire.StateFault
	at                     int
}{
	// add
	{"add a member to an object", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"baz":"qux","foo":"bar"}`, 0, 0},
	{"add inserts before the index", `{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`, 0, 0},
	{"add at the length appends", `[1,2]`, `[{"op":"add","path":"/2","value":3}]`, `[1,2,3]`, 0, 0},
	{"add at - appends", `[1,2]`, `[{"op":"add","path":"/-","value":3}]`, `[1,2,3]`, 0, 0},
	{"add at 0 of an empty array", `[]`, `[{"op":"add","path":"/0","value":1}]`, `[1]`, 0, 0},
	{"add at - of an empty array", `{"a":[]}`, `[{"op":"add","path":"/a/-","value":[]}]`, `{"a":[[]]}`, 0, 0},
	{"add an array value as one element", `{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`, 0, 0},
	{"add replaces a member that exists", `{"a":1}`, `[{"op":"add","path":"/a","value":{"b":null}}]`, `{"a":{"b":null}}`, 0, 0},
	{"add a nested object", `{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"child":{"grandchild":{}},"foo":"bar"}`, 0, 0},
	{"add null", `{}`, `[{"op":"add","path":"/a","value":null}]`, `{"a":null}`, 0, 0},
	{"add an empty key", `{}`, `[{"op":"add","path":"/","value":1}]`, `{"":1}`, 0, 0},
	{"add replaces the root", `{"a":1}`, `[{"op":"add","path":"","value":[1]}]`, `[1]`, 0, 0},
	{"a numeric token is a key of an object", `{}`, `[{"op":"add","path":"/01","value":1}]`, `{"01":1}`, 0, 0},
	{"- is a key of an object", `{}`, `[{"op":"add","path":"/-","value":1}]`, `{"-":1}`, 0, 0},
	{"unknown members are ignored", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123,"from":7}]`, `{"baz":"qux","foo":"bar"}`, 0, 0},
	{"the order of members does not matter", `{}`, `[{"value":1,"path":"/a","op":"add"}]`, `{"a":1}`, 0, 0},
	{"add below something that is not there", `{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, ``, wire.FaultPath, 0},
	{"add beyond the end", `[1]`, `[{"op":"add","path":"/2","value":1}]`, ``, wire.FaultIndex, 0},
	{"add with a leading zero", `[1,2]`, `[{"op":"add","path":"/01","value":1}]`, ``, wire.FaultIndex, 0},
	{"add with a sign", `[1,2]`, `[{"op":"add","path":"/+1","value":1}]`, ``, wire.FaultIndex, 0},
	{"add with a negative index", `[1,2]`, `[{"op":"add","path":"/-1","value":1}]`, ``, wire.FaultIndex, 0},
	{"add with a word as index", `[1,2]`, `[{"op":"add","path":"/one","value":1}]`, ``, wire.FaultIndex, 0},
	{"add with an index beyond all numbers", `[1]`, `[{"op":"add","path":"/99999999999999999999","value":1}]`, ``, wire.FaultIndex, 0},
	{"add with an empty index", `[1]`, `[{"op":"add","path":"/","value":1}]`, ``, wire.FaultIndex, 0},
	{"add into a scalar", `{"a":1}`, `[{"op":"add","path":"/a/b","value":1}]`, ``, wire.FaultPath, 0},
	{"add through -", `{"a":[[]]}`, `[{"op":"add","path":"/a/-/0","value":1}]`, ``, wire.FaultIndex, 0},
	// remove
	{"remove a member", `{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`, 0, 0},
	{"remove closes the gap", `{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`, 0, 0},
	{"remove the last one", `{"a":1}`, `[{"op":"remove","path":"/a"}]`, `{}`, 0, 0},
	{"remove a null", `{"a":null}`, `[{"op":"remove","path":"/a"}]`, `{}`, 0, 0},
	{"remove what is not there", `{"a":1}`, `[{"op":"remove","path":"/b"}]`, ``, wire.FaultPath, 0},
	{"remove beyond the end", `[1]`, `[{"op":"remove","path":"/1"}]`, ``, wire.FaultIndex, 0},
	{"remove at -", `[1]`, `[{"op":"remove","path":"/-"}]`, ``, wire.FaultIndex, 0},
	{"remove the root", `{"a":1}`, `[{"op":"remove","path":""}]`, ``, wire.FaultRoot, 0},
	// replace
	{"replace a value", `{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`, 0, 0},
	{"replace an element", `[1,2,3]`, `[{"op":"replace","path":"/1","value":{"x":0}}]`, `[1,{"x":0},3]`, 0, 0},
	{"replace the root", `{"a":1}`, `[{"op":"replace","path":"","value":"x"}]`, `"x"`, 0, 0},
	{"replace what is not there", `{"a":1}`, `[{"op":"replace","path":"/b","value":1}]`, ``, wire.FaultPath, 0},
	{"replace at -", `[1]`, `[{"op":"replace","path":"/-","value":1}]`, ``, wire.FaultIndex, 0},
	// move
	{"move a value", `{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`,
		`{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`, 0, 0},
	{"move within an array", `{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`, 0, 0},
	{"move counts after the removal", `[1,2,3]`, `[{"op":"move","from":"/0","path":"/3"}]`, ``, wire.FaultIndex, 0},
	{"move to -", `[1,2,3]`, `[{"op":"move","from":"/0","path":"/-"}]`, `[2,3,1]`, 0, 0},
	{"move onto a member", `{"a":1,"b":2}`, `[{"op":"move","from":"/a","path":"/b"}]`, `{"b":1}`, 0, 0},
	{"move to where it is", `{"a":1}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":1}`, 0, 0},
	{"move to the root", `{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":""}]`, `{"b":1}`, 0, 0},
	{"move into itself", `{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, ``, wire.FaultInside, 0},
	{"a key that only begins alike is not inside", `{"a":1,"ab":{}}`, `[{"op":"move","from":"/a","path":"/ab/c"}]`, `{"ab":{"c":1}}`, 0, 0},
	{"move the root into itself", `{"a":1}`, `[{"op":"move","from":"","path":"/b"}]`, ``, wire.FaultInside, 0},
	{"move the root onto itself", `{"a":1}`, `[{"op":"move","from":"","path":""}]`, ``, wire.FaultRoot, 0},
	{"move what is not there", `{"a":1}`, `[{"op":"move","from":"/b","path":"/a"}]`, ``, wire.FaultPath, 0},
	// copy
	{"copy a value", `{"a":{"b":[1]}}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/b/-","value":2}]`, `{"a":{"b":[1]},"c":{"b":[1,2]}}`, 0, 0},
	{"copy inserts into an array", `[1,2]`, `[{"op":"copy","from":"/1","path":"/0"}]`, `[2,1,2]`, 0, 0},
	{"copy into itself", `{"a":{}}`, `[{"op":"copy","from":"/a","path":"/a/b"}]`, `{"a":{"b":{}}}`, 0, 0},
	{"copy the root into itself", `{"a":1}`, `[{"op":"copy","from":"","path":"/b"}]`, `{"a":1,"b":{"a":1}}`, 0, 0},
	{"copy what is not there", `[1]`, `[{"op":"copy","from":"/1","path":"/0"}]`, ``, wire.FaultIndex, 0},
	{"copy from -", `[1]`, `[{"op":"copy","from":"/-","path":"/0"}]`, ``, wire.FaultIndex, 0},
	// test
	{"test passes", `{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`, 0, 0},
	{"test fails", `{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, ``, wire.FaultTest, 0},
	{"text and number differ", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, ``, wire.FaultTest, 0},
	{"numbers are equal by value", `{"a":10}`, `[{"op":"test","path":"/a","value":1.00e1}]`, `{"a":10}`, 0, 0},
	{"objects are equal in any order", `{"a":{"x":1,"y":[null,true]}}`, `[{"op":"test","path":"/a","value":{"y":[null,true],"x":1}}]`, `{"a":{"x":1,"y":[null,true]}}`, 0, 0},
	{"arrays are equal in order only", `[1,2]`, `[{"op":"test","path":"","value":[2,1]}]`, ``, wire.FaultTest, 0},
	{"escapes make no difference", `{"a":"A/"}`, `[{"op":"test","path":"/a","value":"\u0041\/"}]`, `{"a":"A/"}`, 0, 0},
	{"null is not absence", `{}`, `[{"op":"test","path":"/a","value":null}]`, ``, wire.FaultPath, 0},
	{"false is not null", `{"a":null}`, `[{"op":"test","path":"/a","value":false}]`, ``, wire.FaultTest, 0},
	{"test sees what came before", `{}`, `[{"op":"add","path":"/a","value":1},{"op":"test","path":"","value":{"a":1}}]`, `{"a":1}`, 0, 0},
	// pointers
	{"escapes of a pointer", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~1","value":9},{"op":"test","path":"/~01","value":10},{"op":"remove","path":"/~01"}]`, `{"/":9}`, 0, 0},
	{"~0 and ~1 write", `{}`, `[{"op":"add","path":"/a~1b~0c","value":1}]`, `{"a/b~c":1}`, 0, 0},
	{"an escape that is none", `{}`, `[{"op":"add","path":"/a~2","value":1}]`, ``, wire.FaultPointer, 0},
	{"an escape that ends early", `{}`, `[{"op":"add","path":"/a~","value":1}]`, ``, wire.FaultPointer, 0},
	{"a pointer without a slash", `{"a":1}`, `[{"op":"remove","path":"a"}]`, ``, wire.FaultPointer, 0},
	{"from is no pointer", `{"a":1}`, `[{"op":"copy","from":"a","path":"/b"}]`, ``, wire.FaultPointer, 0},
	{"keys need their escapes in JSON", `{"a\"b":{"\u0001":1,"\\":2}}`, `[{"op":"remove","path":"/a\"b/\u0001"},{"op":"test","path":"/a\"b/\\","value":2}]`, `{"a\"b":{"\\":2}}`, 0, 0},
	{"empty keys in a row", `{"":{"":[7]}}`, `[{"op":"replace","path":"///0","value":8}]`, `{"":{"":[8]}}`, 0, 0},
	// as a whole
	{"no operations", `{"a":1}`, `[]`, `{"a":1}`, 0, 0},
	{"operations see each other", `{}`, `[{"op":"add","path":"/a","value":[]},{"op":"add","path":"/a/0","value":1},{"op":"add","path":"/a/0","value":2},{"op":"move","from":"/a/1","path":"/b"}]`, `{"a":[2],"b":1}`, 0, 0},
	{"a later failure undoes all", `{"a":1}`, `[{"op":"replace","path":"/a","value":42},{"op":"remove","path":"/c"}]`, ``, wire.FaultPath, 1},
	{"a failed test undoes all", `{"a":1}`, `[{"op":"remove","path":"/a"},{"op":"test","path":"","value":{"a":1}}]`, ``, wire.FaultTest, 1},
	// operations that are none
	{"an unknown word", `{}`, `[{"op":"merge","path":"/a","value":1}]`, ``, wire.FaultOperation, 0},
	{"words are exact", `{}`, `[{"op":"Add","path":"/a","value":1}]`, ``, wire.FaultOperation, 0},
	{"no path", `{}`, `[{"op":"add","value":1}]`, ``, wire.FaultOperation, 0},
	{"no value", `{}`, `[{"op":"add","path":"/a"}]`, ``, wire.FaultOperation, 0},
	{"no from", `{}`, `[{"op":"move","path":"/a"}]`, ``, wire.FaultOperation, 0},
	{"a path that is no text", `{}`, `[{"op":"remove","path":["a"]}]`, ``, wire.FaultOperation, 0},
	{"no object", `{}`, `["remove"]`, ``, wire.FaultOperation, 0},
	{"of a repeated member the last counts", `{"a":1}`, `[{"op":"add","path":"/b","value":1,"op":"remove","path":"/a"}]`, `{}`, 0, 0},
}

func TestRFC6902(t *testing.T) {
	for _, c := range rfcCases {
		t.Run(c.name, func(t *testing.T) {
			before := canonical(t, c.doc)
			d := Parse(before)
			rec := delta(c.patch)
			if rec.Malformed {
				t.Fatalf("malformed: %s", rec.Fault)
			}
			var got *Document
			fault := &Fault{rec.Fault, rec.FaultAt}
			if rec.Fault == wire.FaultNone {
				got, fault = d.Apply(rec.Patch)
			}
			if text := d.Text(); text != before {
				t.Errorf("the document itself changed to %s", text)
			}
			if c.fault != wire.FaultNone {
				if fault == nil || fault.Why != c.fault || fault.At != c.at {
					t.Fatalf("fault %v, want %q at %d", fault, c.fault, c.at)
				}
				return
			}
			if got == nil {
				t.Fatalf("fault %v", fault)
			}
			checkDocument(t, got, canonical(t, c.want))
		})
	}
}

// checkDocument holds text, size and digest of a document together.
func checkDocument(t interface {
	Helper()
	Fatalf(string, ...any)
}, d *Document, want string) {
	t.Helper()
	text := d.Text()
	if text != want {
		t.Fatalf("document\n%s, want\n%s", clip(text), clip(want))
	}
	if d.Size() != len(text) {
		t.Fatalf("size %d, the text has %d bytes", d.Size(), len(text))
	}
	if d.Digest() != sha256.Sum256([]byte(text)) {
		t.Fatalf("the digest is not that of %s", clip(text))
	}
	if _, depth := skipValue(text, 0); int(d.root.depth) != depth {
		t.Fatalf("depth %d, the text nests %d deep", d.root.depth, depth)
	}
}

func clip(s string) string {
	if len(s) > 400 {
		return fmt.Sprintf("%s… (%d bytes)", s[:400], len(s))
	}
	return s
}

func TestLimits(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	d := Parse(`{"a":` + nest(254) + `}`) // 255 levels
	if _, fault := d.Apply([]wire.PatchOp{{Kind: wire.PatchAdd, Path: "/a" + strings.Repeat("/0", 253) + "/0", Value: "[]"}}); fault != nil {
		t.Errorf("256 levels: %v", fault)
	}
	if _, fault := d.Apply([]wire.PatchOp{{Kind: wire.PatchAdd, Path: "/a" + strings.Repeat("/0", 253) + "/0", Value: "[[]]"}}); fault == nil || fault.Why != wire.FaultDepth {
		t.Errorf("257 levels: %v", fault)
	}
	if _, fault := d.Apply([]wire.PatchOp{{Kind: wire.PatchMove, From: "/a", Path: ""}, {Kind: wire.PatchCopy, Path: "/-"}, {Kind: wire.PatchCopy, Path: "/-"}, {Kind: wire.PatchCopy, Path: "/-"}}); fault == nil || *fault != (Fault{wire.FaultDepth, 3}) {
		t.Errorf("a copy that goes too deep: %v", fault)
	}
	// {"a":"…"} has 8 bytes around the text.
	full := `"` + strings.Repeat("x", wire.MaxStateBytes-8) + `"`
	got, fault := Empty.Apply([]wire.PatchOp{{Kind: wire.PatchAdd, Path: "/a", Value: full}})
	if fault != nil || got.Size() != wire.MaxStateBytes {
		t.Fatalf("the largest document: %v", fault)
	}
	for _, op := range []wire.PatchOp{
		{Kind: wire.PatchAdd, Path: "/b", Value: "1"}, {Kind: wire.PatchCopy, From: "/a", Path: "/b"},
		{Kind: wire.PatchReplace, Path: "/a", Value: full[:len(full)-1] + `x"`},
	} {
		if _, fault := got.Apply([]wire.PatchOp{op}); fault == nil || fault.Why != wire.FaultDocumentSize {
			t.Errorf("%s beyond 8 MiB: %v", op.Kind, fault)
		}
	}
	// Doubling a document with every operation of a patch stops at the limit.
	double := make([]wire.PatchOp, wire.MaxPatchOps)
	for i := range double {
		double[i] = wire.PatchOp{Kind: wire.PatchCopy, From: "", Path: fmt.Sprintf("/%d", i)}
	}
	if _, fault := Parse(`{"a":"0123456789"}`).Apply(double); fault == nil || fault.Why != wire.FaultDocumentSize {
		t.Errorf("doubling: %v", fault)
	}
}
