package worker

import (
	"context"
	"time"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Env is the world of a worker. A function that blocks ends when its context
// does, but for Commit, which finishes what it began.
type Env struct {
	// The consumer.
	Poll       func(ctx context.Context, max int) (fetched []wire.Fetched, notes []error, err error)
	Member     func() (id string, generation int32)
	Pause      func(wire.TopicPartition)
	Resume     func(wire.TopicPartition)
	Seek       func(at map[wire.TopicPartition]uint64) // the loop only
	Rediscover func(topic string)                      // a topic was created anew
	Heartbeat  time.Duration                           // after which the group has told us of a loss

	// Reading by position.
	Identify func(context.Context, wire.TopicPartition) (wire.Identity, error)
	// Held says how much of the folded offsets, those below next, the leader of
	// a source still has.
	Held func(ctx context.Context, tp wire.TopicPartition, next uint64) (wire.Held, error)
	// Prepare makes sure that there is a changelog for the source.
	Prepare   func(context.Context, wire.Identity) error
	Changelog func(context.Context, wire.TopicPartition) (Changelog, error)
	// ReadChangelog hands out the source's changelog from a position to the high
	// watermark of the time of the call; it gives the position reached.
	ReadChangelog func(ctx context.Context, tp wire.TopicPartition, from int64, put func(offset int64, key, value []byte) error) (int64, error)

	// Committed gives the group's offset of a source, and LastSeq the sequence of
	// its last change row, 0 when there is none.
	Committed func(context.Context, wire.TopicPartition) (next uint64, known bool, err error)
	LastSeq   func(context.Context, *wire.Source) (uint64, error)

	// Scan hands out the records of the offsets [from, to) of a source once more.
	Scan func(ctx context.Context, tp wire.TopicPartition, from, to uint64, batch int, put func([]wire.Raw) error) error

	// The producer.
	Renew  func(context.Context) error
	Commit func(context.Context, *Txn) (changelogNext []int64, err error) // the error is a *Failure

	// The store.
	Meta       func(*wire.Source) (Meta, bool, error)
	NewRestore func(src *wire.Source, changelogID uint64) Restore
	Remove     func(context.Context, *wire.Source) error
	// Copy gives the durable rows of a source in batches, nil behind the last.
	Copy      func(*wire.Source) (func() (*row.Batch, error), error)
	Load      func(src *wire.Source, ids []wire.ID) (map[wire.ID]*fold.Partial, error)
	LoadState func(src *wire.Source, id wire.ID) (*state.State, error)
	Apply     func([]Applied) error
	// For timeline rows that are folded again: partials that know only of the
	// rows kept below an offset, and the write of a step's rows alone.
	Kept      func(src *wire.Source, ids []wire.ID, below uint64) (map[wire.ID]*fold.Partial, error)
	ApplyRows func(*row.Batch) error

	// For traces and metrics; nil: nobody looks. Follow is asked for each fold, with
	// the moment at which its first record was polled; nil: this one is not followed.
	// Folded is told how long the fold of a source's records took.
	Follow func(since time.Time) Batch
	Folded func(tp wire.TopicPartition, took time.Duration, err error)

	Memory *Memory // of all folds
	Fold   func(stream string) *fold.Config
}

// Meta is what the store knows of a source.
type Meta struct {
	Frontier      fold.Frontier
	ChangelogNext int64      // changelog offset that the stored state stands on
	ChangelogID   uint64     // of the topic; 0 not known
	AppliedAt     time.Time  // when an owner last wrote
	Removing      bool       // nothing of the source may be used: a removal was cut off
	RefoldTo      uint64     // what had been folded when the source was last begun anew
	Holes         []row.Span // folded offsets whose timeline rows are missing
}

// Restore takes the records of a changelog into the store.
type Restore interface {
	// Put says whether the record was one of the source's own.
	Put(key, value []byte) (bool, error)
	// Commit makes what was put visible, with the position reached.
	Commit(changelogNext int64) error
}

// Applied is a step that Kafka has committed.
type Applied struct {
	Batch         *row.Batch
	ChangelogNext int64
	ChangelogID   uint64
}

// Step is one source's part of a transaction.
type Step struct {
	Batch     *row.Batch
	TopicUUID [16]byte
	Expect    int64 // changelog offset that the source's state stands on
	Epoch     int32 // leader epoch of the last folded record, -1 when unknown
	Marker    bool  // a marker of our own may lie there
}

// Txn is one commit, with at least one step and each source once.
type Txn struct {
	Steps []Step
	// Batches are those that the steps came from and that somebody follows.
	Batches []Batch
	// Own says who we are in the group and holds the ownership of all the steps'
	// sources until release, or says why they are not ours any more.
	Own func() (member string, generation int32, release func(), err error)
}

// Failure is a commit that did not happen, or of which nobody knows. The steps'
// sources are restored in any case.
type Failure struct {
	Err    error
	Where  string // a word for metrics
	Wait   bool   // for a callback or a heartbeat, then restore
	Renew  bool   // the producer is of no more use
	Fenced bool   // by a newer producer of the same name, or by the transaction's timeout
	Exit   bool   // another process has taken over for good
	Hold   []int  // steps whose error would come back at once
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }
