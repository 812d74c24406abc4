package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// op sends a CBOR request and decodes the tagged reply.
func (w *world) op(code int, q any, header ...string) (wire.SessionReply, *httptest.ResponseRecorder) {
	w.t.Helper()
	b, err := wire.EncodeRead(q)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.rawOp(code, b, append([]string{"Content-Type", typeCBOR}, header...)...)
}

func (w *world) rawOp(code int, b []byte, header ...string) (r wire.SessionReply, rec *httptest.ResponseRecorder) {
	w.t.Helper()
	rec = w.request("POST", fmt.Sprintf("/agdx/op/%d", code), bytes.NewReader(b), header...)
	if ct := rec.Header().Get("Content-Type"); ct != typeCBOR {
		w.t.Fatalf("op %d: %d %s %s", code, rec.Code, ct, rec.Body)
	}
	if err := wire.DecodeRead(rec.Body.Bytes(), &r); err != nil {
		w.t.Fatalf("op %d: %v", code, err)
	}
	if (r.Ok == nil) == (r.Err == nil) || (r.Ok != nil) != (rec.Code == 200) {
		w.t.Fatalf("op %d: status %d, reply %+v", code, rec.Code, r)
	}
	return r, rec
}

func TestOps(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	s.Tool("search", `{"q":1}`, "found")
	w.session("second", "planner")
	w.commit()
	w.opt.Changes = func(_ context.Context, stream string, after uint64, limit int) (wire.SessionChanges, error) {
		return wire.SessionChanges{Floor: 3, Resync: after < 3, Rows: wire.List[wire.SessionChangeRow]{{Seq: after + 1, Sessions: wire.List[wire.ID]{s.ID}}}}, nil
	}
	w.serve()
	get, _ := w.op(wire.CodeSessionGet, wire.SessionGet{Stream: stream, ID: s.ID})
	if get.Ok == nil || get.Ok.Info == nil || get.Ok.Info.ID != s.ID || get.Ok.Info.ToolCalls != 1 {
		t.Errorf("get %+v", get)
	}
	list, _ := w.op(wire.CodeSessionList, wire.SessionList{Stream: stream, Agent: new("planner"), Limit: 1, WantTotal: true})
	if list.Ok == nil || list.Ok.Page == nil || len(list.Ok.Page.Items) != 1 || *list.Ok.Page.Total != 2 || list.Ok.Page.Cursor == "" {
		t.Fatalf("list %+v", list)
	}
	// A cursor of one binding serves the other.
	list, _ = w.op(wire.CodeSessionList, wire.SessionList{Stream: stream, Agent: new("planner"), Cursor: &list.Ok.Page.Cursor})
	if list.Ok == nil || len(list.Ok.Page.Items) != 1 || list.Ok.Page.Items[0].ID != s.ID {
		t.Errorf("second page %+v", list)
	}
	ev, _ := w.op(wire.CodeSessionEvents, wire.SessionEvents{Stream: stream, ID: s.ID, Limit: 2})
	if ev.Ok == nil || ev.Ok.Events == nil || len(ev.Ok.Events.Items) != 2 || ev.Ok.Events.Items[1].Summary["size"] == nil {
		t.Errorf("events %+v", ev)
	}
	src, _ := w.op(wire.CodeSessionSources, wire.SessionSourcesRequest{Stream: stream, ID: s.ID})
	if src.Ok == nil || src.Ok.Sources == nil || len(src.Ok.Sources.Sources) != 1 || src.Ok.Sources.Lane.Partitions != 2 {
		t.Errorf("sources %+v", src)
	}
	ch, _ := w.op(wire.CodeSessionChanges, wire.SessionChangesRequest{Stream: stream, After: 2})
	if ch.Ok == nil || ch.Ok.Changes == nil || !ch.Ok.Changes.Resync || ch.Ok.Changes.Rows[0].Seq != 3 {
		t.Errorf("changes %+v", ch)
	}
}

