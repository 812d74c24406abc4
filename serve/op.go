package serve

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"sessionfold/wire"
)

// httpOp answers the CBOR binding: the request of a command code in, the tagged
// SessionReply out.
func (h *handler) httpOp(w http.ResponseWriter, r *http.Request) {
	v, err := h.op(w, r)
	h.replyOp(w, r, v, err)
}

func (h *handler) op(w http.ResponseWriter, r *http.Request) (any, error) {
	if _, err := h.opt.Tokens.authenticate(r); err != nil {
		return nil, err
	}
	if p := newParams(r.URL.RawQuery); p.err != nil {
		return nil, p.err
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != typeCBOR {
		return nil, invalid("Content-Type: accepted is %s", typeCBOR)
	}
	code, err := strconv.ParseUint(r.PathValue("code"), 10, 32)
	if err != nil {
		return nil, invalid("code: a number, accepted are %d to %d", wire.CodeSessionGet, wire.CodeSessionChanges)
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return nil, tooLarge("the request is larger than %d bytes", maxRequestBytes)
		}
		return nil, invalid("the request body ended early")
	}
	q, err := wire.DecodeRequest(uint32(code), b)
	if err != nil {
		return nil, err
	}
	s, err := h.grant(r, streamOf(q))
	if err != nil {
		return nil, err
	}
	return h.read(r.Context(), s, q)
}

func streamOf(q any) string {
	switch q := q.(type) {
	case *wire.SessionGet:
		return q.Stream
	case *wire.SessionList:
		return q.Stream
	case *wire.SessionEvents:
		return q.Stream
	case *wire.SessionState:
		return q.Stream
	case *wire.SessionLinks:
		return q.Stream
	case *wire.SessionSourcesRequest:
		return q.Stream
	case *wire.SessionChangesRequest:
		return q.Stream
	}
	return ""
}
