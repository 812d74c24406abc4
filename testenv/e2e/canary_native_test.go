package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// foreigner writes the records of a foreign stream that hold canaries.
type foreigner struct {
	*aviary
	topic    string
	previews bool
}

// TestForeignContentNeverLeaks is TestContentNeverLeaks for the other dialects:
// with previews off nothing of the content is anywhere, with previews on only the
// first 256 bytes of a goal, of a user's first and of an agent's last message, and
// these only where the contract keeps text.
func TestForeignContentNeverLeaks(t *testing.T) {
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		for _, previews := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/previews=%t", d, previews), func(t *testing.T) { foreignContent(t, d, previews) })
		}
	}
}

func foreignContent(t *testing.T, d wire.Dialect, previews bool) {
	r := &rig{T: t, kafka: testenv.StartProcess(t), stream: testenv.Name(t), bin: binary(t)}
	topic := r.stream + ".events"
	r.writer = r.kafka.NewTopicWriter(t, map[string]int32{topic: 2})
	r.cleanTopics()
	r.worker = r.plan(folder.Options{Instance: "e2e", Dialect: d.String(), Topics: []string{topic}})
	if previews {
		r.streamSetting("previews: true")
	}
	r.worker.Env = append(r.worker.Env, "FOLDER_OUTPUT_SUMMARIES=true")
	logs := filepath.Join(t.TempDir(), "logs")
	wordy(t, r.worker, logs)

	a := &aviary{log: agdxlog.New(r.stream)}
	f := &foreigner{a, topic, previews}
	native := f.keep("session id")
	if d == wire.DialectDeepStrike {
		f.deepStrike(native)
	} else {
		f.everruns(native)
	}
	f.unreadable(native)
	a.planted(t)
	s := &search{aviary: a, r: r, seen: map[string]bool{}, bytes: map[string]int{}, told: map[string]bool{}}
	r.writer.Put(a.log.Records...)
	r.writer.Flush()
	r.start()
	s.folded()
	s.foreignShape(d, native)
	s.replies()
	s.beside()
	s.asked()
	s.admin()
	s.printed(native)
	s.output()
	if !previews {
		s.imports(d, native)
	}
	s.disk(3_000)
	s.logged(logs)
}

// foreignShape sees that no record was refused but those that are to be.
func (s *search) foreignShape(d wire.Dialect, native string) {
	s.r.Helper()
	rows, err := s.r.events(s.r.Context(), wire.NativeID(d, s.r.stream, []byte(native)))
	if err != nil {
		s.r.Fatal(err)
	}
	n := map[string]int{}
	for _, row := range rows {
		n[row.Display]++
	}
	want := map[string]int{"undecodable": 5, "invalid": 4, "session.started": 1, "session.failed": 1, "model.response": 3, "model.request": 1, "tool.call": 2, "tool.result": 1}
	if d == wire.DialectEverruns {
		want = map[string]int{"undecodable": 5, "invalid": 4, "session.started": 1, "user.message": 3, "model.response": 1, "tool.call": 3, "tool.result": 2}
	}
	for display, want := range want {
		if n[display] != want {
			s.r.Errorf("%d rows display %s, want %d", n[display], display, want)
		}
	}
}

// beside sees that previews are of a session's own row: nothing else that is told
// of it holds any.
func (s *search) beside() {
	s.r.Helper()
	shown := &aviary{}
	for _, c := range s.all {
		if slices.Contains(previewed, c.what) {
			shown.all = append(shown.all, c)
		}
	}
	sessions, err := s.r.sessions(s.r.Context())
	if err != nil {
		s.r.Fatal(err)
	}
	for id := range sessions {
		for _, path := range []string{"/events?limit=1000", "/links", "/sources", "/audit", "/audit?format=1", "/state"} {
			text := s.get(s.r.worker.Reads + "/sessions/" + s.r.stream + "/" + id.String() + path)
			s.look("reads", text, kept)
			for _, c := range shown.find(text) {
				s.r.Errorf("%s of %s holds the canary of %q", path, id, c.what)
			}
		}
	}
}

// previewed are the places of which previews show the beginning.
var previewed = []string{"goal", "escaped goal", "preview", "output preview", "first user message", "last agent message", "older user message", "older agent message"}

// shown is the beginning of content that previews are for, and content behind it.
func (f *foreigner) shown(what string) string {
	if !slices.Contains(previewed, what) {
		panic(what + " is in no preview")
	}
	fate := never
	if f.previews {
		fate = kept
	}
	return over(f.put(fate, what), 256, f.secret(what+" beyond 256 bytes"))
}

// record adds one with the key and headers that nobody knows.
func (f *foreigner) record(key string, value []byte) {
	f.log.Add(agdxlog.Record{Role: wire.RoleLane, Topic: f.topic, Key: []byte(key), Value: value, Headers: []wire.Header{
		{Key: f.secret("unknown header"), Value: []byte(f.secret("value of an unknown header"))},
		{Key: "traceparent", Value: []byte(f.secret("traceparent"))},
	}})
}

// object adds a JSON object in which unknown fields and metadata hold canaries.
func (f *foreigner) object(key string, v m) {
	v[f.secret("unknown field")] = f.secret("value of an unknown field")
	v["unknown"] = m{"deep": []any{f.secret("deep in an unknown field")}}
	if v["metadata"] == nil {
		v["metadata"] = m{f.secret("metadata key"): f.secret("metadata value"), "source": f.secret("source that is none")}
	}
	f.record(key, inJSON(v))
}

// inJSON is a value in JSON.
func inJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// unreadable are values that are no JSON, or nothing of the dialect.
func (f *foreigner) unreadable(key string) {
	f.record(key, append([]byte{0xff, 0x9f}, f.secret("strange bytes")...))
	f.record(key, []byte(f.secret("plain text")))
	f.record(key, []byte(`{"kind":"run_started","type":"input.message","goal":"`+f.secret("goal that is cut")+`","data":{"content":"`+f.secret("message that is cut")))
	f.record(key, []byte(`{"kind":"x","type":"x"} `+f.secret("text behind an object")))
	f.record(key, nil)
	f.record(key, inJSON(f.secret("text in JSON")))
	f.record(key, inJSON([]string{f.secret("list in JSON")}))
	f.record(key, inJSON(m{"goal": f.secret("goal of nothing"), "status": f.secret("status of nothing"), "data": m{"content": f.secret("message of nothing")}}))
	f.record(key, inJSON(m{"kind": 1, "type": m{"x": f.secret("type that is an object")}, "goal": f.secret("goal of no kind")}))
	f.record("", inJSON(m{"kind": "run_started", "type": "input.message", "goal": f.secret("goal of nobody"), "data": m{"content": f.secret("message of nobody")}}))
}

// logged searches the logs, and sees that everything that is to be kept was met.
func (s *search) logged(logs string) {
	s.r.Helper()
	b, err := os.ReadFile(logs)
	if err != nil {
		s.r.Fatal(err)
	}
	for _, said := range []string{"source is active", `level=DEBUG`} {
		if !bytes.Contains(b, []byte(said)) {
			s.r.Errorf("the logs do not say %q: the search looked at the wrong ones", said)
		}
	}
	s.look("logs", b)
	for _, c := range s.all {
		if c.fate != never && !s.seen[c.what] {
			s.r.Errorf("%q is to be kept and is nowhere: the search, or this test's idea of what is kept, is wrong", c.what)
		}
	}
	s.r.Logf("%d canaries; bytes searched: %v", len(s.all), s.bytes)
}
