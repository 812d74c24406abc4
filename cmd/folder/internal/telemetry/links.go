package telemetry

import (
	"encoding/hex"

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
	var last trace.TraceID
	for i := range raw {
		if len(sampled) >= limit {
			break
		}
		v := header(raw[i].Headers)
		if v == nil {
			continue
		}
		c, ok := parse(v)
		if !ok || c.TraceID() == last {
			continue // runs of one trace are common
		}
		last = c.TraceID()
		switch {
		case has(sampled, last):
		case c.IsSampled():
			sampled = append(sampled, c)
		case len(others) < limit && !has(others, last):
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

// parse reads a traceparent: version, trace id, span id and flags in lower-case
// hexadecimal. More may follow in versions after 0 only.
func parse(v []byte) (c trace.SpanContext, ok bool) {
	const length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	if len(v) < length || v[2] != '-' || v[35] != '-' || v[52] != '-' {
		return c, false
	}
	for _, b := range v[:length] {
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
	if version[0] == 0xff || version[0] == 0 && len(v) != length || len(v) > length && v[length] != '-' {
		return c, false
	}
	cfg.TraceFlags, cfg.Remote = trace.TraceFlags(flags[0])&trace.FlagsSampled, true
	c = trace.NewSpanContext(cfg)
	return c, c.IsValid()
}
