// Package telemetry tells what the worker does in the terms of OpenTelemetry:
// spans of batches and requests, and metrics with the names of its conventions.
// The standard environment variables say where that goes; with none of them set
// nothing leaves the process, and the metrics are on the Prometheus endpoint only.
//
// Nothing that a producer wrote goes into a span, a metric or a log line from
// here: no keys, values or headers but the ids of traces, and no ids of sessions
// (docs/telemetry.md lists everything). What a backend does, or does not, never
// stops or slows the worker: queues are bounded and drop, errors are logged.
package telemetry
