package daemon

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sessionfold/cmd/folder/internal/config"
)

// adminOf is the admin listener's handler of a worker that is not started.
func adminOf(t *testing.T, listen string, log *bytes.Buffer) http.Handler {
	t.Helper()
	l, err := config.Load(config.Input{Flags: map[string]string{"streams": "[{name: s}]", "store.dir": t.TempDir(), "admin.listen": listen}})
	if err != nil {
		t.Fatal(err)
	}
	level := new(slog.LevelVar)
	d := &Daemon{cfg: &l.Config, level: level, metrics: newMetrics(Build{}), drain: newDrain(),
		log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))}
	return d.adminHandler()
}

// from asks as somebody at an address would.
func from(h http.Handler, remote, method, target string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, target, nil), httptest.NewRecorder()
	r.RemoteAddr = remote
	h.ServeHTTP(w, r)
	return w
}

func TestLogLevelChangesWhileItRuns(t *testing.T) {
	var log bytes.Buffer
	h := adminOf(t, ":9090", &log)
	here, elsewhere := "127.0.0.1:4000", "10.0.0.7:4000"
	says := func(w *httptest.ResponseRecorder, status int, text string) {
		t.Helper()
		if w.Code != status || !strings.Contains(w.Body.String(), text) {
			t.Errorf("answered %d %s, want %d %s", w.Code, w.Body, status, text)
		}
	}
	says(from(h, elsewhere, "GET", "/loglevel"), 200, `{"level":"info"}`)
	says(from(h, elsewhere, "PUT", "/loglevel?level=debug"), 403, "own machine")
	says(from(h, here, "PUT", "/loglevel?level=loud"), 400, "accepted are debug, info, warn and error")
	says(from(h, elsewhere, "GET", "/loglevel"), 200, `{"level":"info"}`)
	says(from(h, here, "PUT", "/loglevel?level=error"), 200, `{"level":"error"}`)
	says(from(h, here, "PUT", "/loglevel?level=debug"), 200, `{"level":"debug"}`)
	if text := log.String(); strings.Count(text, "the log level is changed") != 2 || !strings.Contains(text, "from=error to=debug") {
		t.Errorf("logged:\n%s", text)
	}
}

// A level counts for the next line, of loggers that were made before too.
func TestLevelIsThatOfEveryLogger(t *testing.T) {
	var log bytes.Buffer
	level := new(slog.LevelVar)
	d := &Daemon{level: level, log: slog.New(Hinting(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})))}
	made := kafkaLogger(d.log.With("made", "before"))
	made.Info("client one")
	from(http.HandlerFunc(d.setLogLevel), "127.0.0.1:1", "PUT", "/loglevel?level=debug")
	made.Info("client two")
	if text := log.String(); strings.Contains(text, "client one") || !strings.Contains(text, "client two") {
		t.Errorf("logged:\n%s", text)
	}
}

func TestProfilesAreOnTheAdminListenerOnly(t *testing.T) {
	var log bytes.Buffer
	for listen, want := range map[string]int{"127.0.0.1:9090": 200, ":9090": 404} {
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/goroutine?debug=1", "/debug/pprof/symbol"} {
			if w := from(adminOf(t, listen, &log), "127.0.0.1:1", "GET", path); w.Code != want {
				t.Errorf("%s on %s: %d, want %d", path, listen, w.Code, want)
			}
		}
	}
}
