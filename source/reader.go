package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/wire"
)

// Reader reads partitions by position, beside the consumer: changelogs, the
// changes topic, identities and heads. It has connections of its own, because a
// fetch that the consumer has parked at a broker holds up what comes behind it.
// It may be used by any number of goroutines.
type Reader struct {
	cl     *kgo.Client
	adm    *kadm.Client
	topics map[string]topicOf
	heads  headCache
	told   dialects
}

// NewReader makes a reader for the topics of the streams.
func NewReader(conn Conn, streams []Stream) (*Reader, error) {
	topics, _, err := layout(streams)
	if err != nil {
		return nil, err
	}
	opts, err := conn.Options()
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(append(opts, kgo.MetadataMinAge(250*time.Millisecond))...)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return &Reader{cl: cl, adm: kadm.NewClient(cl), topics: topics}, nil
}

// Close ends the reader.
func (r *Reader) Close() { r.cl.Close() }

// Ping asks any broker for an answer.
func (r *Reader) Ping(ctx context.Context) error {
	if err := r.cl.Ping(ctx); err != nil {
		return fmt.Errorf("source: no broker answers: %w", err)
	}
	return nil
}

// errs that a moving leader or a restarting broker gives: asked again.
func transient(err error) bool {
	return kerr.IsRetriable(err) || kgo.IsRetryableBrokerErr(err)
}

const (
	restPause = 20 * time.Millisecond // between fetches that brought nothing
	retryWait = 100 * time.Millisecond
)

// at is where a partition is and which topic it belongs to.
type at struct {
	uuid       [16]byte
	leader     int32
	epoch      int32 // of the leader, -1 when the broker does not say
	partitions int32 // of the topic
}

func (r *Reader) locate(ctx context.Context, tp wire.TopicPartition) (at, error) {
	// A request of its own: the client's cache may be from before the topic was
	// made, or made anew.
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(tp.Topic)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, r.cl)
	if err == nil && len(resp.Topics) != 1 {
		err = errors.New("the broker's answer names no topic")
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return at{}, fmt.Errorf("source: metadata of %s: %w", tp, err)
	}
	t := &resp.Topics[0]
	for i := range t.Partitions {
		p := &t.Partitions[i]
		if p.Partition != tp.Partition {
			continue
		}
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return at{}, fmt.Errorf("source: metadata of %s: %w", tp, err)
		}
		return at{uuid: t.TopicID, leader: p.Leader, epoch: p.LeaderEpoch, partitions: int32(len(t.Partitions))}, nil
	}
	return at{}, fmt.Errorf("source: metadata of %s: the topic has %d partitions: %w", tp, len(t.Partitions), kerr.UnknownTopicOrPartition)
}

// Bounds gives the log start and the high watermark of a partition, whatever
// transactions are open.
func (r *Reader) Bounds(ctx context.Context, tp wire.TopicPartition) (start, high int64, err error) {
	if start, err = r.listOffset(ctx, tp, logStart, readUncommitted); err != nil {
		return 0, 0, err
	}
	if high, err = r.listOffset(ctx, tp, logEnd, readUncommitted); err != nil {
		return 0, 0, err
	}
	return start, high, nil
}

// What ListOffsets asks for.
const (
	logEnd   = -1
	logStart = -2

	readUncommitted = 0 // the end is the high watermark: a predecessor may have a transaction open
	readCommitted   = 1 // the end is before the first open transaction
)

func (r *Reader) listOffset(ctx context.Context, tp wire.TopicPartition, timestamp int64, isolation int8) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.IsolationLevel = isolation
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = tp.Topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp = tp.Partition, timestamp
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, r.cl)
	if err == nil && (len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1) {
		err = errors.New("the broker's answer names no partition")
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		return 0, fmt.Errorf("source: list offsets of %s: %w", tp, err)
	}
	return resp.Topics[0].Partitions[0].Offset, nil
}

// fetchBytes bounds one fetch, as it is compressed: changelogs shrink to a tenth,
// and every partition that is restored holds one fetch unpacked. A larger batch
// comes whole all the same.
const fetchBytes = 1 << 20

// fetch reads once from pos, read committed. next is the position to go on at:
// it passes transaction markers and aborted records, which give no record.
func (r *Reader) fetch(ctx context.Context, where at, tp wire.TopicPartition, pos int64) (p kgo.FetchPartition, next int64, err error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = 0
	req.MinBytes = 0
	req.MaxBytes = fetchBytes
	req.IsolationLevel = readCommitted
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic, ft.TopicID = tp.Topic, where.uuid
	fp := kmsg.NewFetchRequestTopicPartition()
	fp.Partition, fp.FetchOffset, fp.PartitionMaxBytes = tp.Partition, pos, fetchBytes
	ft.Partitions = append(ft.Partitions, fp)
	req.Topics = append(req.Topics, ft)
	kresp, err := r.cl.Broker(int(where.leader)).RetriableRequest(ctx, req)
	if err != nil {
		return p, pos, err
	}
	resp := kresp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return p, pos, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return p, pos, errors.New("the broker's answer names no partition")
	}
	p, next = kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: pos, IsolationLevel: kgo.ReadCommitted(), Topic: tp.Topic, Partition: tp.Partition,
	}, &resp.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	return p, next, p.Err
}

// readTo hands the committed records of [from, to) to put and goes on until the
// position has reached to; it gives the position, which may lie beyond. Open
// transactions are waited for until ctx ends.
func (r *Reader) readTo(ctx context.Context, tp wire.TopicPartition, from, to int64, put func(*kgo.Record) error) (int64, error) {
	if from >= to {
		return from, nil
	}
	where, err := r.locate(ctx, tp)
	if err != nil {
		return from, err
	}
	pos := from
	for pos < to {
		p, next, err := r.fetch(ctx, where, tp, pos)
		for _, rec := range p.Records {
			if err := put(rec); err != nil {
				return pos, fmt.Errorf("source: %s at offset %d: %w", tp, rec.Offset, err)
			}
		}
		moved := next > pos
		if moved {
			pos = next
		}
		switch {
		case err != nil && !transient(err):
			return pos, fmt.Errorf("source: read %s at offset %d: %w", tp, pos, err)
		case err != nil:
			if serr := sleep(ctx, retryWait); serr != nil {
				return pos, fmt.Errorf("source: read %s at offset %d: %w (last answer: %w)", tp, pos, serr, err)
			}
			if w, lerr := r.locate(ctx, tp); lerr == nil {
				where = w
			}
		case !moved:
			if err := sleep(ctx, restPause); err != nil {
				return pos, fmt.Errorf("source: read %s at offset %d of %d, last stable offset %d: %w", tp, pos, to, p.LastStableOffset, err)
			}
		}
	}
	return pos, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
