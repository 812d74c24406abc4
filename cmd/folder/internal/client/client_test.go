package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// pages serves n items, 3 to a page at most.
func pages(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		from, limit := 0, 0
		_, _ = fmt.Sscan(q.Get("cursor"), &from)
		_, _ = fmt.Sscan(q.Get("limit"), &limit)
		end := min(from+min(limit, 3), n)
		var items []string
		for i := from; i < end; i++ {
			items = append(items, fmt.Sprint(i))
		}
		cursor := ""
		if end < n {
			cursor = fmt.Sprintf(`,"cursor":"%d"`, end)
		}
		total := ""
		if q.Get("total") != "" && from == 0 {
			total = fmt.Sprintf(`,"total":%d`, n)
		}
		fmt.Fprintf(w, `{"items":[%s]%s%s}`, strings.Join(items, ","), cursor, total)
	})
}

func TestWalk(t *testing.T) {
	for _, c := range []struct{ n, max, want int }{{0, 0, 0}, {2, 0, 2}, {10, 0, 10}, {10, 4, 4}, {10, 3, 3}, {10, 99, 10}} {
		var got []string
		total, err := Of(pages(c.n), "/agdx").Sessions(context.Background(), "s", url.Values{"total": {"true"}}, c.max, func(raw json.RawMessage) error {
			got = append(got, string(raw))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != c.want {
			t.Errorf("%d of %d items: %v", c.max, c.n, got)
		}
		for i, g := range got {
			if g != fmt.Sprint(i) {
				t.Errorf("item %d is %s", i, g)
			}
		}
		if total == nil || *total != uint64(c.n) {
			t.Errorf("the total of the first page is lost: %v", total)
		}
	}
}

func TestNamesAreEscaped(t *testing.T) {
	var path string
	c := Of(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		fmt.Fprint(w, `{}`)
	}), "/agdx")
	if _, err := c.Session(context.Background(), "a/b", "x y?z"); err != nil {
		t.Fatal(err)
	}
	if path != "/agdx/sessions/a%2Fb/x%20y%3Fz" {
		t.Errorf("path %s", path)
	}
}

func TestErrorsArePointedAtPeople(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	l.Close()
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, c := range []struct {
		name, base string
		want       []string
	}{
		{"nobody", closed, []string{"nothing listens there", "hint: start a worker"}},
		{"not found", answer(404, `{"code":"not_found","message":"no such session"}`), []string{"no such session (not_found)"}},
		{"token", answer(401, `{"code":"unauthenticated","message":"a token is needed"}`), []string{"a token is needed", "hint: give a token with --token-file"}},
		{"other stream", answer(403, `{"code":"forbidden","message":"no"}`), []string{"hint: the token does not grant this stream"}},
		{"another server", answer(500, `<html>`), []string{"status 500 without an explanation", "hint: is this the address and prefix"}},
		{"no page", answer(200, `[]`), []string{"the reply is no page"}},
	} {
		cl, err := New(c.base, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = cl.Sessions(context.Background(), "s", nil, 0, func(json.RawMessage) error { return nil })
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q", c.name, err, w)
			}
		}
	}
	if _, err := New("localhost:8080", ""); err == nil || !strings.Contains(err.Error(), "is no URL of a worker") {
		t.Error(err)
	}
}

func TestTokenIsSent(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"streams":[{"name":"a"},{"name":"b"}]}`)
	}))
	defer s.Close()
	c, err := New(s.URL+"/", "secret")
	if err != nil {
		t.Fatal(err)
	}
	streams, err := c.Streams(context.Background())
	if err != nil || strings.Join(streams, " ") != "a b" || got != "Bearer secret" {
		t.Errorf("%v %v %q", streams, err, got)
	}
}

// TestTree: a parent stands before its children; a ring of parents, which only
// bad data makes, ends where it began; links to what is no session are passed
// over.
func TestTree(t *testing.T) {
	id := func(n int) string { return fmt.Sprintf("%026d", n) }
	children := map[string][]string{id(1): {id(2), id(3), "turn-7", id(9)}, id(2): {id(4)}, id(4): {id(1)}}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/") // "", agdx, sessions, s, id, links
		if parts[4] == id(9) {
			http.Error(w, `{"code":"not_found","message":"no such session"}`, http.StatusNotFound)
			return
		}
		if len(parts) == 5 {
			fmt.Fprintf(w, `{"stream":"s","id":%q,"status":"active"}`, parts[4])
			return
		}
		var links []string
		for _, c := range children[parts[4]] {
			links = append(links, fmt.Sprintf(`{"surface":%q,"item":%q}`, r.URL.Query().Get("surface"), c))
		}
		fmt.Fprintf(w, `{"links":[%s]}`, strings.Join(links, ","))
	})
	for max, want := range map[int]string{0: "0:1 1:2 2:4 3:1 again 1:3", 2: "0:1 1:2 more", 4: "0:1 1:2 2:4 3:1 again 1:3"} {
		var got []string
		more, err := Of(h, "/agdx").Tree(context.Background(), "s", id(1), max, func(n Node) error {
			got = append(got, fmt.Sprintf("%d:%s", n.Depth, strings.TrimLeft(n.Info.ID.String(), "0")))
			if n.Again {
				got = append(got, "again")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if more {
			got = append(got, "more")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("at most %d: %s, want %s", max, s, want)
		}
	}
}
