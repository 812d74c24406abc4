package sink

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Where says at which point of a commit an error came.
type Where uint8

// The points of a commit, in their order.
const (
	AtBegin Where = iota
	AtProduce
	AtContinuity // the changelog goes on elsewhere than the state stands
	AtOwn        // the sources are not ours any more
	AtOffsets
	AtEnd
)

var whereNames = [...]string{"begin", "produce", "continuity", "own", "offsets", "end"}

func (w Where) String() string { return whereNames[w] }

// Reaction is what a failed commit asks for, beside the one thing that every
// failed commit asks for: restore the sources of the step.
type Reaction uint8

// The reactions; they combine.
const (
	// React is the plain case: abort and restore.
	React Reaction = 0
	// Wait for the group: a callback or a heartbeat interval, then restore.
	Wait Reaction = 1 << (iota - 1)
	// Renew the producer: close it, make a new one.
	Renew
	// Hold the sources at fault back for longer: the same error would return.
	Hold
	// Exit: another process has taken over for good.
	Exit
)

// anywhere matches every point of a commit.
const anywhere Where = 255

type rule struct {
	where Where
	err   *kerr.Error
	react Reaction
	why   string
}

// rules are read from the top, the first that matches counts; what no rule
// names is React. Errors that the client retries by itself (a moving leader, a
// lost answer, too few replicas) do not reach the table until they time out.
var rules = []rule{
	{anywhere, kerr.FencedInstanceID, Exit, "a newer process has the same instance id and wins"},
	{anywhere, kerr.ProducerFenced, Renew, "a newer producer has the same transactional id, or our own transaction timed out"},
	{anywhere, kerr.InvalidProducerEpoch, Renew, "as PRODUCER_FENCED"},
	{anywhere, kerr.InvalidProducerIDMapping, Renew, "the broker has forgotten the producer id"},
	{anywhere, kerr.TransactionalIDAuthorizationFailed, Hold | Renew, "grant WRITE and DESCRIBE on the transactional id"},
	{AtOffsets, kerr.IllegalGeneration, Wait, "the group has rebalanced"},
	{AtOffsets, kerr.UnknownMemberID, Wait, "the group has thrown us out"},
	{AtOffsets, kerr.RebalanceInProgress, Wait, "the group is rebalancing"},
	{AtOffsets, kerr.UnknownTopicOrPartition, Hold, "the source topic is gone"},
	{AtOffsets, kerr.UnknownTopicID, Hold, "the source topic was deleted or created anew"},
	{AtOffsets, kerr.GroupAuthorizationFailed, Hold, "grant READ on the group"},
	{AtOffsets, kerr.TopicAuthorizationFailed, Hold, "grant READ on the source topic"},
	{AtProduce, kerr.UnknownTopicID, Renew, "a topic that is written to was deleted or created anew, which a client keeps from the one it knew"},
	{AtProduce, kerr.UnknownTopicOrPartition, Renew, "a topic that is written to is gone: a restore makes a changelog again"},
	{AtProduce, kerr.MessageTooLarge, Hold, "raise max.message.bytes of the topic"},
	{AtProduce, kerr.InvalidRecord, Hold, "the topic refuses the record: is it compacted, or are timestamps limited?"},
	{AtProduce, kerr.TopicAuthorizationFailed, Hold, "grant WRITE on the topic"},
	{AtProduce, kerr.PolicyViolation, Hold, "a policy of the broker refuses the record"},
	{AtEnd, kerr.InvalidTxnState, Renew, "the broker knows no such transaction"},
}

// reactionTo looks an error up. Begin fails only when the client's producer is
// of no more use.
func reactionTo(where Where, err error) (Reaction, string) {
	if where == AtContinuity {
		return Wait, "another owner has written to the changelog"
	}
	for _, r := range rules {
		if (r.where == where || r.where == anywhere) && errors.Is(err, r.err) {
			return r.react, r.why
		}
	}
	if where == AtBegin {
		return Renew, ""
	}
	return React, ""
}

// Failure is a commit that did not happen, or of which nobody knows.
type Failure struct {
	Where    Where
	Err      error
	Reaction Reaction
	Hint     string
	Unknown  bool  // the transaction may have been committed after all
	Steps    []int // those at fault; empty: none in particular
}

func (f *Failure) Error() string {
	s := "sink: commit failed at " + f.Where.String() + ": " + f.Err.Error()
	if f.Unknown {
		s += " (outcome unknown)"
	}
	if f.Hint != "" {
		s += ": " + f.Hint
	}
	return s
}

func (f *Failure) Unwrap() error { return f.Err }

// Has says whether a reaction is asked for.
func (f *Failure) Has(r Reaction) bool { return f.Reaction&r != 0 }

// Fenced says that a newer producer has the same transactional id, or that our
// own transaction timed out: the two look the same.
func (f *Failure) Fenced() bool {
	return errors.Is(f.Err, kerr.ProducerFenced) || errors.Is(f.Err, kerr.InvalidProducerEpoch)
}

func fail(where Where, err error, steps ...int) *Failure {
	react, hint := reactionTo(where, err)
	return &Failure{Where: where, Err: err, Reaction: react, Hint: hint, Steps: steps}
}

func failf(where Where, step int, format string, args ...any) *Failure {
	return fail(where, fmt.Errorf(format, args...), step)
}
