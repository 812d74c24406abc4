package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/wire"
)

// groupOffset gives the next offset that a group has committed for a partition,
// -1 when it has none, and the leader epoch committed with it, -1 when unknown.
// Offsets of open transactions are waited for.
//
// The group's coordinator is looked up each time. The client would remember it,
// and forget it only when it says that it is none any more: as long as the
// broker is gone, and cannot say so, every later request would fail too.
func (r *Reader) groupOffset(ctx context.Context, group string, tp wire.TopicPartition, topicID [16]byte) (int64, int32, error) {
	for {
		o, err := r.fetchOffset(ctx, group, tp, topicID)
		if err == nil {
			err = kerr.ErrorForCode(o.ErrorCode)
		}
		if errors.Is(err, kerr.GroupIDNotFound) {
			return -1, -1, nil
		}
		if errors.Is(err, kerr.UnstableOffsetCommit) {
			if err = sleep(ctx, restPause); err == nil {
				continue
			}
		}
		if err != nil {
			return -1, -1, fmt.Errorf("source: offset of %s in group %s: %w", tp, group, err)
		}
		return o.Offset, o.LeaderEpoch, nil
	}
}

func (r *Reader) fetchOffset(ctx context.Context, group string, tp wire.TopicPartition, topicID [16]byte) (kmsg.OffsetFetchResponseGroupTopicPartition, error) {
	none := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	none.Offset = -1
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = group
	found, err := find.RequestWith(ctx, r.cl)
	if err == nil {
		err = kerr.ErrorForCode(found.ErrorCode)
	}
	if err != nil {
		return none, err
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	req.Group = group // until version 7; a list since
	old := kmsg.NewOffsetFetchRequestTopic()
	old.Topic, old.Partitions = tp.Topic, []int32{tp.Partition}
	req.Topics = append(req.Topics, old)
	rg, rt := kmsg.NewOffsetFetchRequestGroup(), kmsg.NewOffsetFetchRequestGroupTopic()
	rg.Group, rt.Topic, rt.TopicID, rt.Partitions = group, tp.Topic, topicID, []int32{tp.Partition}
	rg.Topics = append(rg.Topics, rt)
	req.Groups = append(req.Groups, rg)
	kresp, err := r.cl.Broker(int(found.NodeID)).RetriableRequest(ctx, req)
	if err != nil {
		return none, err
	}
	resp := kresp.(*kmsg.OffsetFetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return none, err
	}
	for _, g := range resp.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			return none, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				return p, nil // the only one that was asked for
			}
		}
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			none.Offset, none.LeaderEpoch, none.ErrorCode = p.Offset, p.LeaderEpoch, p.ErrorCode
			return none, nil
		}
	}
	return none, nil
}
