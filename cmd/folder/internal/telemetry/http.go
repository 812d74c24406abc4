package telemetry

import (
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Handler tells of the requests that h answers: a span each, below the caller's
// when it sends its context, and their durations. listen is the listener's
// address, which stands for the host that a client names.
//
// Names and labels have the pattern of the route, never the path: a path holds
// the id of a session.
func (t *Telemetry) Handler(h http.Handler, listen string) http.Handler {
	if t == nil || t.meters == nil {
		return h
	}
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := trace.SpanFromContext(r.Context())
		if !span.IsRecording() {
			h.ServeHTTP(w, r)
			return
		}
		// The path takes the place of the one that the span began with.
		defer func() { span.SetAttributes(semconv.HTTPRoute(pattern(r)), semconv.URLPath(pattern(r))) }()
		h.ServeHTTP(w, r)
	})
	provider := t.tracerProvider()
	return otelhttp.NewHandler(inner, "read", otelhttp.WithTracerProvider(provider), otelhttp.WithMeterProvider(t.meters),
		otelhttp.WithPropagators(t.propagate), otelhttp.WithServerName(listen))
}

// pattern is what the request matched, known once it was answered.
func pattern(r *http.Request) string {
	if r.Pattern == "" {
		return "none"
	}
	return r.Pattern
}
