package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessionfold/fold"
	"sessionfold/wire"
	"sessionfold/worker"
)

// native folds values of a foreign stream's only partition, in batches of the
// given size, each into a part that has to load what it needs.
func (w *world) native(name string, d wire.Dialect, batch int, records ...[2]string) {
	w.t.Helper()
	tp := wire.TopicPartition{Topic: name + ".events"}
	src := wire.NewSource(name, tp.Topic, generation, 0, wire.RoleLane, d)
	for part := range slices.Chunk(records, batch) {
		meta, _, err := w.store.Meta(src)
		if err != nil {
			w.t.Fatal(err)
		}
		w.parts[tp] = worker.NewPart(worker.PartConfig{
			Source: src, Fold: &fold.Config{}, Memory: worker.NewMemory(func(*wire.Source) wire.Decoder { return wire.NewDecoder(d, nil) }), Load: w.store.Load, LoadState: w.store.LoadState,
		}, meta.Frontier)
		var raws []wire.Raw
		for _, r := range part {
			w.clock++
			raw := wire.Raw{Offset: w.offsets[tp], Timestamp: w.clock, Value: []byte(r[1])}
			if r[0] != "" {
				raw.Key = []byte(r[0])
			}
			w.offsets[tp]++
			raws = append(raws, raw)
		}
		w.fold(tp, raws...)
	}
}

// foreignWorld has a stream of each dialect.
func foreignWorld(t testing.TB) *world {
	w := newWorld(t)
	w.opt.Streams = append(w.opt.Streams, Stream{Name: "deep", Dialect: wire.DialectDeepStrike}, Stream{Name: "ever", Dialect: wire.DialectEverruns},
		Stream{Name: "told", Auto: true})
	w.serve()
	return w
}

const uuid = "0123abcd-0123-4567-89ab-0123456789ab"

