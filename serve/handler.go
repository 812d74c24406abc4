package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"sessionfold/wire"
)

type handler struct {
	opt      Options
	instance [16]byte // of this process
	learned  sync.Map // stream → wire.Dialect that other workers told

	tails     map[string]*tail // by stream, for live
	following atomic.Int32
}

// New gives the handler of the reads.
func New(o Options) (http.Handler, error) {
	h, err := newHandler(o)
	if err != nil {
		return nil, err
	}
	return h.handler(), nil
}

func newHandler(o Options) (*handler, error) {
	if o.Snapshot == nil || o.Now == nil {
		return nil, errors.New("serve: Options.Snapshot and Options.Now are required")
	}
	seen := map[string]bool{}
	for _, s := range o.Streams {
		if s.Name == "" || seen[s.Name] {
			return nil, fmt.Errorf("serve: stream %q: names are not empty and differ", s.Name)
		}
		seen[s.Name] = true
	}
	if o.Peers != nil && (o.Holding == nil || o.Partitions == nil) {
		return nil, errors.New("serve: Options.Peers wants Options.Holding and Options.Partitions")
	}
	o.fill()
	h := &handler{opt: o, tails: map[string]*tail{}}
	rand.Read(h.instance[:])
	for _, s := range o.Streams {
		h.tails[s.Name] = &tail{keep: tailBytes, logger: o.Logger.With("stream", s.Name), read: func(ctx context.Context, after uint64, limit int) (wire.SessionChanges, error) {
			return o.Changes(ctx, s.Name, after, limit)
		}}
	}
	return h, nil
}

func (h *handler) handler() http.Handler {
	mux := http.NewServeMux()
	h.routes(mux)
	return h.guard(mux)
}

// router is what a ServeMux does.
type router interface {
	HandleFunc(pattern string, f func(http.ResponseWriter, *http.Request))
}

// routes registers the reads of spec reads.md, section 1. `changes` and `live`
// are more specific than an id, so the mux matches them first.
func (h *handler) routes(mux router) {
	p := h.opt.Prefix
	session := p + "/sessions/{stream}/{id}"
	h.method(mux, http.MethodGet, p+"/capabilities", h.httpCapabilities)
	h.method(mux, http.MethodGet, p+"/sessions/{stream}", h.httpList)
	h.method(mux, http.MethodGet, p+"/sessions/{stream}/changes", h.httpChanges)
	h.method(mux, http.MethodGet, p+"/sessions/{stream}/live", h.httpLive)
	h.method(mux, http.MethodGet, session, h.httpGet)
	h.method(mux, http.MethodGet, session+"/events", h.httpEvents)
	h.method(mux, http.MethodGet, session+"/sources", h.httpSources)
	h.method(mux, http.MethodGet, session+"/state", h.httpState)
	h.method(mux, http.MethodGet, session+"/links", h.httpLinks)
	h.method(mux, http.MethodGet, session+"/audit", h.httpAudit)
	h.method(mux, http.MethodPost, p+"/op/{code}", h.httpOp)
	if h.opt.Peers != nil {
		h.method(mux, http.MethodPost, p+"/peer", h.httpPeer)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, wire.Errorf(wire.ErrNotFound, "no such route; the reads are below %s", p))
	})
}

// method registers a route; another method gets an error body too. The pattern
// names no method: the mux could not order it against those of ids then.
func (h *handler) method(mux router, method, path string, f http.HandlerFunc) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method || r.Method == http.MethodHead && method == http.MethodGet {
			f(w, r)
			return
		}
		w.Header().Set("Allow", method)
		h.fail(w, r, &failure{http.StatusMethodNotAllowed, "invalid_argument",
			wire.Errorf(wire.ErrInvalid, "method: this route takes %s", method)})
	})
}

func (h *handler) httpList(w http.ResponseWriter, r *http.Request) {
	p := newParams(r.URL.RawQuery, "status", "agent", "text", "root", "label_prefix", "cursor", "limit", "total",
		"activity", "source", "dialect", "tag", "active_from", "active_to")
	q := &wire.SessionList{
		Stream: r.PathValue("stream"), Status: p.text("status"), Agent: p.text("agent"), Text: p.text("text"),
		Root: h.paramID(p, r, "root"), LabelPrefix: p.text("label_prefix"), Cursor: p.cursor("cursor"),
		Limit: p.limit("limit"), WantTotal: p.flag("total"),
		ActiveFrom: p.time("active_from"), ActiveTo: p.time("active_to"),
		Activity: p.text("activity"), Source: p.text("source"), Dialect: p.text("dialect"), Tag: p.text("tag"),
	}
	h.serve(w, r, q.Stream, p, q)
}

