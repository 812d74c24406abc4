package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"sessionfold/wire"
)

// recorder remembers the status of a reply.
type recorder struct {
	http.ResponseWriter
	status  int
	begun   time.Time // of the reply
	endless bool      // it lasts until the client goes: its duration says nothing
}

func (r *recorder) begin(status int) {
	if r.status == 0 {
		r.status, r.begun = status, time.Now()
	}
}

func (r *recorder) WriteHeader(status int) {
	r.begin(status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.begin(http.StatusOK)
	return r.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController the writer below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// guard counts every request and turns a panic into a 500. The panic's value
// may hold anything a producer wrote, so only its type and stack are logged.
func (h *handler) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &recorder{ResponseWriter: w}
		defer func() {
			v := recover()
			if e, ok := v.(error); ok && errors.Is(e, http.ErrAbortHandler) {
				panic(v)
			}
			if v != nil {
				h.opt.Logger.ErrorContext(r.Context(), "a read panicked", slog.String("route", r.Pattern),
					slog.String("type", fmt.Sprintf("%T", v)), slog.String("stack", string(debug.Stack())))
				if rec.status == 0 {
					b, _ := encodeJSON(body{Code: "internal", Message: "the server failed; its log says where"})
					write(rec, http.StatusInternalServerError, typeJSON, b)
				}
			}
			took := time.Since(began)
			if rec.endless {
				took = rec.begun.Sub(began)
			}
			h.opt.Observe(route(r), rec.status, took)
			h.opt.Logger.DebugContext(r.Context(), "read", "route", route(r), "status", rec.status, "took", took)
		}()
		next.ServeHTTP(rec, r)
	})
}

// route is the pattern that matched, for labels: never a path.
func route(r *http.Request) string {
	if r.Pattern == "" {
		return "none"
	}
	return r.Pattern
}

// grant authenticates the request and, for a stream, checks that it is served
// and may be read. An unknown stream is told only to who may read it.
func (h *handler) grant(r *http.Request, stream string) (Stream, error) {
	g, err := h.opt.Tokens.authenticate(r)
	if err != nil {
		return Stream{}, err
	}
	if !g.May(stream) {
		return Stream{}, forbidden("the token does not grant session:read on stream:%s", stream)
	}
	for _, s := range h.opt.Streams {
		if s.Name == stream {
			return s, nil
		}
	}
	return Stream{}, wire.Errorf(wire.ErrNotRegistered, "stream: %q is not served here", stream)
}
