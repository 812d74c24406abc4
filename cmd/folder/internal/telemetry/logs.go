package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

func (t *Telemetry) beginLogs(ctx context.Context, res *resource.Resource) error {
	if destination("LOGS") == "" {
		return nil
	}
	exp, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return fmt.Errorf("telemetry: exporter of logs: %w", err)
	}
	t.logs = sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exp)), sdklog.WithResource(res))
	return nil
}

// Logger gives what the worker logs to: log itself, and OTLP when that is asked
// for. Troubles of exporters go to log alone, or each would make another.
func (t *Telemetry) Logger(log *slog.Logger) *slog.Logger {
	if t == nil || t.logs == nil {
		return log
	}
	over := otelslog.NewHandler(scope, otelslog.WithLoggerProvider(t.logs), otelslog.WithVersion(t.opt.Version))
	return slog.New(slog.NewMultiHandler(log.Handler(), leveled{over, t.opt.Level}))
}

// leveled leaves out what is below the level of now.
type leveled struct {
	slog.Handler
	least slog.Leveler
}

func (l leveled) Enabled(ctx context.Context, level slog.Level) bool {
	return (l.least == nil || level >= l.least.Level()) && l.Handler.Enabled(ctx, level)
}

func (l leveled) WithAttrs(as []slog.Attr) slog.Handler {
	return leveled{l.Handler.WithAttrs(as), l.least}
}

func (l leveled) WithGroup(name string) slog.Handler {
	return leveled{l.Handler.WithGroup(name), l.least}
}

// Traced is a handler whose lines name the trace and the span of their context.
func Traced(h slog.Handler) slog.Handler { return traced{h} }

type traced struct{ slog.Handler }

func (t traced) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()), slog.String("span_id", c.SpanID().String()))
	}
	return t.Handler.Handle(ctx, r)
}

func (t traced) WithAttrs(as []slog.Attr) slog.Handler { return traced{t.Handler.WithAttrs(as)} }

func (t traced) WithGroup(name string) slog.Handler { return traced{t.Handler.WithGroup(name)} }
