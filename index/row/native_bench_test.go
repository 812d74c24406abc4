package row

import (
	"fmt"
	"strings"
	"testing"

	"sessionfold/fold"
	"sessionfold/wire"
)

// nativeRaws is a log of sessions that take turns, n records.
func nativeRaws(d wire.Dialect, n, sessions int) []wire.Raw {
	content := strings.Repeat("some words of a model or of a tool ", 12)
	raws := make([]wire.Raw, n)
	for i := range raws {
		s, m := (i/5)%sessions, i/(5*sessions)*5+i%5 // five records of a session in a row
		id := fmt.Sprintf("%032x", s+1)
		var v string
		if d == wire.DialectDeepStrike {
			switch m % 5 {
			case 0:
				v = fmt.Sprintf(`{"kind":"provider_attempt","effect_id":"effect-%d","attempt_seq":1,"status":"success","route":{"provider":"acme","model":"m-1"},"usage":{"inputTokens":1200,"outputTokens":80,"cacheReadInputTokens":900}}`, m)
			case 1:
				v = fmt.Sprintf(`{"kind":"llm_completed","turn":%d,"content":"%s","tool_calls":[{"id":"1","name":"read","arguments":{"path":"a"}}],"token_count":80}`, m, content)
			case 2:
				v = fmt.Sprintf(`{"kind":"tool_requested","turn":%d,"calls":[{"id":"c%d","name":"read","arguments":{"path":"a/b/c","limit":20}}]}`, m, m)
			case 3:
				v = fmt.Sprintf(`{"kind":"tool_completed","turn":%d,"results":[{"call_id":"c%d","output":"%s"}]}`, m, m, content)
			case 4:
				v = fmt.Sprintf(`{"kind":"checkpoint_taken","turn":%d,"history_len":12}`, m)
			}
			v = fmt.Sprintf(`{"seq":%d,"event":%s}`, m, v)
		} else {
			head := fmt.Sprintf(`{"id":"event_%032x","type":"%%s","ts":"2026-01-01T00:00:00Z","session_id":"session_%s","context":{"turn_id":"turn_%032x"},"data":%%s,"sequence":%d}`, i, id, m/5, m+1)
			switch m % 5 {
			case 0:
				v = fmt.Sprintf(head, "turn.started", `{}`)
			case 1:
				v = fmt.Sprintf(head, "llm.generation", `{"messages":[{"role":"user","content":"`+content+`"}],"metadata":{"model":"m","provider":"p","success":true,"duration_ms":800,"usage":{"input_tokens":1200,"output_tokens":80,"cache_read_tokens":900,"effective_cost_usd":0.00125}}}`)
			case 2:
				v = fmt.Sprintf(head, "tool.started", `{"tool_call":{"id":"c","name":"read","arguments":{"path":"a"}}}`)
			case 3:
				v = fmt.Sprintf(head, "tool.completed", `{"tool_name":"read","success":true,"status":"success","result":["`+content+`"]}`)
			case 4:
				v = fmt.Sprintf(head, "turn.completed", `{}`)
			}
		}
		raws[i] = wire.Raw{Offset: uint64(i), Timestamp: int64(i), Key: []byte(id), Value: []byte(v)}
	}
	return raws
}

// BenchmarkNative decodes, folds and encodes records of a foreign dialect, 15,000
// a step; an operation is a record.
func BenchmarkNative(b *testing.B) {
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		b.Run(d.String(), func(b *testing.B) {
			const batch = 15_000
			raws := nativeRaws(d, 300_000, 1500)
			src := wire.NewSource("s", "t", 1, 0, wire.RoleLane, d)
			dec, front, partials := wire.NewDecoder(d, nil), fold.Frontier{}, map[wire.ID]*fold.Partial{}
			durable := 0
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += batch {
				at := i % len(raws)
				if at == 0 {
					front, partials = fold.Frontier{}, map[wire.ID]*fold.Partial{}
				}
				step := fold.Apply(&fold.Config{}, src, front, partials, dec.Decode(src, raws[at:min(at+batch, len(raws))]))
				for _, op := range Encode(step).Ops {
					if op.Durable {
						durable += len(op.Key) + len(op.Value)
					}
				}
				front = step.Frontier
				for j := range step.Sessions {
					partials[step.Sessions[j].ID] = step.Sessions[j].New
				}
			}
			b.ReportMetric(float64(durable)/float64(b.N), "durable-B/record")
		})
	}
}
