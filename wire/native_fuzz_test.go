package wire

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var deepSeeds = []string{
	`{"kind":"run_started","run_id":"r","goal":"g","criteria":["c"],"agent_id":"a"}`,
	`{"seq":4,"event":{"kind":"llm_completed","turn":1,"content":"a\n\u00e9","tool_calls":[],"token_count":5}}`,
	`{"kind":"llm_completed","turn":1,"message":{"role":"assistant","content":[{"type":"text","text":"x"}],"token_count":12.0},"usage":{"outputTokens":4}}`,
	`{"kind":"provider_attempt","effect_id":"e","attempt_seq":2,"status":"failed","route":{"provider":"p","model":"m"},"usage":{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":3}}`,
	`{"kind":"tool_requested","turn":1,"calls":[{"id":"1","name":"x","arguments":"{\"b\":1}"},{"id":"2","name":"y","arguments":{"c":[1]}}]}`,
	`{"kind":"tool_completed","results":[{"call_id":"1","output":{"a":1},"is_error":true,"is_fatal":false}]}`,
	`{"kind":"memory_retrieval_result","hits":[{"record":{"id":"m"}},"x"]}`,
	`{"seq":1,"record_type":"kernel_genesis","genesis":{}}`, `{"kind":"suspended","turn":3,"reason":"ask_user","pending_calls":["c1",7]}`,
}

var everSeeds = []string{
	`{"id":"e","type":"llm.generation","session_id":"session_0123456789abcdef0123456789abcdef","context":{"turn_id":"turn_0123456789abcdef0123456789abcdef"},"data":{"metadata":{"model":"m","success":false,"finish_reasons":["stop"],"usage":{"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"effective_cost_usd":0.0000000015}}},"sequence":4}`,
	`{"id":"session_0123456789abcdef0123456789abcdef","organization_id":"o","status":"running","tags":["a"],"source":"slack","parent_session_id":"x","forked_from_session_id":"y","forked_from_sequence":3}`,
	`{"id":"e","type":"input.message","session_id":"s","data":{"message":{"content":[{"type":"text","text":"hi"}]}},"metadata":{"source":"chat"}}`,
	`{"id":"e","type":"task.updated","session_id":"s","data":{"id":"t","links":{"child_session_id":"c"},"attempt":2,"state":"failed"}}`,
	`{"id":"e","type":"timer.set","session_id":"s","data":{"fire_at":"2026-01-01T00:00:00Z"}}`, `{"id":"e","type":"turn.sealed","session_id":"s","data":{"reason":"x"}}`,
}

// FuzzDeepStrike and FuzzEverruns: a decoder that was used before says the same
// as a fresh one, decides like encoding/json what is JSON, and gives its record
// to a session whenever the key names one.
func FuzzDeepStrike(f *testing.F) { fuzzNative(f, DialectDeepStrike, deepSeeds) }

func FuzzEverruns(f *testing.F) { fuzzNative(f, DialectEverruns, everSeeds) }

func fuzzNative(f *testing.F, d Dialect, seeds []string) {
	for _, s := range append(seeds, `[1,2`, `{"a":1,}`, `nul`, `{"a":[[[]]]}`, "\ufeff{}", `{"kind":1e400,"type":-0}`, `{"\u006bind":"resumed"}`) {
		f.Add([]byte(s))
	}
	src := NewSource("s", "t", 1, 0, RoleLane, d)
	used := NewDecoder(d, nil)
	f.Fuzz(func(t *testing.T, value []byte) {
		raw := []Raw{{Key: []byte("k"), Value: value}, {Offset: 1, Key: []byte("k2"), Value: value}}
		want := NewDecoder(d, nil).Decode(src, raw)
		got := used.Decode(src, raw)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a used decoder says otherwise than a fresh one (-fresh +used):\n%s", diff)
		}
		for i := range got {
			r := &got[i]
			if !r.HasSession || r.Rare == nil || r.Rare.Native == nil {
				t.Fatalf("no session: %+v", r)
			}
			if json := json.Valid(value); utf8.Valid(value) && !json && r.Display != DisplayUndecodable {
				t.Fatalf("no JSON, but %s", r.Display)
			}
			for j := 1; j < len(r.Summary); j++ {
				if r.Summary[j].Key <= r.Summary[j-1].Key {
					t.Fatalf("summary keys %s, %s", r.Summary[j-1].Key, r.Summary[j].Key)
				}
			}
			if n := r.Rare.Native; n.Paired && n.Mark>>32 != n.Seq&(1<<32-1) {
				t.Fatalf("mark %x of seq %d", n.Mark, n.Seq)
			}
		}
	})
}

// FuzzJSONTokens: what is one JSON value, of a depth that is read, and nothing else.
func FuzzJSONTokens(f *testing.F) {
	for _, s := range append(append([]string{`[]`, `{}`, `"a\u0041"`, `1.5e-3`, `01`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `[1,,2]`, `tru`, `1 2`, ``, ` `}, deepSeeds...), everSeeds...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r jsonTokens
		r.reset(b)
		raw := r.raw()
		want := json.Valid(b)
		if got := r.whole(); got != want && !(want && depth(b) > maxJSONNesting) {
			t.Fatalf("%q is JSON: %t, read as %t", b, want, got)
		}
		if r.whole() && !json.Valid(raw) {
			t.Fatalf("%q gives the value %q", b, raw)
		}
	})
}

func depth(b []byte) (most int) {
	n := 0
	for _, c := range b {
		switch c {
		case '[', '{':
			n++
			most = max(most, n)
		case ']', '}':
			n--
		}
	}
	return most
}
