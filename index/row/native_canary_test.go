package row

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessionfold/fold"
	"sessionfold/wire"
)

// secretValues are records of each dialect in which every piece of content is a
// word of its own.
var secretValues = map[wire.Dialect][]string{
	wire.DialectDeepStrike: {
		`{"kind":"run_started","run_id":"r","goal":"CANARY-goal","criteria":["CANARY-criterion"],"agent_id":"a","system_prompt":"CANARY-prompt","attachments":[{"text":"CANARY-file"}]}`,
		`{"seq":1,"event":{"kind":"llm_completed","turn":1,"content":"CANARY-content","tool_calls":[{"id":"1","name":"t","arguments":"{\"k\":\"CANARY-arg\"}"}],"token_count":1,"provider_replay":{"reasoning_content":"CANARY-thought"}}}`,
		`{"kind":"llm_completed","turn":1,"message":{"role":"assistant","content":[{"type":"text","text":"CANARY-content2"}],"tool_calls":[{"arguments":{"k":"CANARY-arg2"}}]}}`,
		`{"kind":"tool_requested","turn":1,"calls":[{"id":"1","name":"t","arguments":"{\"k\":\"CANARY-arg3\"}"},{"id":"2","name":"u","arguments":{"k":{"deep":"CANARY-arg4"}}},{"id":"3","name":"v","arguments":"CANARY-arg5"}]}`,
		`{"kind":"tool_completed","turn":1,"results":[{"call_id":"1","output":"CANARY-output"},{"call_id":"2","output":{"x":"CANARY-output2"},"is_error":true}]}`,
		`{"kind":"tool_argument_repaired","turn":1,"tool":"t","original_arguments":"CANARY-old","repaired_arguments":"CANARY-new"}`,
		`{"kind":"permission_requested","turn":1,"tool":"t","arguments":"CANARY-asked","reason":"CANARY-why"}`, `{"kind":"tool_denied","turn":1,"call_id":"c","tool_name":"t","reason":"CANARY-denied"}`,
		`{"kind":"compressed","turn":1,"summary":"CANARY-summary"}`, `{"kind":"page_out","turn":1,"summary":"CANARY-page"}`, `{"kind":"memory_queried","turn":1,"query":"CANARY-query"}`,
		`{"kind":"memory_written","turn":1,"record_id":"m","name":"CANARY-name"}`, `{"kind":"memory_validation_failed","turn":1,"record_id":"m","error":"CANARY-error"}`,
		`{"kind":"memory_retrieval_result","hits":[{"record":{"id":"m","content":"CANARY-hit"}}]}`, `{"kind":"rollbacked","turn":1,"reason":{"kind":"fatal_tool_error","error":"CANARY-error2"}}`,
		`{"kind":"rollbacked","turn":1,"reason":"It failed: CANARY-error3"}`, `{"kind":"workflow_node_completed","turn":1,"agent_id":"n","output":{"content":"CANARY-node"}}`,
		`{"kind":"round_started","round":1,"goal":"CANARY-round"}`, `{"kind":"summary_upgraded","summary":"CANARY-upgrade"}`, `{"kind":"provider_attempt","effect_id":"e","attempt_seq":1,"status":"failed","error":"CANARY-provider"}`,
		`{"kind":"CANARY-broken","goal":"CANARY-broken"`,
	},
	wire.DialectEverruns: {
		`{"id":"s","organization_id":"o","status":"idle","title":"t","goal":"CANARY-goal","preview":"CANARY-preview","output_preview":"CANARY-shown","system_prompt":"CANARY-prompt","tools":[{"d":"CANARY-tool"}],"initial_files":[{"content":"CANARY-file"}],"hints":{"h":"CANARY-hint"}}`,
		`{"id":"1","type":"input.message","session_id":"s","data":{"message":{"content":[{"type":"text","text":"CANARY-first"}]}}}`, `{"id":"2","type":"message.user","session_id":"s","data":{"content":"CANARY-second"}}`,
		`{"id":"3","type":"output.message.completed","session_id":"s","data":{"message":{"content":[{"type":"text","text":"CANARY-answer"}]}}}`, `{"id":"4","type":"output.message.delta","session_id":"s","data":{"delta":"CANARY-delta"}}`,
		`{"id":"5","type":"llm.generation","session_id":"s","data":{"messages":[{"content":"CANARY-sent"}],"output":{"text":"CANARY-got"},"metadata":{"model":"m","success":false,"error":"CANARY-error"}}}`,
		`{"id":"6","type":"tool.started","session_id":"s","data":{"tool_call":{"name":"t","arguments":{"k":"CANARY-arg"}}}}`, `{"id":"7","type":"tool.completed","session_id":"s","data":{"tool_name":"t","success":false,"result":["CANARY-result"],"error":"CANARY-error2"}}`,
		`{"id":"8","type":"turn.failed","session_id":"s","data":{"error":"CANARY-error3"}}`, `{"id":"9","type":"reason.completed","session_id":"s","data":{"success":true,"text_preview":"CANARY-preview2"}}`,
		`{"id":"10","type":"file.written","session_id":"s","data":{"path":"p","content":"CANARY-file2"}}`, `{"id":"11","type":"task.created","session_id":"s","data":{"id":"t","prompt":"CANARY-task","state":"queued"}}`,
		`{"id":"12","type":"brand.new","session_id":"s","data":{"anything":"CANARY-new"},"metadata":{"note":"CANARY-note"},"tags":["CANARY-tag"]}`, `{"id":"13","type":"x","session_id":"s","data":{"x":"CANARY-broken"`,
	},
}

// TestForeignContentIsNotStored: of content only what previews are for is
// written, and only where they are on.
func TestForeignContentIsNotStored(t *testing.T) {
	shown := map[wire.Dialect][]string{
		wire.DialectDeepStrike: {"CANARY-goal"},
		wire.DialectEverruns:   {"CANARY-answer", "CANARY-goal", "CANARY-preview", "CANARY-shown"},
	}
	canary := regexp.MustCompile(`CANARY-[a-z0-9]+`)
	for d, values := range secretValues {
		for _, previews := range []bool{false, true} {
			src := wire.NewSource("s", "t", 1, 0, wire.RoleLane, d)
			dec, front, partials := wire.NewDecoder(d, nil), fold.Frontier{}, map[wire.ID]*fold.Partial{}
			found, all := map[string]bool{}, map[string]bool{}
			for i, v := range values { // one by one: what a later record replaces was written too
				recs := dec.Decode(src, []wire.Raw{{Offset: uint64(i), Key: []byte("s"), Value: []byte(v)}})
				step := fold.Apply(&fold.Config{Previews: previews, Summaries: previews}, src, front, partials, recs)
				b := Encode(step)
				changes, err := json.Marshal(b.Changes)
				if err != nil {
					t.Fatal(err)
				}
				for _, op := range b.Ops {
					changes = append(append(append(append(changes, ' '), op.Key...), ' '), op.Value...)
				}
				for _, word := range canary.FindAll(changes, -1) {
					found[string(word)] = true
				}
				for _, word := range canary.FindAll([]byte(v), -1) {
					all[string(word)] = true
				}
				front = step.Frontier
				for j := range step.Sessions {
					partials[step.Sessions[j].ID] = step.Sessions[j].New
				}
			}
			var got, want []string
			for word := range found {
				got = append(got, word)
			}
			slices.Sort(got)
			if previews {
				want = shown[d]
			}
			if diff := cmp.Diff(want, got); diff != "" || len(all) < 15 {
				t.Errorf("%s, previews %t, of %d pieces of content (-want +stored):\n%s", d, previews, len(all), diff)
			}
		}
	}
}
