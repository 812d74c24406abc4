package fold

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessionfold/wire"
)

// deepTemplates are DeepStrike events; %d is a small number that is drawn.
var deepTemplates = []string{
	`{"kind":"run_started","run_id":"r","goal":"g%d","criteria":[],"agent_id":"agent-%d"}`,
	`{"kind":"run_terminal","reason":"completed","turns_used":1,"total_tokens":%d00}`,
	`{"kind":"run_terminal","reason":"reason_%d","turns_used":1,"total_tokens":7}`,
	`{"kind":"run_terminal","reason":"milestone_pending","turns_used":%d,"total_tokens":7}`,
	`{"kind":"llm_completed","turn":%d,"content":"x","tool_calls":[],"token_count":%d}`,
	`{"kind":"llm_completed","turn":%d,"message":{"content":"x"},"usage":{"outputTokens":%d}}`,
	`{"kind":"provider_attempt","effect_id":"e%d","attempt_seq":%d,"status":"success","route":{"model":"m%d"},"usage":{"inputTokens":%d0,"outputTokens":%d}}`,
	`{"kind":"provider_attempt","effect_id":"e%d","attempt_seq":%d,"status":"failed"}`,
	`{"kind":"tool_requested","turn":1,"calls":[{"id":"%d","name":"t","arguments":"{\"a\":1}"}]}`,
	`{"kind":"tool_completed","turn":1,"results":[{"call_id":"%d","output":"x","is_error":true},{"is_fatal":true}]}`,
	`{"kind":"suspended","turn":%d,"reason":"r%d","pending_calls":["c%d"]}`,
	`{"kind":"resumed","turn":%d}`,
	`{"kind":"permission_requested","turn":%d,"tool":"t","arguments":"{}"}`,
	`{"kind":"permission_resolved","turn":%d,"approved":true,"responder":"user"}`,
	`{"kind":"tool_gated","turn":%d,"call_id":"c","tool":"t","reason":"r%d"}`,
	`{"kind":"round_paced","round":1,"action":"sleep","wake_at_ms":%d,"reason":"x"}`,
	`{"kind":"round_paced","round":%d,"action":"continue","reason":"x"}`,
	`{"kind":"budget_exceeded","turn":%d,"operation_id":"o","budget":"b%d"}`,
	`{"kind":"budget_usage_reported","turn":%d,"operation_id":"o","reservation_id":"r","tokens":%d,"subagents":1,"rounds":1}`,
	`{"kind":"operation_cancelled","turn":%d,"operation_id":"o","reason":"user","pending_call_ids":["c%d"]}`,
	`{"kind":"signal_delivery_disposed","turn":%d,"operation_id":"o","delivery_id":"d","attempt":1,"signal_id":"s%d","disposition":"queue","queue_depth":1}`,
	`{"kind":"signal_disposed","turn":%d,"signal_id":"s%d","disposition":"drop","queue_depth":1}`,
	`{"kind":"agent_process_changed","turn":%d,"agent_id":"child","parent_session_id":"p","state":"running","x":%d}`,
	`{"kind":"agent_process_changed","turn":%d,"agent_id":"child","parent_session_id":"p","state":"joined","result_termination":"failed","x":%d}`,
	`{"kind":"agent_process_changed","turn":%d,"agent_id":"child","parent_session_id":"p","state":"state-%d"}`,
	`{"kind":"memory_written","turn":1,"record_id":"m%d","scope":"user"}`,
	`{"kind":"memory_retrieval_result","hits":[{"record_id":"m%d"}]}`,
	`{"kind":"memory_validation_failed","turn":1,"record_id":"m%d","error":"x"}`,
	`{"kind":"page_out","turn":%d}`, `{"kind":"new_kind","turn":%d}`, `{"kind":%d}`, `[%d]`, `{"kind":"run_started"`,
}

