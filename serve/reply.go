package serve

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"sessionfold/wire"
)

const (
	typeJSON = "application/json"
	typeCBOR = "application/cbor"
)

// wantsCBOR says that the client prefers CBOR: it names application/cbor with a
// higher weight than JSON, or first of equals.
func wantsCBOR(r *http.Request) bool {
	best, cbor := 0.0, false
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		t, args, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if v, ok := args["q"]; ok {
			if q, err = strconv.ParseFloat(v, 64); err != nil {
				continue
			}
		}
		if q <= best {
			continue
		}
		switch t {
		case typeCBOR:
			best, cbor = q, true
		case typeJSON, "application/*", "*/*":
			best, cbor = q, false
		}
	}
	return cbor
}

// encodeJSON writes v without escaping for HTML: the reply is no page.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// reply writes the value of a read in the encoding that the client asked for.
func (h *handler) reply(w http.ResponseWriter, r *http.Request, v any) {
	var b []byte
	var err error
	contentType := typeJSON
	if _, read := v.(capabilities); !read && wantsCBOR(r) {
		contentType = typeCBOR
		b, err = wire.EncodeRead(v)
	} else {
		b, err = encodeJSON(v)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, contentType, b)
}

// replyOp writes the tagged CBOR reply of a command; the status line says what
// the reply says.
func (h *handler) replyOp(w http.ResponseWriter, r *http.Request, v any, err error) {
	status, reply := http.StatusOK, wire.SessionReply{}
	if err != nil {
		f := h.report(r, err)
		status, reply.Err = f.status, f.err
		authenticateHeader(w, status)
	} else {
		reply.Ok = wire.Outcome(v)
	}
	b, err := wire.EncodeRead(reply)
	if err != nil {
		f := h.report(r, err)
		status = f.status
		b, _ = wire.EncodeRead(wire.SessionReply{Err: f.err}) // a kind and a text always encode
	}
	write(w, status, typeCBOR, b)
}

// fail writes the error body. It is JSON whatever the client accepts, as the
// AGDX HTTP binding has it.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := h.report(r, err)
	authenticateHeader(w, f.status)
	b, err := encodeJSON(body{Code: f.code, Message: f.err.Message})
	if err != nil {
		h.opt.Logger.Error("an error body cannot be encoded", slog.String("error", err.Error()))
	}
	write(w, f.status, typeJSON, b)
}

// report logs what the operator must see and gives the client's form.
func (h *handler) report(r *http.Request, err error) *failure {
	f := failureOf(err)
	if f.err.Kind == wire.ErrBackend {
		h.opt.Logger.ErrorContext(r.Context(), "a read failed", slog.String("route", r.Pattern), slog.String("error", err.Error()))
	}
	return f
}

func authenticateHeader(w http.ResponseWriter, status int) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="sessions"`)
	}
}

func write(w http.ResponseWriter, status int, contentType string, b []byte) {
	hd := w.Header()
	hd.Set("Content-Type", contentType)
	hd.Set("Content-Length", strconv.Itoa(len(b)))
	hd.Set("Cache-Control", "no-store")
	hd.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A client that went away is no trouble of ours.
	_, _ = w.Write(b)
}
