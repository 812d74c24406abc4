package sink

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Access asks whether this user may be a member of the group and use the
// transactional id. Both are asked with requests that are refused in any case,
// for want of a member or a producer of that number, but only after the rights
// have been looked at; nothing that runs is disturbed.
func (t *Topics) Access(ctx context.Context, instance string) (fs []Finding, err error) {
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Group, beat.Generation, beat.MemberID = t.cfg.Group, 1, "no-member"
	resp, err := beat.RequestWith(ctx, t.cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	switch {
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		fs = append(fs, Finding{Wrong, "group " + t.cfg.Group, "is not open to this user", "grant READ on the group"})
	case err != nil && !isAnswer(err):
		return nil, fmt.Errorf("sink: ask for group %s: %w", t.cfg.Group, err)
	}
	id := TransactionalID(t.cfg.Group, instance)
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch = id, 1<<62, 0
	eresp, err := end.RequestWith(ctx, t.cl)
	if err == nil {
		err = kerr.ErrorForCode(eresp.ErrorCode)
	}
	switch {
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		fs = append(fs, Finding{Wrong, "transactional id " + id, "is not open to this user", "grant WRITE on it, or on all that begin with " + t.cfg.Group + "-"})
	case err != nil && !isAnswer(err):
		return nil, fmt.Errorf("sink: ask for transactional id %s: %w", id, err)
	}
	return fs, nil
}

// Create makes a missing topic as it is wanted; false when it was there.
func (t *Topics) Create(ctx context.Context, w Want) (bool, error) {
	w.Create = true
	err := t.create(ctx, &w)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return false, nil
	}
	return err == nil, err
}