// everTemplates are Everruns events without their ends: session, id and sequence
// are added.
var everTemplates = []string{
	`"type":"session.started","data":{"agent_id":"agent-%d","model_id":"m%d"}`, `"type":"session.activated","data":{"x":%d}`,
	`"type":"session.idled","data":{"usage":{"input_tokens":%d00,"output_tokens":%d,"effective_cost_usd":0.%d}}`,
	`"type":"turn.started","data":{"x":%d}`, `"type":"turn.completed","data":{"x":%d}`, `"type":"turn.failed","data":{"x":%d}`,
	`"type":"turn.cancelled","data":{"x":%d}`, `"type":"turn.sealed","data":{"reason":"r%d"}`,
	`"type":"input.message","data":{"message":{"content":[{"type":"text","text":"t%d"}]}}`,
	`"type":"llm.generation","data":{"metadata":{"model":"m","success":true,"usage":{"input_tokens":%d,"output_tokens":%d,"cache_read_tokens":%d,"effective_cost_usd":0.00%d}}}`,
	`"type":"llm.generation","data":{"metadata":{"model":"m","success":false,"duration_ms":%d}}`,
	`"type":"reason.completed","data":{"success":false,"x":%d}`, `"type":"tool.completed","data":{"tool_name":"t%d","success":false}`,
	`"type":"tool.call_requested","data":{"x":%d}`, `"type":"budget.paused","data":{"x":%d}`, `"type":"budget.resumed","data":{"x":%d}`,
	`"type":"session.title.updated","data":{"title":"title %d"}`, `"type":"session.model.changed","data":{"model_id":"m%d"}`,
	`"type":"subagent.spawned","data":{"child_session_id":"kid-%d"}`, `"type":"subagent.failed","data":{"child_session_id":"kid-%d"}`,
	`"type":"task.updated","data":{"id":"task-%d","state":"running","attempt":%d}`, `"type":"task.updated","data":{"id":"task-%d","state":"completed","attempt":%d}`,
	`"type":"file.written","data":{"path":"p%d"}`, `"type":"schedule.triggered","data":{"x":%d}`, `"type":"timer.set","data":{"fire_at":%d}`,
	`"type":"timer.fired","data":{"x":%d}`, `"type":"output.message.delta","data":{"x":%d}`, `"type":"brand.new","metadata":{"source":"chat"},"data":{"x":%d}`,
	`"organization_id":"o","status":"idle","title":"object %d","tags":["t%d"],"source":"slack"`,
	`"organization_id":"o","status":"active","parent_session_id":"parent-%d"`,
	`"organization_id":"o","status":"started","forked_from_session_id":"f","forked_from_sequence":%d`,
	`"type":%d`,
}

// genNativeValue draws a record's key and value.
func genNativeValue(t *rapid.T, d wire.Dialect) (key, value string) {
	session := fmt.Sprintf("run-%d", rapid.IntRange(0, 3).Draw(t, "session"))
	draw := func(templates []string) string {
		s := rapid.SampledFrom(templates).Draw(t, "template")
		n := 0
		for i := range s {
			if s[i] == '%' {
				n++
			}
		}
		args := make([]any, n)
		for i := range args {
			args[i] = rapid.IntRange(0, 4).Draw(t, "number")
		}
		return fmt.Sprintf(s, args...)
	}
	if d == wire.DialectDeepStrike {
		value = draw(deepTemplates)
		if n := rapid.IntRange(0, 30).Draw(t, "seq"); n > 8 {
			value = fmt.Sprintf(`{"seq":%d,"event":%s}`, n, value)
		}
		return session, value
	}
	value = draw(everTemplates)
	if value[1] == 'o' { // an object
		return "", fmt.Sprintf(`{"id":%q,%s}`, session, value)
	}
	value += fmt.Sprintf(`,"session_id":%q,"id":"event-%d"`, session, rapid.IntRange(0, 40).Draw(t, "id"))
	if n := rapid.IntRange(0, 12).Draw(t, "sequence"); n > 0 {
		value += fmt.Sprintf(`,"sequence":%d`, n)
	}
	return "", "{" + value + "}"
}

func genNativeLog(t *rapid.T, src *wire.Source, most int) []wire.Record {
	raws := make([]wire.Raw, rapid.IntRange(0, most).Draw(t, "records"))
	ms := int64(1000)
	for i := range raws {
		key, value := genNativeValue(t, src.Dialect)
		ms += int64(rapid.IntRange(-1, 5).Draw(t, "step"))
		raws[i] = wire.Raw{Offset: uint64(i), Timestamp: ms, Value: []byte(value)}
		if key != "" {
			raws[i].Key = []byte(key)
		}
	}
	return wire.NewDecoder(src.Dialect, nil).Decode(src, raws)
}

