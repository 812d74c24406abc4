package daemon

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionfold/index"
	"sessionfold/serve"
)

// Tokens are added and withdrawn while reads are served; a file that cannot be
// used is told of once and changes nothing.
func TestTokensOfReadersChange(t *testing.T) {
	path, log := filepath.Join(t.TempDir(), "tokens"), &lines{}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	line := func(token string) string {
		return fmt.Sprintf("%x session:read stream:*\n", sha256.Sum256([]byte(token)))
	}
	put(line("one"))
	f, err := openTokens(path, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	h, err := serve.New(serve.Options{Tokens: f.inForce(), Now: func() uint64 { return 0 }, Snapshot: func() (*index.Reader, error) { return nil, index.ErrClosed }})
	if err != nil {
		t.Fatal(err)
	}
	reads := func(want string) {
		t.Helper()
		f.look()
		var got []string
		for _, token := range []string{"one", "two", "three"} {
			r, rec := httptest.NewRequest("GET", "/agdx/capabilities", nil), httptest.NewRecorder()
			r.Header.Set("Authorization", "Bearer "+token)
			if h.ServeHTTP(rec, r); rec.Code == 200 {
				got = append(got, token)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q may read, want %q; the log:\n%s", s, want, log)
		}
	}
	says := func(what string, times int) {
		t.Helper()
		if n := strings.Count(log.String(), what); n != times {
			t.Errorf("%d times %q, want %d:\n%s", n, what, times, log)
		}
	}
	reads("one")
	says("tokens", 0)
	put(line("one") + line("two"))
	reads("one two")
	reads("one two")
	says("other tokens are in force", 1)
	put(line("three") + "nonsense\n")
	reads("one two")
	reads("one two")
	says("line 2", 1)
	put("")
	reads("one two")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	reads("one two")
	says("cannot be used; the tokens of before stay in force", 3)
	put(line("three"))
	reads("three")
	if _, err := openTokens(filepath.Join(t.TempDir(), "none"), nil); err == nil || !strings.Contains(err.Error(), "http.tokens_file") {
		t.Errorf("%v", err)
	}
	if f, err := openTokens("", nil); f.inForce() != nil || err != nil {
		t.Errorf("%v %v", f, err)
	}
}
