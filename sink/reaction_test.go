package sink

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestReactions(t *testing.T) {
	for _, c := range []struct {
		where Where
		err   error
		want  Reaction
	}{
		{AtProduce, kerr.MessageTooLarge, Hold},
		{AtProduce, kerr.TopicAuthorizationFailed, Hold},
		{AtProduce, kerr.OutOfOrderSequenceNumber, React},
		{AtProduce, kerr.ProducerFenced, Renew},
		{AtProduce, errors.New("records have timed out before they were able to be produced"), React},
		{AtContinuity, errors.New("whatever"), Wait},
		{AtOwn, errors.New("whatever"), React},
		{AtOffsets, kerr.IllegalGeneration, Wait},
		{AtOffsets, kerr.UnknownMemberID, Wait},
		{AtOffsets, kerr.RebalanceInProgress, Wait},
		{AtOffsets, kerr.UnknownTopicID, Hold},
		{AtOffsets, kerr.FencedInstanceID, Exit},
		{AtOffsets, kerr.TransactionAbortable, React},
		{AtOffsets, kerr.ConcurrentTransactions, React},
		{AtEnd, kerr.UnknownServerError, React},
		{AtEnd, kerr.InvalidTxnState, Renew},
		{AtEnd, kerr.InvalidProducerEpoch, Renew},
		{AtBegin, errors.New("whatever"), Renew},
	} {
		f := fail(c.where, fmt.Errorf("wrapped: %w", c.err), 1)
		if f.Reaction != c.want {
			t.Errorf("%s at %s: reaction %d, want %d", c.err, c.where, f.Reaction, c.want)
		}
		if c.want != React && c.where != AtBegin && f.Hint == "" {
			t.Errorf("%s at %s has no hint", c.err, c.where)
		}
		if !errors.Is(f, c.err) {
			t.Errorf("%v does not lead back to its error", f)
		}
	}
}

// A rule behind another that catches the same says nothing.
func TestEveryRuleIsReached(t *testing.T) {
	for i, r := range rules {
		where := r.where
		if where == anywhere {
			where = AtProduce
		}
		if _, why := reactionTo(where, r.err); why != r.why {
			t.Errorf("rule %d (%s at %d) is hidden by another: %q", i, r.err.Message, r.where, why)
		}
	}
}
