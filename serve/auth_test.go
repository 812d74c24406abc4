package serve

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sessionfold/index"
	"sessionfold/wire"
)

func digest(token string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(token))) }

func TestTokens(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	w.commit()
	tokens, err := ParseTokens(strings.NewReader("# readers\n\n" +
		digest("all") + " session:read stream:*\n" + digest("one") + " session:read stream:agents stream:x\n" + digest("other") + " session:read stream:other\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.opt.Tokens = tokens
	w.opt.Streams = append(w.opt.Streams, Stream{Name: "hidden"})
	w.serve()
	path := "/agdx/sessions/agents/" + s.ID.String()
	for _, c := range []struct {
		header, path string
		status       int
		code         string
	}{
		{"", path, 401, "unauthenticated"},
		{"Bearer wrong", path, 401, "unauthenticated"},
		{"Basic one", path, 401, "unauthenticated"},
		{"Bearer other", path, 403, "forbidden"},
		{"Bearer other", path + "/state", 403, "forbidden"},
		{"Bearer other", path + "?junk=1", 403, "forbidden"},
		{"Bearer one", "/agdx/sessions/hidden", 403, "forbidden"},
		{"Bearer one", "/agdx/sessions/nowhere", 403, "forbidden"}, // no word about what is served
		{"Bearer all", "/agdx/sessions/nowhere", 404, "not_found"},
		{"", "/agdx/capabilities", 401, "unauthenticated"},
	} {
		w.fails(c.status, c.code, c.path, "Authorization", c.header)
	}
	if rec := w.request("GET", path, nil); rec.Header().Get("WWW-Authenticate") == "" {
		t.Error("a 401 without WWW-Authenticate")
	}
	for _, token := range []string{"Bearer all", "bearer one"} {
		if rec := w.request("GET", path, nil, "Authorization", token); rec.Code != 200 {
			t.Errorf("%s: %d %s", token, rec.Code, rec.Body)
		}
	}
	if rec := w.request("GET", "/agdx/capabilities", nil, "Authorization", "Bearer one"); strings.Contains(rec.Body.String(), "hidden") {
		t.Error("capabilities lists a stream that the token may not read")
	}
	r, rec := w.op(wire.CodeSessionGet, wire.SessionGet{Stream: stream, ID: s.ID}, "Authorization", "Bearer other")
	if r.Err == nil || r.Err.Kind != wire.ErrUnauthorized || rec.Code != 403 {
		t.Errorf("op: %d %+v", rec.Code, r)
	}
	if r, rec = w.rawOp(wire.CodeSessionGet, []byte("junk")); r.Err == nil || rec.Code != 401 {
		t.Errorf("op without token: %d %+v", rec.Code, r)
	}
}

func TestParseTokensFaults(t *testing.T) {
	good := digest("x") + " session:read stream:*"
	for text, says := range map[string]string{
		"":                                      "nobody",
		"secret session:read stream:*":          "line 1",
		digest("x"):                             "session:read",
		digest("x") + " session:write stream:*": "session:read",
		digest("x") + " session:read agents":    "stream:<name>",
		good + "\n" + good:                      "line 1 again",
	} {
		_, err := ParseTokens(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCheckListen(t *testing.T) {
	tokens := &Tokens{}
	for _, c := range []struct {
		addr     string
		tokens   *Tokens
		insecure bool
		ok       bool
	}{
		{"127.0.0.1:80", nil, false, true},
		{"127.8.0.1:80", nil, false, true},
		{"[::1]:80", nil, false, true},
		{"localhost:80", nil, false, true},
		{":80", nil, false, false},
		{"0.0.0.0:80", nil, false, false},
		{"10.0.0.1:80", nil, false, false},
		{"example.org:80", nil, false, false},
		{"nonsense", nil, false, false},
		{":80", tokens, false, true},
		{":80", nil, true, true},
	} {
		if err := CheckListen(c.addr, c.tokens, c.insecure); (err == nil) != c.ok {
			t.Errorf("%q tokens %v insecure %v: %v", c.addr, c.tokens != nil, c.insecure, err)
		}
	}
}

// A panic is a 500 with a code; its value, which may hold content, is nowhere.
func TestPanic(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	var routes []string
	w.opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	w.opt.Observe = func(route string, status int, _ time.Duration) {
		routes = append(routes, fmt.Sprint(route, " ", status))
	}
	w.opt.Snapshot = func() (*index.Reader, error) { panic("words of a user") }
	w.serve()
	if msg := w.fails(500, "internal", "/agdx/sessions/agents"); strings.Contains(msg, "words") {
		t.Errorf("message %q", msg)
	}
	if !strings.Contains(log.String(), "panicked") || strings.Contains(log.String(), "words of a user") {
		t.Errorf("log %s", log.String())
	}
	w.fails(404, "not_found", "/agdx/sessions/other")
	want := "/agdx/sessions/{stream} 500,/agdx/sessions/{stream} 404"
	if got := strings.Join(routes, ","); got != want {
		t.Errorf("observed %s, want %s", got, want)
	}
}

// What goes wrong below is logged, and the client learns only that it did.
func TestBackendError(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	w.opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	w.opt.Snapshot = func() (*index.Reader, error) { return nil, fmt.Errorf("disk sda3 is on fire") }
	w.serve()
	if msg := w.fails(502, "backend", "/agdx/sessions/agents"); strings.Contains(msg, "sda3") {
		t.Errorf("message %q", msg)
	}
	if !strings.Contains(log.String(), "sda3") {
		t.Errorf("log %s", log.String())
	}
}