func (h *handler) httpGet(w http.ResponseWriter, r *http.Request) {
	p := newParams(r.URL.RawQuery, "subtree")
	q := &wire.SessionGet{Stream: r.PathValue("stream"), ID: h.pathID(p, r), Subtree: p.flag("subtree")}
	h.serve(w, r, q.Stream, p, q)
}

func (h *handler) httpEvents(w http.ResponseWriter, r *http.Request) {
	p := newParams(r.URL.RawQuery, "cursor", "limit", "fixed_frontier", "collapse", "order", "around", "display")
	q := &wire.SessionEvents{
		Stream: r.PathValue("stream"), ID: h.pathID(p, r),
		Cursor: p.cursor("cursor"), Limit: p.limit("limit"), FixedFrontier: p.flag("fixed_frontier"),
		Collapse: p.flag("collapse"), Back: p.descending("order"), Around: p.time("around"), Display: p.words("display"),
	}
	h.serve(w, r, q.Stream, p, q)
}

func (h *handler) httpState(w http.ResponseWriter, r *http.Request) {
	p := newParams(r.URL.RawQuery, "history_limit")
	q := &wire.SessionState{Stream: r.PathValue("stream"), ID: h.pathID(p, r), HistoryLimit: p.limit("history_limit")}
	h.serve(w, r, q.Stream, p, q)
}

func (h *handler) httpLinks(w http.ResponseWriter, r *http.Request) {
	p := newParams(r.URL.RawQuery, "surface")
	q := &wire.SessionLinks{Stream: r.PathValue("stream"), ID: h.pathID(p, r), Surface: p.text("surface")}
	h.serve(w, r, q.Stream, p, q)
}

func (h *handler) httpSources(w http.ResponseWriter, r *http.Request) {
	p := newParams(r.URL.RawQuery, "lane_only")
	q := &wire.SessionSourcesRequest{Stream: r.PathValue("stream"), ID: h.pathID(p, r), LaneOnly: p.flag("lane_only")}
	h.serve(w, r, q.Stream, p, q)
}

func (h *handler) httpChanges(w http.ResponseWriter, r *http.Request) {
	p := newParams(r.URL.RawQuery, "after", "limit")
	q := &wire.SessionChangesRequest{Stream: r.PathValue("stream"), After: p.number("after"), Limit: p.limit("limit")}
	h.serve(w, r, q.Stream, p, q)
}

// serve authorises, checks the parameters, and answers a read. Who may not read
// the stream learns nothing else.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, stream string, p *params, q any) {
	s, err := h.grant(r, stream)
	if err == nil {
		err = p.err
	}
	var v any
	if err == nil {
		v, err = h.read(r.Context(), s, q)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.reply(w, r, v)
}

// read answers a request of either binding.
func (h *handler) read(ctx context.Context, s Stream, q any) (any, error) {
	switch q := q.(type) {
	case *wire.SessionChangesRequest:
		return h.changes(ctx, s, q)
	}
	v, err := h.open(ctx, s)
	if err != nil {
		return nil, err
	}
	out, err := v.read(q)
	if closeErr := v.snap.Close(); err == nil && closeErr != nil {
		return nil, closeErr
	}
	return out, err
}

func (h *handler) changes(ctx context.Context, s Stream, q *wire.SessionChangesRequest) (*wire.SessionChanges, error) {
	if h.opt.Changes == nil {
		return nil, wire.Errorf(wire.ErrUnsupported, "changes: this worker writes no changes topic")
	}
	limit, err := limitOf(q.Limit)
	if err != nil {
		return nil, err
	}
	c, err := h.opt.Changes(ctx, s.Name, q.After, limit)
	if err != nil {
		h.opt.Logger.ErrorContext(ctx, "change rows cannot be read", "stream", s.Name, "error", err.Error())
		return nil, wire.Errorf(wire.ErrUnavailable, "changes: the output topic cannot be read right now; try again")
	}
	return &c, nil
}
