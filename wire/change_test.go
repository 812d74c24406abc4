package wire

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func changeRow(n int) ChangeRow {
	r := ChangeRow{V: 1, Stream: "agents", Source: ChangeSource{Topic: "agents.agent.sessions", Generation: 1<<64 - 1, Partition: 3}, Seq: 9, From: 10, To: 20}
	for i := range n {
		r.Sessions = append(r.Sessions, ID{14: byte(i >> 8), 15: byte(i)})
		r.Positions = append(r.Positions, ChangePosition{Topic: r.Source.Topic, Generation: r.Source.Generation, Partition: 3, Offset: uint64(i)})
	}
	return r
}

// The hand-written encoder gives the bytes that the struct tags promise.
func TestChangeRowJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := changeRow(rapid.IntRange(0, 5).Draw(t, "n"))
		r.Stream = rapid.StringN(1, 20, -1).Draw(t, "stream")
		r.Seq, r.Truncated = rapid.Uint64Min(1).Draw(t, "seq"), rapid.Bool().Draw(t, "truncated")
		if rapid.Bool().Draw(t, "bare") {
			r.Positions = nil
		}
		if r.Sessions == nil {
			r.Sessions = []ID{}
		}
		got := r.AppendJSON(nil)
		var want bytes.Buffer
		enc := stdjson.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := stdjson.Unmarshal(got, &a); err != nil {
			t.Fatalf("not JSON: %v\n%s", err, got)
		}
		if err := stdjson.Unmarshal(want.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b, a); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		back, err := DecodeChangeRow(got)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, back, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("decoded (-want +got):\n%s", d)
		}
	})
	if got, want := string(new(changeRow(1)).AppendJSON(nil)), `{"v":1,"stream":"agents","source":{"topic":"agents.agent.sessions","generation":18446744073709551615,"partition":3},`+
		`"seq":9,"from":10,"to":20,"sessions":["00000000000000000000000000"],`+
		`"positions":[{"topic":"agents.agent.sessions","generation":18446744073709551615,"partition":3,"offset":0}],"truncated":false}`; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestChangeRowFaults(t *testing.T) {
	for name, spoil := range map[string]func(*ChangeRow){
		"version":   func(r *ChangeRow) { r.V = 2 },
		"seq":       func(r *ChangeRow) { r.Seq = 0 },
		"range":     func(r *ChangeRow) { r.To = r.From - 1 },
		"order":     func(r *ChangeRow) { r.Sessions[0], r.Sessions[1] = r.Sessions[1], r.Sessions[0] },
		"double":    func(r *ChangeRow) { r.Sessions[1] = r.Sessions[0] },
		"positions": func(r *ChangeRow) { r.Positions = r.Positions[:1] },
		"stream":    func(r *ChangeRow) { r.Stream = "" },
		"too many":  func(r *ChangeRow) { *r = changeRow(MaxChangeSessions + 1) },
	} {
		r := changeRow(3)
		spoil(&r)
		if _, err := DecodeChangeRow(r.AppendJSON(nil)); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
}

func TestChangeRowView(t *testing.T) {
	r := changeRow(2)
	v := r.View(41)
	if v.Seq != 42 || len(v.Sessions) != 2 || len(v.Positions) != 2 {
		t.Fatalf("%+v", v)
	}
	p, ok := ParseLocator(v.Positions[1][:])
	if !ok || p.Stream != NameID("agents") || p.Topic != NameID("agents.agent.sessions") || p.Partition != 3 || p.Offset != 1 {
		t.Errorf("position %+v", p)
	}
}

func FuzzDecodeChangeRow(f *testing.F) {
	f.Add(new(changeRow(2)).AppendJSON(nil))
	f.Add([]byte(`{"v":1,"sessions":[null]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeChangeRow(b)
		if err != nil {
			return
		}
		back, err := DecodeChangeRow(r.AppendJSON(nil))
		if err != nil || !cmp.Equal(r, back, cmpopts.EquateEmpty()) {
			t.Fatalf("%v\n%s", err, cmp.Diff(r, back))
		}
	})
}

func BenchmarkChangeRowAppend(b *testing.B) {
	r := changeRow(MaxChangeSessions)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = r.AppendJSON(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}
