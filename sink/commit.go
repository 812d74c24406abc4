package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/index/row"
	"sessionfold/wire"
)

// Step is one source's part of a transaction.
type Step struct {
	Batch     *row.Batch
	TopicUUID [16]byte
	// Expect is the changelog offset the source's state stands on: the first
	// record of the step must come right behind it.
	Expect int64
	Epoch  int32 // leader epoch of the last folded record, -1 when unknown: it goes with the offset
	// Marker says that one marker of our own transaction may lie in between.
	Marker bool
}

// Txn is one commit.
type Txn struct {
	Steps []Step // at least one, each source once
	// Headers are put on every change row; usually none.
	Headers []wire.Header
	// Own is called when everything is written. It says who we are in the group
	// and holds the ownership of the steps' sources until release is called, or
	// says why they are not ours any more.
	Own func() (m Member, release func(), err error)
}

// Member is this process in its consumer group.
type Member struct {
	ID         string
	Generation int32
	Instance   string // empty: dynamic member
}

// acks is what the broker said of one step's changelog records.
type acks struct {
	mu       sync.Mutex
	n        int64
	min, max int64
	err      error
}

func (a *acks) add(r *kgo.Record, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil && a.err == nil:
		a.err = fmt.Errorf("%s[%d]: %w", r.Topic, r.Partition, err)
	case err != nil:
	case a.n == 0:
		a.n, a.min, a.max = 1, r.Offset, r.Offset
	default:
		a.n++
		a.min, a.max = min(a.min, r.Offset), max(a.max, r.Offset)
	}
}

// Commit writes and ends one transaction. On success it gives, per step, the
// changelog offset that the state now stands on. On any error the transaction
// is aborted, or its outcome is unknown; the error is a *Failure.
func (p *Producer) Commit(ctx context.Context, t *Txn) ([]int64, error) {
	ctx = context.WithoutCancel(ctx) // a request cut off half way leaves an outcome that nobody knows
	if p.cl == nil {
		return nil, fail(AtBegin, errNoProducer)
	}
	for i := range t.Steps {
		src := t.Steps[i].Batch.Source
		p.meet(ctx, p.cfg.Topics.Changelog(src.Topic), int32(src.Partition))
	}
	if err := p.cl.BeginTransaction(); err != nil {
		return nil, fail(AtBegin, err)
	}
	next, f := p.write(ctx, t)
	if f == nil {
		for i := range t.Steps {
			p.seen[p.cfg.Topics.Changelog(t.Steps[i].Batch.Source.Topic)] = true
		}
		return next, nil
	}
	if err := p.cl.AbortBufferedRecords(ctx); err != nil {
		f.Reaction |= Renew
	}
	if err := p.cl.EndTransaction(ctx, kgo.TryAbort); err != nil {
		f.Reaction |= Renew
		f.Err = errors.Join(f.Err, fmt.Errorf("abort: %w", err))
	}
	return nil, f
}

func (p *Producer) write(ctx context.Context, t *Txn) ([]int64, *Failure) {
	got := make([]acks, len(t.Steps))
	rows := make([]acks, len(t.Steps))
	var headers []kgo.RecordHeader
	for _, h := range t.Headers {
		headers = append(headers, kgo.RecordHeader(h))
	}
	// The client is done with the records of a transaction that is written; of one
	// that failed it may hold some, so their memory is not used again.
	recs := slices.Grow(p.records[:0], records(t))
	p.records = nil
	for i := range t.Steps {
		var err error
		if recs, err = p.produce(ctx, recs, t.Steps[i].Batch, headers, &got[i], &rows[i]); err != nil {
			return nil, fail(AtProduce, err, i)
		}
	}
	if err := p.cl.Flush(ctx); err != nil {
		return nil, fail(AtProduce, err)
	}
	for i := range t.Steps {
		if err := errors.Join(got[i].err, rows[i].err); err != nil {
			return nil, fail(AtProduce, err, i)
		}
	}
	next := make([]int64, len(t.Steps))
	for i := range t.Steps {
		if f := p.continuous(ctx, i, &t.Steps[i], &got[i]); f != nil {
			return nil, f
		}
		next[i] = got[i].max + 1
	}
	// From here to the end of the transaction no source is given up; what another
	// owner writes meanwhile meets our records in its own check of continuity.
	me, release, err := t.Own()
	if err != nil {
		return nil, fail(AtOwn, err)
	}
	defer release()
	if f := p.offsets(ctx, t.Steps, me); f != nil {
		return nil, f
	}
	if err := p.cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		f := fail(AtEnd, err)
		f.Unknown = true
		return nil, f
	}
	clear(recs)
	p.records = recs
	return next, nil
}

// records counts what a transaction writes.
func records(t *Txn) (n int) {
	for i := range t.Steps {
		n += durable(t.Steps[i].Batch) + len(t.Steps[i].Batch.Changes)
	}
	return n
}

func durable(b *row.Batch) (n int) {
	for i := range b.Ops {
		if b.Ops[i].Durable {
			n++
		}
	}
	return n
}

// produce appends the step's records to recs, which has room for them: the client
// writes to those that it has, so they may not be copied to grow.
func (p *Producer) produce(ctx context.Context, recs []kgo.Record, b *row.Batch, headers []kgo.RecordHeader, got, rows *acks) ([]kgo.Record, error) {
	topic := p.cfg.Topics.Changelog(b.Source.Topic)
	if n := durable(b); n == 0 || len(b.Changes) == 0 && b.Frontier.Next > b.From {
		return recs, fmt.Errorf("sink: a step of %s with %d changelog records and %d change rows: a step that covers offsets has at least one of each", b.Source, n, len(b.Changes))
	}
	for i := range b.Ops {
		if op := &b.Ops[i]; op.Durable {
			recs = append(recs, kgo.Record{Topic: topic, Partition: int32(b.Source.Partition), Key: op.Key, Value: op.Value})
			p.cl.Produce(ctx, &recs[len(recs)-1], got.add)
		}
	}
	key, changes := []byte(b.Source.Stream), p.cfg.Topics.changesPartition(b.Source.Stream)
	for i := range b.Changes {
		v := b.Changes[i].AppendJSON(nil)
		recs = append(recs, kgo.Record{Topic: p.cfg.Topics.cfg.ChangesTopic, Partition: changes, Key: key, Value: v, Headers: headers})
		p.cl.Produce(ctx, &recs[len(recs)-1], rows.add)
	}
	return recs, nil
}

// continuous holds the offsets that the changelog records got against where
// the state stands: the changelog partition is the lock of its source.
func (p *Producer) continuous(ctx context.Context, i int, s *Step, a *acks) *Failure {
	src := s.Batch.Source
	tp := wire.TopicPartition{Topic: p.cfg.Topics.Changelog(src.Topic), Partition: int32(src.Partition)}
	if a.max-a.min+1 != a.n {
		return failf(AtContinuity, i, "%s: %d records lie at offsets %d to %d: another owner writes too", tp, a.n, a.min, a.max)
	}
	gap := a.min - s.Expect
	if gap == 0 || gap == 1 && s.Marker {
		return nil
	}
	if gap < 0 {
		return failf(AtContinuity, i, "%s: records got offset %d, the state stands at %d", tp, a.min, s.Expect)
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.TransactionTimeout/2)
	defer cancel()
	quiet, err := p.cfg.Quiet(ctx, tp, s.Expect, a.min)
	switch {
	case err != nil:
		return fail(AtContinuity, err, i)
	case !quiet:
		return failf(AtContinuity, i, "%s: records that the state does not know lie between offset %d and %d", tp, s.Expect, a.min)
	}
	return nil
}
