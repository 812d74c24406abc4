package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sessionfold/cmd/folder/internal/config"
)

// lines is a log that may be written from anywhere.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestTokensByClientCredentials: one request serves the logins until the token
// nears its end, the secret goes where it belongs and into no error.
func TestTokensByClientCredentials(t *testing.T) {
	asked, lasts, refuse := 0, 3600, ""
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		asked++
		user, secret, ok := r.BasicAuth()
		if !ok || user != "client+one" || secret != "s%2Fcret" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka" {
			t.Errorf("asked as %q with %q and %v", user, secret, r.Form)
		}
		if refuse != "" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":%q}`, refuse)
			return
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":%d}`, asked, lasts)
	})
	mux.HandleFunc("POST /moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/token", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("POST /page", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") })
	s := httptest.NewServer(mux)
	defer s.Close()
	f := files{t, t.TempDir()}
	k := &config.Kafka{OAuthTokenURL: s.URL + "/token", OAuthClientID: "client one", OAuthClientSecretFile: f.put("secret", []byte("s/cret\n")), OAuthScope: "kafka"}
	get := token(k)
	want := func(text string) {
		t.Helper()
		if got, err := get(t.Context()); got != text || err != nil {
			t.Errorf("token %q, %v; want %q", got, err, text)
		}
	}
	want("token-1")
	want("token-1") // kept
	get, lasts = token(k), 10
	want("token-2")
	want("token-3") // 10 s are too short to be used again
	for path, says := range map[string]string{"/moved": "307", "/page": "no JSON", "/token": "invalid_client"} {
		if path == "/token" {
			refuse = "invalid_client"
		}
		k.OAuthTokenURL = s.URL + path
		got, err := get(t.Context())
		if err == nil || got != "" || strings.Contains(err.Error(), "cret") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: token %q, %v; want it to say %s", path, got, err, says)
		}
		refuse = ""
	}
}

// A token file is read at each login: Kubernetes renews it.
func TestTokenFileIsReadAgain(t *testing.T) {
	f := files{t, t.TempDir()}
	get := token(&config.Kafka{OAuthTokenFile: f.put("token", []byte("a\n"))})
	for _, want := range []string{"a", "b"} {
		f.put("token", []byte(want))
		if got, err := get(t.Context()); got != want || err != nil {
			t.Errorf("token %q, %v; want %q", got, err, want)
		}
	}
}
