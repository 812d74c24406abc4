package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// Content never leaks (spec session-index.md, section 6): canaries in every place
// where content can be, one worker over all roles, and then a search through all
// that it let out: logs, metrics, profiles, replies, commands, topics, files.
func TestContentNeverLeaks(t *testing.T) {
	r := newRig(t)
	a := &aviary{log: r.log()}
	a.plant()
	a.planted(t)
	s := &search{aviary: a, r: r, seen: map[string]bool{}, bytes: map[string]int{}, told: map[string]bool{}}

	logs := filepath.Join(t.TempDir(), "logs")
	wordy(t, r.worker, logs)
	keys := filepath.Join(t.TempDir(), "keys")
	r.replace(keys, strings.Repeat("ab", 32)+" somebody\n")
	r.streamSetting(fmt.Sprintf("keys_file: %q", keys))
	r.worker.Env = append(r.worker.Env, "FOLDER_OUTPUT_SUMMARIES=true")
	r.writer.Put(a.log.Records...)
	r.writer.Flush()
	r.start()
	s.folded()
	s.shape()

	r.replace(keys, a.secret("private key in a keys file")+" somebody\n")
	r.awaitMetric(1, "folder_keys_file_failed", r.stream)
	s.replies()
	s.asked()
	s.admin()
	s.commands()
	s.output()

	r.replace(keys, strings.Repeat("ab", 32)+" somebody\n")
	s.disk(10_000)

	s.login(logs)
	b, err := os.ReadFile(logs)
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"source is active", "a keys file cannot be used", `level=DEBUG`} {
		if !bytes.Contains(b, []byte(said)) {
			t.Errorf("the logs do not say %q: the search looked at the wrong ones", said)
		}
	}
	s.look("logs", b)
	for _, c := range a.all {
		if c.fate != never && !s.seen[c.what] {
			t.Errorf("%q is to be kept and is nowhere: the search, or this test's idea of what is kept, is wrong", c.what)
		}
	}
	t.Logf("%d canaries; bytes searched: %v", len(a.all), s.bytes)
}

// planted sees that every canary is in the log, so that not finding it means
// something.
func (a *aviary) planted(t *testing.T) {
	t.Helper()
	var all bytes.Buffer
	for _, r := range a.log.Records {
		for _, b := range [][]byte{r.Key, r.Value} {
			all.Write(b)
			all.WriteByte('\n')
		}
		for _, h := range r.Headers {
			fmt.Fprintf(&all, "%s\n%s\n", h.Key, h.Value)
		}
	}
	if found := a.find(all.Bytes()); len(found) != len(a.all) {
		t.Fatalf("%d of %d canaries are in the log", len(found), len(a.all))
	}
}

// wordy makes a worker, and every command, write all that it has to say to a file.
func wordy(t *testing.T, w *folder.Worker, logs string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "folder")
	text := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\" 2>>%q\n", w.Bin, logs)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	w.Bin, w.Env = script, append(w.Env, "FOLDER_LOG_LEVEL=debug")
}

// folded waits until everything is.
func (s *search) folded() {
	s.r.Helper()
	records, beats := 0.0, 0.0
	for _, r := range s.log.Records {
		if r.Role == wire.RoleHeartbeats {
			beats++
		} else {
			records++
		}
	}
	s.r.awaitMetric(records, "folder_source_records_total", `kind="folded"`)
	s.r.awaitMetric(beats, "folder_heartbeats_total")
	s.r.awaitTimelines(time.Minute)
}

// shape sees that the records were read as what they were meant to be: content of
// a record that is refused would prove nothing.
func (s *search) shape() {
	s.r.Helper()
	ctx, cancel := context.WithTimeout(s.r.Context(), time.Minute)
	defer cancel()
	rows, err := s.r.events(ctx, s.log.Session("canary", "x").ID)
	if err != nil {
		s.r.Fatal(err)
	}
	n := map[string]int{}
	for _, row := range rows {
		n[row.Display]++
	}
	for display, want := range map[string]int{
		"undecodable": 37, "invalid": 12, "session.started": 1, "session.submitted": 1, "session.failed": 1, "session.canceled": 1, "task.status": 2,
		"user.message": 1, "model.request": 3, "model.response": 3, "model.stream": 2, "tool.call": 6, "tool.result": 3, "error": 2, "agent.handoff": 1,
		"state.updated": 11, "context.assembled": 1, "context.compacted": 1, "context.retrieved": 1, "memory.created": 1, "memory.forgotten": 1,
		"memory.feedback": 1, "policy.decision": 1, "workflow.step": 1, "session.control": 3, "unauthorized_control": 1, "session.parked": 1, "dead_letter": 3,
		"kv.set": 4,
	} {
		if n[display] != want {
			s.r.Errorf("%d rows display %s, want %d", n[display], display, want)
		}
	}
	var state wire.SessionStateView
	if err := s.r.worker.JSON(ctx, "/sessions/"+s.r.stream+"/"+s.log.Session("canary", "x").ID.String()+"/state", &state); err != nil {
		s.r.Fatal(err)
	}
	outcomes := map[string]int{}
	for _, h := range state.History {
		outcomes[h.Outcome]++
	}
	if outcomes["applied"] != 3 || outcomes["rejected"] != 5 || outcomes["stale"] != 1 || outcomes["duplicate"] != 1 {
		s.r.Errorf("outcomes of state records: %v", outcomes)
	}
}

