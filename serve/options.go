package serve

import (
	"context"
	"io"
	"log/slog"
	"time"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// Sizes of the reads (spec reads.md, section 2).
const (
	DefaultLimit   = 100
	MaxLimit       = 1000
	MaxCursorBytes = 512

	// DefaultSearchBudget is how many sessions one list request looks at before
	// it gives up filling its page.
	DefaultSearchBudget = 20_000
	// DefaultCountBudget is how many sessions `total` counts; with more there is
	// no total, because a number that is not known is left out.
	DefaultCountBudget = 200_000
	// DefaultSubtreeBudget is how many sessions below one a read adds up.
	DefaultSubtreeBudget = 10_000

	// DefaultHeartbeat is how often a client that follows changes live hears
	// something (spec reads.md, section 1).
	DefaultHeartbeat = 15 * time.Second

	maxRequestBytes = 64 << 10 // body of a CBOR request
)

// Options are the world of the read handler. Streams, Snapshot and Now are
// required.
type Options struct {
	Prefix  string   // default "/agdx"
	Version string   // of the program, for capabilities
	Streams []Stream // that are served

	// Snapshot opens a consistent view of the index.
	Snapshot func() (*index.Reader, error)
	// Changes reads change rows behind after: at most limit of them. Nil:
	// changes and live are unsupported.
	Changes func(ctx context.Context, stream string, after uint64, limit int) (wire.SessionChanges, error)
	// Heads looks at the broker. Nil, or an error: heads and the lane are not
	// known and left out.
	Heads func(ctx context.Context) (map[wire.TopicPartition]Head, error)
	// Coverage says what this process lacks to answer for the whole stream; nil
	// error: nothing. The message names the missing partitions.
	Coverage func(stream string) error
	// Holding says what this process has of a stream, and Partitions what a stream
	// consists of. Required with Peers, with whom Coverage is not asked.
	Holding    func(stream string) Holding
	Partitions func(stream string) ([]wire.TopicPartition, error)
	// Peers are the other workers, who are asked for what this one does not have.
	// Nil: a read of a stream that is not whole here is refused.
	Peers *Peers
	// Liveness is what heartbeats say of a session. Nil: not known.
	Liveness func(stream string, id wire.ID) fold.Liveness
	// Now is the wall clock in µs.
	Now func() uint64

	Tokens *Tokens // nil: no authentication, see CheckListen

	SearchBudget  int // default DefaultSearchBudget
	CountBudget   int // default DefaultCountBudget
	SubtreeBudget int // default DefaultSubtreeBudget

	Heartbeat time.Duration // of live; default DefaultHeartbeat

	// Observe is told of every request: the route's pattern (never an id), the
	// status code and how long it took; live, until its reply began.
	Observe func(route string, status int, took time.Duration)
	Logger  *slog.Logger // default: discards
}

// Stream is a stream that is served.
type Stream struct {
	Name    string
	Dialect wire.Dialect
	Auto    bool          // the records tell the dialect
	Idle    time.Duration // silence after which a session is idle when its start says nothing; 0: 300 s
	Lane    string        // full name of its lane topic; "" when it has none
}

// Head is what the broker holds of a partition: offsets [Start, High).
type Head struct {
	Start, High uint64
	Generation  uint64 // of the topic
	Partitions  int    // of the topic
}

func (o *Options) fill() {
	if o.Prefix == "" {
		o.Prefix = "/agdx"
	}
	if o.SearchBudget <= 0 {
		o.SearchBudget = DefaultSearchBudget
	}
	if o.CountBudget <= 0 {
		o.CountBudget = DefaultCountBudget
	}
	if o.SubtreeBudget <= 0 {
		o.SubtreeBudget = DefaultSubtreeBudget
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Observe == nil {
		o.Observe = func(string, int, time.Duration) {}
	}
}
