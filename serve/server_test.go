package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAdmin(t *testing.T) {
	var live error
	ready := []Check{{Name: "restored"}, {Name: "assigned", Err: errors.New("3 of 8 sources")}}
	h := Admin(AdminOptions{
		Version: map[string]string{"version": "1.2"},
		Live:    func() error { return live },
		Ready:   func() []Check { return ready },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "folded 7\n") }),
	})
	get := func(path string) (int, string) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		return rec.Code, rec.Body.String()
	}
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{"/livez", 200, "ok\n"},
		{"/startupz", 200, "ok\n"},
		{"/readyz", 503, "assigned: 3 of 8 sources\n"},
		{"/readyz?verbose", 503, `{"ok":false,"checks":[{"name":"restored","ok":true},{"name":"assigned","ok":false,"message":"3 of 8 sources"}]}` + "\n"},
		{"/version", 200, `{"version":"1.2"}` + "\n"},
		{"/metrics", 200, "folded 7\n"},
	} {
		if status, body := get(c.path); status != c.status || body != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.path, status, body, c.status, c.body)
		}
	}
	ready[1].Err = nil
	if status, _ := get("/readyz"); status != 200 {
		t.Errorf("ready: %d", status)
	}
	live = errors.New("the store failed")
	if status, body := get("/livez"); status != 503 || !strings.Contains(body, "the store failed") {
		t.Errorf("not live: %d %q", status, body)
	}
}

// A stop lets the request in flight finish and takes no new one.
func TestServeStopsGracefully(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	srv := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "whole")
	}), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, srv, ln, 10*time.Second) }()
	got := make(chan string, 1)
	go func() {
		resp, err := http.Get("http://" + ln.Addr().String())
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	<-entered
	stop()
	close(release)
	if b := <-got; b != "whole" {
		t.Errorf("the request in flight gave %q", b)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A request that never ends is cut when grace is over.
func TestServeStopsInTime(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{})
	srv := NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, srv, ln, 10*time.Millisecond) }()
	go func() {
		if resp, err := http.Get("http://" + ln.Addr().String()); err == nil {
			resp.Body.Close()
		}
	}()
	<-entered
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still serving")
	}
}

func TestCapabilitiesAreJSON(t *testing.T) {
	w := newWorld(t)
	rec := w.request("GET", "/agdx/capabilities", nil, "Accept", typeCBOR)
	var m map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &m); err != nil || m["sessions"] != true {
		t.Errorf("%v %s", err, rec.Body)
	}
	for _, required := range []string{"managed", "query", "kv", "fork", "versions"} {
		if _, ok := m[required]; !ok {
			t.Errorf("clients decode %s, which is missing", required)
		}
	}
}