// get reads a URL, whatever its status.
func (s *search) get(url string) []byte {
	s.r.Helper()
	b, err := s.r.worker.Get(s.r.Context(), url)
	var status *folder.StatusError
	if err != nil && !errors.As(err, &status) {
		s.r.Fatal(err)
	}
	return b
}

// replies are all reads of all sessions, in JSON and in CBOR.
func (s *search) replies() {
	s.r.Helper()
	reads := s.r.worker.Reads
	s.look("capabilities", s.get(reads+"/capabilities"))
	list := reads + "/sessions/" + s.r.stream
	s.look("list", s.get(list+"?total=true&limit=1000"), kept)
	s.look("changes", s.get(list+"/changes?limit=1000"))
	sessions, err := s.r.sessions(s.r.Context())
	if err != nil {
		s.r.Fatal(err)
	}
	for id := range sessions {
		one := list + "/" + id.String()
		for _, path := range []string{"", "?subtree=true", "/events?limit=1000", "/events?limit=1000&collapse=true", "/links", "/sources", "/audit"} {
			s.look("reads", s.get(one+path), kept)
		}
		s.look("state read", s.get(one+"/state?history_limit=1000"), kept, stateOnly)
		for code, q := range map[int]any{
			wire.CodeSessionGet:     &wire.SessionGet{Stream: s.r.stream, ID: id},
			wire.CodeSessionEvents:  &wire.SessionEvents{Stream: s.r.stream, ID: id, Limit: 1000},
			wire.CodeSessionLinks:   &wire.SessionLinks{Stream: s.r.stream, ID: id},
			wire.CodeSessionSources: &wire.SessionSourcesRequest{Stream: s.r.stream, ID: id},
			wire.CodeSessionList:    &wire.SessionList{Stream: s.r.stream, Limit: 1000},
			wire.CodeSessionChanges: &wire.SessionChangesRequest{Stream: s.r.stream, Limit: 1000},
		} {
			s.look("cbor reads", s.post(fmt.Sprintf("%s/op/%d", reads, code), body(q)), kept)
		}
		s.look("cbor state read", s.post(fmt.Sprintf("%s/op/%d", reads, wire.CodeSessionState), body(&wire.SessionState{Stream: s.r.stream, ID: id})), kept, stateOnly)
	}
}

func (s *search) post(url string, request []byte) []byte {
	s.r.Helper()
	res, err := http.Post(url, "application/cbor", bytes.NewReader(request))
	if err != nil {
		s.r.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.r.Errorf("%s: %s, %v: %q", url, res.Status, err, b)
	}
	return b
}

// asked puts secrets into requests: what a reader says is for nobody's logs.
func (s *search) asked() {
	s.r.Helper()
	list := s.r.worker.Reads + "/sessions/"
	for _, url := range []string{
		list + s.r.stream + "?text=" + s.secret("searched text"), list + s.r.stream + "?" + s.secret("unknown parameter") + "=1",
		list + s.secret("unknown stream"), list + s.r.stream + "/" + s.secret("unknown session"), s.r.worker.Admin + "/" + s.secret("unknown path"),
	} {
		req, err := http.NewRequestWithContext(s.r.Context(), http.MethodGet, url, nil)
		if err != nil {
			s.r.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+s.secret("bearer token"))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			s.r.Fatal(err)
		}
		res.Body.Close()
	}
}

func (s *search) admin() {
	s.r.Helper()
	for _, path := range []string{"/metrics", "/livez", "/startupz", "/readyz", "/readyz?verbose", "/version"} {
		s.look("admin "+path, s.get(s.r.worker.Admin+path))
	}
	for _, profile := range []string{"", "goroutine?debug=2", "goroutine?debug=1", "heap?debug=1", "allocs?debug=1", "block?debug=1", "mutex?debug=1", "threadcreate?debug=1", "cmdline"} {
		s.look("profiles", s.get(s.r.worker.Admin+"/debug/pprof/"+profile))
	}
	// The dump is the stored rows, for folder verify.
	s.look("dump", s.get(s.r.worker.Admin+"/dump?stream="+s.r.stream), kept, stateOnly)
}

