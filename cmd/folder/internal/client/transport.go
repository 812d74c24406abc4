package client

import (
	"bytes"
	"io"
	"net/http"
)

// transport calls a handler instead of the network.
type transport struct{ h http.Handler }

// RoundTrip gives what the handler wrote.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &writer{header: http.Header{}, status: http.StatusOK}
	t.h.ServeHTTP(w, req)
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
	}, nil
}

type writer struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *writer) Write(b []byte) (int, error) {
	w.wrote = true
	return w.body.Write(b)
}
