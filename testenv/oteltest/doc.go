// Package oteltest holds what a worker tells by OpenTelemetry against what a
// collector's own receiver gets of it. It is a module of its own so that nobody
// who uses the program pays for the collector.
package oteltest
