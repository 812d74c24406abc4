package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// A connection that ends or falls silent goes on in another one, behind what was
// seen; missing rows are told; what is refused for good ends it.
func TestFollow(t *testing.T) {
	var asked []string
	answers := []func(w http.ResponseWriter, r *http.Request){
		func(w http.ResponseWriter, _ *http.Request) { // it ends within an event
			fmt.Fprint(w, "retry: 5\nid: 3\n\n: heartbeat\nid: 4\n\nid: 5\ndata: {\"seq\":5}\n\nid: 6\ndata: {\"se")
		},
		func(w http.ResponseWriter, r *http.Request) { // it falls silent
			fmt.Fprint(w, "id: 5\n\nid: 6\ndata: {\"seq\":6}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"message":"full"}`, http.StatusServiceUnavailable)
		},
		func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "id: 90\nevent: resync\ndata: {\"floor\":90}\n\nevent: later\ndata: {}\n\nid: 91\ndata:{\"seq\":\ndata:91}\n\n")
		},
		func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"message":"no more"}`, http.StatusUnauthorized)
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String()+" "+r.Header.Get("Last-Event-ID"))
		answers[len(asked)-1](w, r)
	}))
	defer s.Close()
	c, err := New(s.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	var rows, again []string
	var missing []uint64
	after := uint64(3)
	follow := Follow{
		After: &after, silence: 3 * time.Second, pause: time.Millisecond,
		Row:     func(raw json.RawMessage) error { rows = append(rows, string(raw)); return nil },
		Missing: func(floor uint64) { missing = append(missing, floor) },
		Again:   func(err error) { again = append(again, err.Error()) },
	}
	if err := c.Follow(t.Context(), "s", follow); err == nil || !strings.Contains(err.Error(), "no more") {
		t.Errorf("%v", err)
	}
	if got := strings.Join(rows, " "); got != `{"seq":5} {"seq":6} {"seq":91}` {
		t.Error(got)
	}
	const path = "/sessions/s/live?after=3 "
	if want := []string{path, path + "5", path + "6", path + "6", path + "91"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	if !slices.Equal(missing, []uint64{90}) {
		t.Errorf("missing %v", missing)
	}
	for i, want := range []string{"ended the connection", "nothing was heard for 3s", "full", "ended the connection"} {
		if i >= len(again) || !strings.Contains(again[i], want) {
			t.Errorf("again %q", again)
			break
		}
	}
	// The first connection is refused; so many rows are enough; who prints cannot.
	asked = make([]string, 2)
	if err := c.Follow(t.Context(), "s", follow); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("%v", err)
	}
	asked, rows, follow.Max = nil, nil, 1
	if err := c.Follow(t.Context(), "s", follow); err != nil || len(rows) != 1 {
		t.Errorf("%v %q", err, rows)
	}
	broken := errors.New("the pipe is closed")
	asked, follow.Row = nil, func(json.RawMessage) error { return broken }
	if err := c.Follow(t.Context(), "s", follow); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked, follow.Row = nil, func(json.RawMessage) error { cancel(); return nil }
	follow.Max = 0
	if err := c.Follow(ctx, "s", follow); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
