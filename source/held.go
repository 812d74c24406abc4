package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/wire"
)

// errBehind is the answer of a broker that does not know yet that it leads no
// longer, or not yet what it leads.
var errBehind = errors.New("source: the leader knows less than what was read of it; it is asked again")

// Held compares what was folded of a partition, the offsets below next, with
// what its leader has. After an unclean election a leader ends earlier than the
// one before, and writes other records at the same offsets; the log's end alone
// tells that only until it has grown again. So the group's offset carries the
// epoch of the leader under which the last folded record was written, and the
// leader of now says where that epoch ends in its log (KIP-320).
func (r *Reader) Held(ctx context.Context, group string, tp wire.TopicPartition, next uint64) (wire.Held, error) {
	where, err := r.locate(ctx, tp)
	if err != nil {
		return wire.Held{}, err
	}
	at, epoch, err := r.groupOffset(ctx, group, tp, where.uuid)
	if err != nil {
		return wire.Held{}, err
	}
	if at != int64(next) {
		epoch = -1 // it says nothing of the last folded record
	}
	high, err := r.highAs(ctx, where, tp)
	if err != nil {
		return wire.Held{}, err
	}
	h := wire.Held{End: min(next, uint64(high)), High: uint64(high), Epoch: epoch}
	if epoch < 0 || where.epoch < 0 {
		return h, nil
	}
	end, err := r.epochEnd(ctx, where, tp, epoch)
	if err != nil {
		return wire.Held{}, err
	}
	if end >= 0 {
		h.End, h.Sure = min(h.End, uint64(end)), true
	}
	// A leader loses nothing while it leads: that takes another election.
	if h.End < next && where.epoch <= epoch {
		return wire.Held{}, fmt.Errorf("%w (%s: leader epoch %d ends at %d, folded to %d of epoch %d)", errBehind, tp, where.epoch, h.End, next, epoch)
	}
	return h, nil
}

// highAs asks the leader of a known epoch for the high watermark; another one,
// or one that was deposed, refuses.
func (r *Reader) highAs(ctx context.Context, where at, tp wire.TopicPartition) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = tp.Topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = tp.Partition, -1, where.epoch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	kresp, err := r.cl.Broker(int(where.leader)).RetriableRequest(ctx, req)
	if err != nil {
		return 0, fmt.Errorf("source: end of %s: %w", tp, err)
	}
	resp := kresp.(*kmsg.ListOffsetsResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("source: end of %s: the broker's answer names no partition", tp)
	}
	p := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return 0, fmt.Errorf("source: end of %s: %w", tp, err)
	}
	return p.Offset, nil
}

// epochEnd gives the offset behind the last record that the leader has of an
// epoch and those before; -1 when it cannot tell.
func (r *Reader) epochEnd(ctx context.Context, where at, tp wire.TopicPartition, epoch int32) (int64, error) {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
	rt.Topic = tp.Topic
	rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = tp.Partition, where.epoch, epoch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	kresp, err := r.cl.Broker(int(where.leader)).RetriableRequest(ctx, req)
	if err != nil {
		return -1, fmt.Errorf("source: epoch %d of %s: %w", epoch, tp, err)
	}
	resp := kresp.(*kmsg.OffsetForLeaderEpochResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return -1, fmt.Errorf("source: epoch %d of %s: the broker's answer names no partition", epoch, tp)
	}
	p := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return -1, fmt.Errorf("source: epoch %d of %s: %w", epoch, tp, err)
	}
	return p.EndOffset, nil
}