// commands are those that print something of a running worker.
func (s *search) commands() {
	s.r.Helper()
	// The keys file cannot be read just now.
	s.printed(s.log.Session("canary", "x").ID.String(), "--streams", "[{name: "+s.r.stream+", inboxes: ["+s.r.stream+".reviewer.inbox]}]")
	out, err := s.r.cli("config", "validate", "--config", s.r.worker.Config())
	if err == nil {
		s.r.Errorf("a keys file that cannot be used is found valid:\n%s", out)
	}
	s.look("config validate", []byte(out+fmt.Sprint(err)))
}

// printed runs commands about a session and its stream; streams are arguments for
// those that need a configuration that is valid.
func (s *search) printed(id string, streams ...string) {
	s.r.Helper()
	config := []string{"--config", s.r.worker.Config()}
	valid := append(slices.Clone(config), streams...)
	remote := []string{"--url", s.r.worker.Reads, "--stream", s.r.stream}
	log := filepath.Join(s.r.TempDir(), "log.ndjson")
	run := func(place string, args []string, allowed ...fate) {
		s.r.Helper()
		out, err := s.r.cli(args...)
		if err != nil {
			s.r.Error(err)
		}
		s.look(place, []byte(out), allowed...)
	}
	run("config print", append([]string{"config", "print"}, config...))
	run("config validate", append([]string{"config", "validate"}, valid...))
	for _, form := range []string{"--json=true", "--json=false"} {
		run("sessions list", append([]string{"sessions", "list", form}, remote...), kept)
		run("sessions events", append([]string{"sessions", "events", id, form}, remote...), kept)
	}
	run("sessions get", append([]string{"sessions", "get", id}, remote...), kept)
	// An export is the log itself, so it holds everything, in base64.
	run("export", append([]string{"export", "--output", log, "--stream", s.r.stream}, config...))
	s.exported(log)
	run("replay", append([]string{"replay", log, "--json", "--stream", s.r.stream}, valid...), kept)
	run("replay --events", append([]string{"replay", log, "--events", id, "--stream", s.r.stream}, valid...), kept)
	run("replay --compare", append([]string{"replay", log, "--compare", s.r.worker.Reads, "--stream", s.r.stream}, valid...))
	run("verify", append([]string{"verify"}, valid...))
}

// exported sees that the export holds what it must: it shows that the search
// finds what is there.
func (s *search) exported(path string) {
	s.r.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		s.r.Fatal(err)
	}
	var values bytes.Buffer
	for line := range bytes.Lines(b) {
		var l struct {
			Key, Value []byte
			Headers    [][2]any
		}
		_ = json.Unmarshal(line, &l) // headers have a form of their own: the raw line is searched too
		fmt.Fprintf(&values, "%s\n%s\n", l.Key, l.Value)
	}
	in := map[string]bool{}
	for _, c := range append(s.find(values.Bytes()), s.find(b)...) {
		in[c.what] = true
	}
	for _, c := range s.all {
		later := []string{"private key in a keys file", "searched text", "unknown parameter", "unknown stream", "unknown session", "unknown path", "bearer token"}
		if !in[c.what] && !slices.Contains(later, c.what) {
			s.r.Errorf("the export lacks the canary of %q", c.what)
		}
	}
}

// login tries to log in with a password that nobody is to see: these brokers know
// of no logins.
func (s *search) login(logs string) {
	s.r.Helper()
	password := s.secret("password")
	w := s.r.another("login")
	wordy(s.r.T, w, logs)
	w.Env = append(w.Env, "FOLDER_KAFKA_SASL_MECHANISM=PLAIN", "FOLDER_KAFKA_SASL_USER=somebody", "FOLDER_KAFKA_SASL_PASSWORD="+password)
	if err := w.Start(); err != nil {
		s.r.Fatal(err)
	}
	testenv.Eventually(s.r, time.Minute, func() error {
		b, err := os.ReadFile(logs)
		if err == nil && !bytes.Contains(b, []byte("the brokers are not ready")) {
			err = errors.New("nothing is said of brokers that are not ready")
		}
		return err
	})
	b, err := w.Get(s.r.Context(), w.Admin+"/metrics")
	if err != nil {
		s.r.Fatal(err)
	}
	s.look("metrics of a login", b)
	w.Kill()
	out, err := s.r.cli("config", "print", "--config", w.Config(), "--kafka.sasl_mechanism", "PLAIN", "--kafka.sasl_user", "somebody", "--kafka.sasl_password", password)
	if err != nil || !strings.Contains(out, "<redacted>") {
		s.r.Errorf("config print: %v\n%s", err, out)
	}
	s.look("config print with a password", []byte(out))
}
