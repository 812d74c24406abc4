package serve

import (
	"net/http"

	"sessionfold/wire"
)

// capabilities says what is served. The first group is the shape that clients
// of the AGDX HTTP binding decode; the rest is additive.
type capabilities struct {
	Managed  bool            `json:"managed"`
	Query    queryCaps       `json:"query"`
	KV       kvCaps          `json:"kv"`
	Graph    bool            `json:"graph"`
	Fork     bool            `json:"fork"`
	Versions opVersions      `json:"versions"`
	Sessions bool            `json:"sessions"`
	Reads    map[string]bool `json:"reads"`
	Streams  []streamCaps    `json:"streams"`
	Limits   limitCaps       `json:"limits"`
	Version  string          `json:"version,omitempty"`
}

type queryCaps struct {
	Available   bool   `json:"available"`
	Projections bool   `json:"projections"`
	Schemas     bool   `json:"schemas"`
	Consistency string `json:"consistency"`
}

type kvCaps struct {
	Available bool `json:"available"`
	CAS       bool `json:"cas"`
}

// opVersions are the versions of the binary surfaces; 0: none served.
type opVersions struct {
	Query   uint32 `json:"query"`
	Control uint32 `json:"control"`
	KV      uint32 `json:"kv"`
	Fork    uint32 `json:"fork"`
	Agent   uint32 `json:"agent"`
}

type streamCaps struct {
	Name    string `json:"name"`
	Dialect string `json:"dialect"`
}

type limitCaps struct {
	DefaultLimit int `json:"default_limit"`
	MaxLimit     int `json:"max_limit"`
	CursorBytes  int `json:"cursor_bytes"`
	RequestBytes int `json:"request_bytes"`
}

// httpCapabilities lists the streams that the caller may read.
func (h *handler) httpCapabilities(w http.ResponseWriter, r *http.Request) {
	g, err := h.opt.Tokens.authenticate(r)
	if err == nil {
		err = newParams(r.URL.RawQuery).err
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	c := capabilities{
		Managed: true, Sessions: true, Version: h.opt.Version,
		Query:    queryCaps{Consistency: "eventual"},
		Versions: opVersions{Agent: wire.EnvelopeVersion},
		Reads: map[string]bool{
			"list": true, "get": true, "events": true, "sources": true, "changes": h.opt.Changes != nil,
			"state": true, "links": true, "audit": h.audits(), "live": h.opt.Changes != nil,
		},
		Streams: []streamCaps{},
		Limits:  limitCaps{DefaultLimit: DefaultLimit, MaxLimit: MaxLimit, CursorBytes: MaxCursorBytes, RequestBytes: maxRequestBytes},
	}
	for _, s := range h.opt.Streams {
		if g.May(s.Name) {
			c.Streams = append(c.Streams, streamCaps{Name: s.Name, Dialect: h.dialect(s.Name).String()})
		}
	}
	h.reply(w, r, c)
}
