package telemetry

import (
	"bytes"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"sessionfold/wire"
)

// headerTrace is where a producer puts the context of a record (W3C Trace
// Context), and where change rows carry ours.
const headerTrace = "traceparent"

// linksOf gives the producers' contexts of some records: each trace once, those
// that are sampled first, at most limit. What is no context is passed over.
func linksOf(raw []wire.Raw, limit int) []trace.Link {
	var sampled, others []trace.SpanContext
	var last []byte
	for i := range raw {
		if len(sampled) >= limit {
			break
		}
		v := header(raw[i].Headers)
		if len(v) < traceLength || bytes.Equal(v, last) || len(others) >= limit && !saysSampled(v) {
			continue // records of one span often follow each other
		}
		last = v
		c, ok := parse(v)
		switch {
		case !ok || has(sampled, c.TraceID()):
		case c.IsSampled():
			sampled = append(sampled, c)
		case len(others) < limit && !has(others, c.TraceID()):
			others = append(others, c)
		}
	}
	var links []trace.Link
	for _, c := range sampled {
		links = append(links, trace.Link{SpanContext: c})
	}
	for _, c := range others {
		if len(links) == limit {
			break
		}
		if !has(sampled, c.TraceID()) {
			links = append(links, trace.Link{SpanContext: c})
		}
	}
	return links
}

func has(cs []trace.SpanContext, id trace.TraceID) bool {
	for i := range cs {
		if cs[i].TraceID() == id {
			return true
		}
	}
	return false
}

func header(hs []wire.Header) []byte {
	for i := range hs {
		if hs[i].Key == headerTrace {
			return hs[i].Value
		}
	}
	return nil
}

// traceLength is that of a traceparent of version 0: version, trace id, span id
// and flags in lower-case hexadecimal.
const traceLength = 2 + 1 + 32 + 1 + 16 + 1 + 2

// saysSampled looks at the flags of what may be a traceparent.
func saysSampled(v []byte) bool {
	const last = traceLength - 1
	return strings.IndexByte("13579bdf", v[last]) >= 0
}

// parse reads a traceparent. More may follow in versions after 0 only.
func parse(v []byte) (c trace.SpanContext, ok bool) {
	if len(v) < traceLength || v[2] != '-' || v[35] != '-' || v[52] != '-' {
		return c, false
	}
	for _, b := range v[:traceLength] {
		if b >= 'A' && b <= 'F' {
			return c, false
		}
	}
	var version, flags [1]byte
	var cfg trace.SpanContextConfig
	for _, f := range []struct{ to, from []byte }{
		{version[:], v[:2]}, {cfg.TraceID[:], v[3:35]}, {cfg.SpanID[:], v[36:52]}, {flags[:], v[53:55]},
	} {
		if _, err := hex.Decode(f.to, f.from); err != nil {
			return c, false
		}
	}
	if version[0] == 0xff || version[0] == 0 && len(v) != traceLength || len(v) > traceLength && v[traceLength] != '-' {
		return c, false
	}
	cfg.TraceFlags, cfg.Remote = trace.TraceFlags(flags[0])&trace.FlagsSampled, true
	c = trace.NewSpanContext(cfg)
	return c, c.IsValid()
}
