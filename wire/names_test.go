package wire

import (
	"bytes"
	"fmt"
	"testing"
)

// Names of a batch share views; none may get another's, however alike they are.
func TestNamesOfABatch(t *testing.T) {
	src := NewSource("s", "s.agent.sessions", 1, 0, RoleLane, DialectAGDX)
	var raw []Raw
	var want [][3]string
	for i := range 300 {
		w := [3]string{fmt.Sprintf("agent-%02d-x", i%40), "op.note", fmt.Sprintf("tool%dz", i%9)}
		e := Envelope{Kind: KindEvent, Conversation: ID{15: byte(i)}, Source: []byte(w[0]), Operation: []byte(w[1]), Tool: []byte(w[2])}
		want = append(want, w)
		raw = append(raw, Raw{Offset: uint64(i), Value: e.Append(nil), Headers: e.Headers(ContentJSON)})
	}
	// The memory of a batch is another's once the next one is decoded.
	d, former := NewAGDXDecoder(), make([]Raw, len(raw))
	for i := range raw {
		former[i] = raw[i]
		former[i].Value = bytes.Clone(raw[i].Value)
	}
	d.Decode(src, former)
	recs := d.Decode(src, raw)
	for i := range former {
		clear(former[i].Value)
	}
	for i, r := range recs {
		if got := [3]string{string(r.Agent), string(r.Operation), string(r.Tool)}; got != want[i] {
			t.Fatalf("record %d has the names %v, want %v", i, got, want[i])
		}
	}
}
