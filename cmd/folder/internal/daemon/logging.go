package daemon

import (
	"context"
	"log/slog"

	"sessionfold/source"
)

// hinting adds what an operator can do to a line whose "err" is a refusal by the
// brokers.
type hinting struct{ slog.Handler }

// Hinting wraps the handler of a worker's log.
func Hinting(h slog.Handler) slog.Handler { return hinting{h} }

func (h hinting) Handle(ctx context.Context, r slog.Record) error {
	hint := ""
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && a.Key == "err" {
			hint = source.Hint(err)
		}
		return hint == ""
	})
	if hint != "" {
		r.AddAttrs(slog.String("hint", hint))
	}
	return h.Handler.Handle(ctx, r)
}

func (h hinting) WithAttrs(as []slog.Attr) slog.Handler { return hinting{h.Handler.WithAttrs(as)} }

func (h hinting) WithGroup(name string) slog.Handler { return hinting{h.Handler.WithGroup(name)} }

// quieter shows the Kafka client's information as debugging: it tells of every
// metadata refresh and rebalance step, which the worker tells in its own words.
type quieter struct{ slog.Handler }

func kafkaLogger(log *slog.Logger) *slog.Logger { return slog.New(quieter{log.Handler()}) }

func demoted(l slog.Level) slog.Level {
	if l >= slog.LevelInfo && l < slog.LevelWarn {
		return slog.LevelDebug
	}
	return l
}

func (q quieter) Enabled(ctx context.Context, l slog.Level) bool {
	return q.Handler.Enabled(ctx, demoted(l))
}

func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = demoted(r.Level)
	r.AddAttrs(slog.String("client", "kafka"))
	return q.Handler.Handle(ctx, r)
}

func (q quieter) WithAttrs(as []slog.Attr) slog.Handler { return quieter{q.Handler.WithAttrs(as)} }

func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }
