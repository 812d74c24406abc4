package state

import (
	"testing"

	"sessionfold/wire"
)

// FuzzPatch: whatever patch meets whatever document, nothing panics, a failure
// leaves the document alone, and a success gives a document that holds together
// and comes back from its log.
func FuzzPatch(f *testing.F) {
	for _, c := range rfcCases {
		f.Add(c.doc, c.patch)
	}
	f.Fuzz(func(t *testing.T, doc, patch string) {
		s := wire.DecodeState(true, wire.ContentJSON, []byte(`{"base_revision":0,"document":`+doc+`}`))
		rec := delta(patch)
		if s.Fault != wire.FaultNone || rec.Fault != wire.FaultNone {
			return
		}
		d := Parse(s.Document)
		got, fault := d.Apply(rec.Patch)
		if d.Text() != s.Document {
			t.Fatalf("the document changed to %s", d.Text())
		}
		if fault != nil {
			if fault.Why == wire.FaultNone || fault.At < 0 || fault.At >= len(rec.Patch) {
				t.Fatalf("fault %+v", fault)
			}
			return
		}
		checkDocument(t, got, canonical(t, got.Text()))
		ops, err := readLog(nil, string(appendLog(nil, rec.Patch)))
		if err != nil {
			t.Fatal(err)
		}
		again, fault := Parse(s.Document).Apply(ops)
		if fault != nil || again.Text() != got.Text() {
			t.Fatalf("from the log: %v, %v", again, fault)
		}
	})
}

// FuzzLog: a damaged log is an error, never a panic.
func FuzzLog(f *testing.F) {
	f.Add(string(appendLog(nil, delta(`[{"op":"add","path":"/a","value":1},{"op":"copy","from":"/a","path":"/b"}]`).Patch)))
	f.Add("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, log string) {
		ops, err := readLog(nil, log)
		if err != nil {
			return
		}
		if again := string(appendLog(nil, ops)); len(again) > len(log) {
			t.Fatalf("%q reads as %q", log, again)
		}
	})
}

// FuzzRestore: a base and a log that were damaged are an error, never a panic
// and never without an end.
func FuzzRestore(f *testing.F) {
	f.Add(`{"a":[1,"x"]}`, string(appendLog(nil, delta(`[{"op":"add","path":"/a/0","value":{"b":1}}]`).Patch)))
	f.Add(`{"a`, "")
	f.Add(`[[[`, "\x02\x02/0")
	f.Fuzz(func(t *testing.T, base, log string) {
		info := Info{Known: true, Applied: 1, Base: 1, BaseSize: uint64(len(base)), Slots: 1, LogBytes: uint64(len(log)), Size: uint64(len(base))}
		s, err := Restore(info, base, log, []Entry{{Outcome: Applied, At: -1}})
		if err == nil {
			t.Fatalf("no text has the digest 0, but %q was taken", s.Doc.Text())
		}
	})
}
