package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsets adds the next offsets of all sources to the transaction, as the
// member and generation that own them.
func (p *Producer) offsets(ctx context.Context, steps []Step, me Member) *Failure {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.TransactionTimeout)
	defer cancel()
	id, epoch, err := p.cl.ProducerID(ctx)
	if err != nil {
		return fail(AtOffsets, err)
	}
	if !p.implicit {
		if err := p.addGroup(ctx, id, epoch); err != nil {
			return fail(AtOffsets, err)
		}
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group = p.TransactionalID(), p.cfg.Group
	req.ProducerID, req.ProducerEpoch = id, epoch
	req.MemberID, req.Generation = me.ID, me.Generation
	if me.Instance != "" {
		req.InstanceID = &me.Instance
	}
	at := map[string]int{}
	for i := range steps {
		src := steps[i].Batch.Source
		k, ok := at[src.Topic]
		if !ok {
			k = len(req.Topics)
			at[src.Topic] = k
			rt := kmsg.NewTxnOffsetCommitRequestTopic()
			rt.Topic, rt.TopicID = src.Topic, steps[i].TopicUUID
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = int32(src.Partition), int64(steps[i].Batch.Frontier.Next)
		rp.LeaderEpoch = steps[i].Epoch
		req.Topics[k].Partitions = append(req.Topics[k].Partitions, rp)
	}
	resp, err := req.RequestWith(ctx, p.cl)
	if err != nil {
		return fail(AtOffsets, err)
	}
	for i := range resp.Topics {
		rt := &resp.Topics[i]
		for j := range rt.Partitions {
			if err := kerr.ErrorForCode(rt.Partitions[j].ErrorCode); err != nil {
				return fail(AtOffsets, fmt.Errorf("offset of partition %d: %w", rt.Partitions[j].Partition, err), stepsOf(steps, rt, rt.Partitions[j].Partition)...)
			}
		}
	}
	return nil
}

// stepsOf finds the step that an answer speaks of; since version 6 the answer
// names topics by UUID only.
func stepsOf(steps []Step, rt *kmsg.TxnOffsetCommitResponseTopic, partition int32) []int {
	for i := range steps {
		src := steps[i].Batch.Source
		if int32(src.Partition) == partition && (src.Topic == rt.Topic || rt.Topic == "" && steps[i].TopicUUID == rt.TopicID) {
			return []int{i}
		}
	}
	return nil
}

// addGroup tells the transaction's coordinator of the group, for brokers that
// do not do it by themselves.
func (p *Producer) addGroup(ctx context.Context, id int64, epoch int16) error {
	for {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.Group = p.TransactionalID(), p.cfg.Group
		req.ProducerID, req.ProducerEpoch = id, epoch
		resp, err := req.RequestWith(ctx, p.cl)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(20 * time.Millisecond): // the former transaction's markers are being written
		}
	}
}