// A native id finds its session in every spelling; the 26 characters do too.
func TestForeignIDs(t *testing.T) {
	w := foreignWorld(t)
	w.native("deep", wire.DialectDeepStrike, 1, [2]string{uuid, `{"kind":"run_started","run_id":"r","goal":"g","criteria":[]}`}, [2]string{"my run", `{"kind":"suspended","turn":1,"reason":"ask_user"}`})
	w.native("told", wire.DialectEverruns, 1, [2]string{"", `{"id":"e","type":"turn.started","session_id":"session_0123abcd0123456789ab0123456789ab","data":{}}`})
	text := wire.NativeID(wire.DialectDeepStrike, "deep", []byte(uuid)).String()
	for _, id := range []string{uuid, strings.ToUpper(uuid), strings.ReplaceAll(uuid, "-", ""), text, strings.ToLower(text)} {
		if got := get[wire.SessionInfo](w, "/agdx/sessions/deep/"+id); got.NativeID != uuid || got.Dialect != "deepstrike" {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if got := get[wire.SessionInfo](w, "/agdx/sessions/deep/my%20run"); *got.Label != "my run" || got.Status != "paused" || got.Waiting.Reason != "ask_user" {
		t.Errorf("%+v", got)
	}
	if got := get[wire.SessionInfo](w, "/agdx/sessions/told/"+uuid); got.Activity != "running" || got.Dialect != "everruns" {
		t.Errorf("a stream whose records tell the dialect: %+v", got)
	}
	w.fails(404, "not_found", "/agdx/sessions/deep/unknown")
	w.fails(400, "invalid_argument", "/agdx/sessions/"+stream+"/my-run")
}

func TestForeignFilters(t *testing.T) {
	w := foreignWorld(t)
	object := func(id, status, source, tags string) [2]string {
		return [2]string{"", fmt.Sprintf(`{"id":%q,"organization_id":"o","status":%q,"source":%q,"tags":[%s],"title":"title of %s","agent_id":"agent-%s"}`, id, status, source, tags, id, id)}
	}
	w.native("ever", wire.DialectEverruns, 3, object("a", "active", "slack", `"x","y"`), object("b", "idle", "chat", `"y"`), object("c", "paused", "chat", ``),
		[2]string{"", `{"id":"1","type":"turn.failed","session_id":"d","data":{}}`})
	list := func(query string) (labels []string) {
		for _, s := range get[wire.SessionPage](w, "/agdx/sessions/ever?total=true&"+query).Items {
			labels = append(labels, s.NativeID)
		}
		return labels
	}
	for query, want := range map[string][]string{
		"activity=running": {"a"}, "activity=failed": {"d"}, "activity=paused": {"c"}, "activity=idle": {"b"}, "activity=completed": nil,
		"source=chat": {"c", "b"}, "source=unknown": {"d"}, "source=slack&activity=running": {"a"}, "source=slack&activity=idle": nil,
		"tag=y": {"b", "a"}, "tag=x": {"a"}, "tag=z": nil, "dialect=everruns": {"d", "c", "b", "a"}, "dialect=agdx": nil,
		"status=failed": {"d"}, "text=TITLE%20OF%20B": {"b"}, "agent=agent-c": {"c"}, "label_prefix=title%20of%20c": {"c"},
	} {
		got := list(query)
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", query, d)
		}
	}
	for query, want := range map[string]string{
		"activity=busy": "accepted are idle, running", "source=mail": "accepted are unknown, chat", "dialect=latin": "accepted are agdx, deepstrike, everruns", "tag=": "a tag has 1 to",
	} {
		if m := w.fails(400, "invalid_argument", "/agdx/sessions/ever?"+query); !strings.Contains(m, want) {
			t.Errorf("%s: %q does not say %q", query, m, want)
		}
	}
	page := get[wire.SessionPage](w, "/agdx/sessions/ever?source=chat&limit=1")
	w.fails(400, "invalid_argument", "/agdx/sessions/ever?source=slack&limit=1&cursor="+page.Cursor)
	w.session("plain", "x")
	w.commit()
	if got := get[wire.SessionPage](w, "/agdx/sessions/"+stream+"?source=unknown"); len(got.Items) != 0 {
		t.Errorf("AGDX says nothing of how a session came about: %+v", got.Items)
	}
	if got := get[wire.SessionPage](w, "/agdx/sessions/"+stream+"?activity=running&dialect=agdx"); len(got.Items) != 1 {
		t.Errorf("%+v", got.Items)
	}
}

// The audit snapshot comes from the store, whatever the batches were.
func TestAudit(t *testing.T) {
	for _, batch := range []int{1, 100} {
		w := foreignWorld(t)
		var records [][2]string
		for i := range 80 {
			records = append(records, [2]string{"s", fmt.Sprintf(`{"seq":%d,"event":{"kind":"signal_disposed","turn":%d,"signal_id":"sig","disposition":"queue","queue_depth":1}}`, i, i)})
		}
		records = append(records, records[3],
			[2]string{"s", `{"kind":"agent_process_changed","turn":1,"agent_id":"child-1","parent_session_id":"parent","state":"running"}`},
			[2]string{"s", `{"kind":"suspended","turn":3,"reason":"ask_user","pending_calls":["c1"]}`},
			[2]string{"s", `{"kind":"agent_process_changed","turn":4,"agent_id":"child-1","parent_session_id":"parent","state":"joined"}`},
			[2]string{"s", `{"kind":"budget_exceeded","turn":5,"operation_id":"op","budget":"tokens"}`}, [2]string{"plain", `{"kind":"run_started"}`})
		w.native("deep", wire.DialectDeepStrike, batch, records...)
		second := get[wire.OsSnapshot](w, "/agdx/sessions/deep/s/audit")
		if len(second.Signals) != 80 || second.Signals[79].Turn != 79 || len(second.ProcessByAgent) != 1 || second.ProcessByAgent[0].State != "joined" ||
			second.LastSuspend.Reason != "ask_user" || second.LastResumedTurn != nil || second.BudgetExceeded[0].ReservationID != nil {
			t.Errorf("batches of %d: %+v", batch, second)
		}
		first := get[map[string]json.RawMessage](w, "/agdx/sessions/deep/s/audit?format=1")
		if string(first["budget_exceeded"]) != `[{"turn":5,"budget":"tokens"}]` || first["cancellations"] != nil || string(first["last_resumed_turn"]) != "null" {
			t.Errorf("batches of %d: the older form is %s", batch, first["budget_exceeded"])
		}
		if empty := w.request("GET", "/agdx/sessions/deep/plain/audit", nil).Body.String(); !strings.Contains(empty, `"process_by_agent":[]`) {
			t.Errorf("a session without decisions: %s", empty)
		}
		w.fails(400, "invalid_argument", "/agdx/sessions/deep/s/audit?format=3")
		w.fails(404, "not_found", "/agdx/sessions/deep/unknown/audit")
		if c := get[capabilities](w, "/agdx/capabilities"); !c.Reads["audit"] || c.Streams[1].Dialect != "deepstrike" {
			t.Errorf("%+v", c)
		}
	}
	if c := get[capabilities](newWorld(t), "/agdx/capabilities"); c.Reads["audit"] {
		t.Error("no stream has audit snapshots")
	}
}

// Children of a foreign session: one link each, however it is told of, with how
// it came out; a fork's copies are marked; holes in the sequence are told.
func TestForeignLinksAndRows(t *testing.T) {
	w := foreignWorld(t)
	kid := "session_0123abcd0123456789ab0123456789ab"
	w.native("ever", wire.DialectEverruns, 2,
		[2]string{"", `{"id":"1","type":"subagent.spawned","session_id":"p","data":{"child_session_id":"` + uuid + `"},"sequence":1}`},
		[2]string{"", `{"id":"2","type":"subagent.failed","session_id":"p","data":{"child_session_id":"` + uuid + `"},"sequence":4}`},
		[2]string{"", `{"id":"3","type":"task.created","session_id":"p","data":{"id":"task-1","state":"queued"},"sequence":5}`},
		[2]string{"", `{"id":"` + kid + `","organization_id":"o","status":"idle","parent_session_id":"p","forked_from_session_id":"p","forked_from_sequence":2}`},
		[2]string{"", `{"id":"other","organization_id":"o","status":"idle","parent_session_id":"p"}`},
		[2]string{"", `{"id":"4","type":"llm.generation","session_id":"` + kid + `","data":{"usage":{"input_tokens":5}},"sequence":2}`},
		[2]string{"", `{"id":"5","type":"llm.generation","session_id":"` + kid + `","data":{"usage":{"input_tokens":7}},"sequence":3}`})
	var got []string
	for _, l := range get[wire.SessionLinksView](w, "/agdx/sessions/ever/p/links?surface=child").Links {
		got = append(got, l.Item+" "+l.Outcome)
	}
	if d := cmp.Diff([]string{uuid + " failed", "other ", "task-1 "}, got); d != "" {
		t.Errorf("child links (-want +got):\n%s", d)
	}
	info := get[wire.SessionInfo](w, "/agdx/sessions/ever/p?subtree=true")
	if info.Children != 3 || info.Subtree.Sessions != 3 || info.Subtree.TokensIn != 7 {
		t.Errorf("%d children, subtree %+v", info.Children, info.Subtree)
	}
	rows := get[wire.SessionEventsPage](w, "/agdx/sessions/ever/"+kid+"/events")
	if n := len(rows.Items); n != 3 || rows.Items[1].Summary["copied"] != true || rows.Items[2].Summary["copied"] != nil {
		t.Errorf("%d rows: %+v", n, rows.Items)
	}
	if gaps := get[wire.SessionEventsPage](w, "/agdx/sessions/ever/p/events").NativeGaps; len(gaps) != 1 || gaps[0] != (wire.NativeGap{From: 2, To: 3}) {
		t.Errorf("native gaps %v", gaps)
	}
}

// Readers of the seed's type decode a foreign session: CBOR has its fields only.
func TestSeedReadersDecodeForeignSessions(t *testing.T) {
	w := foreignWorld(t)
	w.native("ever", wire.DialectEverruns, 9, [2]string{"", `{"id":"a","organization_id":"o","status":"active","title":"t","tags":["x"],"source":"chat"}`})
	id := wire.NativeID(wire.DialectEverruns, "ever", []byte("a"))
	reply, _ := w.op(wire.CodeSessionGet, &wire.SessionGet{Stream: "ever", ID: id})
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	info := reply.Ok.Info
	if info.Status != "active" || *info.Label != "t" || info.NativeID != "" || info.Tags != nil || info.Activity != "" {
		t.Errorf("%+v", info)
	}
}