func nativeSource(d wire.Dialect, topic string) *folded {
	return &folded{src: wire.NewSource("s", topic, 1, 0, wire.RoleLane, d), partials: map[wire.ID]*Partial{}}
}

// TestLawNativeBatches: a source of a foreign dialect folds to the same partials
// whatever its batches are, and no step changes what an earlier one holds (law 1).
func TestLawNativeBatches(t *testing.T) {
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		t.Run(d.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := &Config{TimelineCap: 20, Previews: rapid.Bool().Draw(t, "previews")}
				whole := nativeSource(d, "tasks")
				recs := genNativeLog(t, whole.src, 40)
				whole.fold(cfg, recs)
				parts := nativeSource(d, "tasks")
				type held struct {
					p    *Partial
					text string
				}
				var steps []held
				dump := dumper{names: map[wire.ID]string{}}
				for left := recs; len(left) > 0; {
					n := rapid.IntRange(1, len(left)).Draw(t, "batch")
					for _, ss := range parts.fold(cfg, left[:n]).Sessions {
						steps = append(steps, held{ss.New, dump.fields(ss.New)})
					}
					left = left[n:]
				}
				if diff := cmp.Diff(whole.partials, parts.partials); diff != "" {
					t.Fatalf("batches matter (once -, in batches +):\n%s", diff)
				}
				for _, h := range steps {
					if now := dump.fields(h.p); now != h.text {
						t.Fatalf("a step's partial changed later from\n%s\nto\n%s", h.text, now)
					}
				}
			})
		})
	}
}

// TestLawNativeMerge: the order of sources does not matter, nor merging twice
// (law 2). Sources share their times, so that addresses decide.
func TestLawNativeMerge(t *testing.T) {
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		t.Run(d.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var sources []*folded
				for _, topic := range []string{"a", "b", "c"} {
					f := nativeSource(d, topic)
					f.fold(&Config{Previews: true}, genNativeLog(t, f.src, 15))
					sources = append(sources, f)
				}
				id := wire.NativeID(d, "s", []byte("run-0"))
				ks := keyed(id, sources)
				want := Merge(id, ks)
				if want == nil {
					return
				}
				in := ViewInput{Now: 9_000_000, Liveness: Liveness{Known: true}}
				check := func(what string, s *Session) {
					t.Helper()
					if diff := diffSessions(want, s) + cmp.Diff(View(want, in), View(s, in)); diff != "" {
						t.Fatalf("%s (-once +other):\n%s", what, diff)
					}
				}
				shuffled := rapid.Permutation(ks).Draw(t, "order")
				check("another order", Merge(id, shuffled))
				check("twice", Merge(id, slices.Concat(shuffled, ks)))
				check("of itself", Merge(id, want.Sources))
			})
		})
	}
}

// TestLawNativeLayouts: sessions that lie in partitions of their own are told of
// as if all lay in one (law 2); times do not fall, so that none is raised.
func TestLawNativeLayouts(t *testing.T) {
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		t.Run(d.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := &Config{Previews: true}
				one := nativeSource(d, "tasks")
				log := genNativeLog(t, one.src, 30)
				for i := range log {
					log[i].Time = uint64(i+1) * 1000
				}
				one.fold(cfg, log)
				many, logs := make([]*folded, 3), make([][]wire.Record, 3)
				for p := range many {
					many[p] = &folded{src: wire.NewSource("s", "tasks", 1, uint32(p), wire.RoleLane, d), partials: map[wire.ID]*Partial{}}
				}
				for _, rec := range log {
					p := rec.Session[15] % 3
					rec.Offset = uint64(len(logs[p]))
					logs[p] = append(logs[p], rec)
				}
				for p, f := range many {
					for part := range slices.Chunk(logs[p], rapid.IntRange(1, 10).Draw(t, "batch")) {
						f.fold(cfg, part)
					}
				}
				for id := range one.partials {
					whole, spread := Merge(id, keyed(id, []*folded{one})), Merge(id, keyed(id, many))
					in := ViewInput{Now: 9_000_000, Liveness: Liveness{Known: true}}
					want, got := View(whole, in), View(spread, in)
					want.Frontier, got.Frontier = nil, nil
					if diff := cmp.Diff(want, got) + cmp.Diff(whole.NativeGaps(), spread.NativeGaps()); diff != "" {
						t.Fatalf("one partition -, spread +:\n%s", diff)
					}
				}
			})
		})
	}
}