func TestOpErrors(t *testing.T) {
	w := newWorld(t)
	id := agdxlog.NameID("x")
	check := func(name string, r wire.SessionReply, kind wire.ErrorKind) {
		t.Helper()
		if r.Err == nil || r.Err.Kind != kind {
			t.Errorf("%s: %+v, want %s", name, r, kind)
		}
	}
	r, rec := w.op(wire.CodeSessionGet, wire.SessionGet{Stream: stream, ID: id})
	check("unknown session", r, wire.ErrNotFound)
	if rec.Code != 404 {
		t.Errorf("status %d", rec.Code)
	}
	r, _ = w.op(wire.CodeSessionGet, wire.SessionGet{Stream: "other", ID: id})
	check("unknown stream", r, wire.ErrNotRegistered)
	r, _ = w.op(wire.CodeSessionState, wire.SessionState{Stream: stream, ID: id})
	check("state of an unknown session", r, wire.ErrNotFound)
	r, _ = w.op(wire.CodeSessionLinks, wire.SessionLinks{Stream: stream, ID: id})
	check("links of an unknown session", r, wire.ErrNotFound)
	r, _ = w.op(wire.CodeSessionChanges, wire.SessionChangesRequest{Stream: stream})
	check("changes without a topic", r, wire.ErrUnsupported)
	r, _ = w.op(1000717, wire.SessionGet{Stream: stream, ID: id})
	check("unknown code", r, wire.ErrUnsupported)
	r, _ = w.op(wire.CodeSessionList, wire.SessionList{Stream: stream, Status: new("asleep")})
	check("unknown word", r, wire.ErrInvalid)
	r, _ = w.op(wire.CodeSessionList, wire.SessionList{Stream: stream, Limit: 1001})
	check("limit", r, wire.ErrInvalid)
	r, _ = w.rawOp(wire.CodeSessionGet, []byte{0xa0}, "Content-Type", typeJSON)
	check("content type", r, wire.ErrInvalid)
	r, _ = w.rawOp(wire.CodeSessionGet, []byte("junk"), "Content-Type", typeCBOR)
	check("junk", r, wire.ErrInvalid)
	r, rec = w.rawOp(wire.CodeSessionGet, make([]byte, maxRequestBytes+1), "Content-Type", typeCBOR)
	check("too large", r, wire.ErrInvalid)
	if rec.Code != 413 {
		t.Errorf("too large: %d", rec.Code)
	}
}

// The GET routes give the inner value in CBOR to who asks for it, without the
// additive fields; errors stay JSON.
func TestAcceptCBOR(t *testing.T) {
	w := newWorld(t)
	s := w.session("first", "planner")
	w.commit()
	path := "/agdx/sessions/agents/" + s.ID.String()
	for accept, cbor := range map[string]bool{
		"application/cbor": true, "application/json": false, "": false, "*/*": false, "text/html, */*;q=0.1": false,
		"application/json;q=0.5, application/cbor": true, "application/cbor;q=0.5, application/json": false,
	} {
		rec := w.request("GET", path, nil, "Accept", accept)
		if got := rec.Header().Get("Content-Type") == typeCBOR; got != cbor || rec.Code != 200 {
			t.Errorf("Accept %q: %d, CBOR %v", accept, rec.Code, got)
		}
		if !cbor {
			continue
		}
		var info wire.SessionInfo
		if err := wire.DecodeRead(rec.Body.Bytes(), &info); err != nil || info.ID != s.ID || info.Dialect != "" || bytes.Contains(rec.Body.Bytes(), []byte("agents.agent")) {
			t.Errorf("%v: %+v", err, info)
		}
		// The tagged reply holds the very same bytes.
		_, op := w.op(wire.CodeSessionGet, wire.SessionGet{Stream: stream, ID: s.ID})
		if !bytes.HasSuffix(op.Body.Bytes(), rec.Body.Bytes()) {
			t.Error("the two bindings differ")
		}
	}
	var b body
	rec := w.request("GET", path+"x", nil, "Accept", typeCBOR)
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err != nil || b.Code != "invalid_argument" {
		t.Errorf("%v %s", err, rec.Body)
	}
}

func TestChangesRoute(t *testing.T) {
	w := newWorld(t)
	var after uint64
	var limit int
	var fault error
	w.opt.Changes = func(_ context.Context, _ string, a uint64, l int) (wire.SessionChanges, error) {
		after, limit = a, l
		return wire.SessionChanges{Floor: 7}, fault
	}
	w.serve()
	if rec := w.request("GET", "/agdx/sessions/agents/changes?after=18446744073709551615&limit=5", nil); rec.Code != 200 ||
		strings.TrimSpace(rec.Body.String()) != `{"rows":[],"floor":7,"resync":false}` || after != 1<<64-1 || limit != 5 {
		t.Errorf("%d %s after %d limit %d", rec.Code, rec.Body, after, limit)
	}
	w.request("GET", "/agdx/sessions/agents/changes", nil)
	if after != 0 || limit != DefaultLimit {
		t.Errorf("defaults: after %d limit %d", after, limit)
	}
	fault = context.DeadlineExceeded
	w.fails(503, "unavailable", "/agdx/sessions/agents/changes")
	w.fails(400, "invalid_argument", "/agdx/sessions/agents/changes?after=-1")
}

func FuzzCursor(f *testing.F) {
	bound := binding("x")
	f.Add(sealCursor(cursorList, bound, make([]byte, 56)), true)
	f.Add(sealCursor(cursorEvents, bound, []byte{1, 2, 3, 4, 5, 6, 7}), false)
	f.Fuzz(func(t *testing.T, text string, list bool) {
		if list {
			_, _ = openListCursor(cursorList, bound, text)
			_, _ = openListCursor(cursorMerged, bound, text)
			return
		}
		if b, err := openCursor(cursorEvents, bound, text); err == nil {
			if sealCursor(cursorEvents, bound, b) != text {
				t.Fatalf("%q opens and is not what sealing gives", text)
			}
		}
	})
}
