package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var allRequests = map[uint32]any{
	CodeSessionGet:     &SessionGet{Stream: "s", ID: goldenID(1)},
	CodeSessionList:    &SessionList{Stream: "s", Status: new("active"), Root: new(goldenID(2)), LabelPrefix: new("l"), Agent: new("a"), Text: new("t"), Cursor: new("c"), Limit: 5, WantTotal: true},
	CodeSessionEvents:  &SessionEvents{Stream: "s", ID: goldenID(1), Cursor: new(""), Limit: 5, FixedFrontier: true},
	CodeSessionState:   &SessionState{Stream: "s", ID: goldenID(1), HistoryLimit: 9},
	CodeSessionLinks:   &SessionLinks{Stream: "s", ID: goldenID(1), Surface: new("kv")},
	CodeSessionSources: &SessionSourcesRequest{Stream: "s", ID: goldenID(1), LaneOnly: true},
	CodeSessionChanges: &SessionChangesRequest{Stream: "s", After: 1 << 40, Limit: 5},
}

func TestRequestsRoundTrip(t *testing.T) {
	for code, want := range allRequests {
		b, err := EncodeRead(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeRequest(code, b)
		if err != nil {
			t.Errorf("%d: %v", code, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d (-want +got):\n%s", code, d)
		}
	}
}

func TestRequestFaults(t *testing.T) {
	id := append([]byte{0x50}, make([]byte, 16)...)
	text := func(s string) []byte { return appendText(nil, s) }
	req := func(parts ...[]byte) []byte {
		b := appendHead(nil, majorMap, uint64(len(parts)/2))
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	good := req(text("stream"), text("s"), text("id"), id)
	for _, c := range []struct {
		name, want string
		b          []byte
	}{
		{"no map", "CBOR map", []byte{0x01}},
		{"empty", "CBOR map", nil},
		{"trailing", "CBOR map", append(append([]byte{}, good...), 0)},
		{"missing", "id: required", req(text("stream"), text("s"))},
		{"twice", "CBOR map", req(text("stream"), text("s"), text("stream"), text("s"), text("id"), id)},
		{"null", "stream: must not be null", req(text("stream"), []byte{0xf6}, text("id"), id)},
		{"short id", "id: an id is", req(text("stream"), text("s"), text("id"), []byte{0x41, 1})},
		{"text id", "id: an id is", req(text("stream"), text("s"), text("id"), text("01000000000000000000000001"))},
		{"wrong type", "stream: ", req(text("stream"), []byte{0x01}, text("id"), id)},
		{"not UTF-8", "", req(text("stream"), []byte{0x61, 0xff}, text("id"), id)},
	} {
		_, err := DecodeRequest(CodeSessionGet, c.b)
		var e *SessionError
		if !errors.As(err, &e) || e.Kind != ErrInvalid || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: got %v, want invalid with %q", c.name, err, c.want)
		}
	}
	// An unknown field is ignored, as the seed's decoder does.
	if _, err := DecodeRequest(CodeSessionGet, req(text("stream"), text("s"), text("id"), id, text("new"), []byte{0x01})); err != nil {
		t.Errorf("unknown field: %v", err)
	}
	if _, err := DecodeRequest(CodeSessionChanges+1, good); err == nil {
		t.Error("another code must be unsupported")
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for code, r := range allRequests {
		b, err := EncodeRead(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(code, b)
	}
	f.Fuzz(func(t *testing.T, code uint32, b []byte) {
		r, err := DecodeRequest(code, b)
		if err != nil {
			var e *SessionError
			if !errors.As(err, &e) {
				t.Fatalf("%T is no *SessionError", err)
			}
			return
		}
		again, err := EncodeRead(r)
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeRequest(code, again)
		if err != nil || !cmp.Equal(r, second) {
			t.Fatalf("decoding what was encoded: %+v, %v; want %+v", second, err, r)
		}
	})
}
