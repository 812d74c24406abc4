package app

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"sessionfold/testenv"
)

// Whatever fails in a commit, and wherever: the index becomes the fold of the
// log, and a reader of the changes topic sees every row once.
func TestCommitFailsAtEveryPoint(t *testing.T) { failEverywhere(t, 0) }

// The same with the two kinds of brokers the other way round.
func TestCommitFailsAtEveryPointOtherwise(t *testing.T) { failEverywhere(t, 1) }

func failEverywhere(t *testing.T, flip int) {
	const changelog, changes = "folder-agents.agent.sessions-changelog", "folder-changes"
	produce, offsets, end := []kmsg.Key{kmsg.Produce}, []kmsg.Key{kmsg.TxnOffsetCommit}, []kmsg.Key{kmsg.EndTxn}
	cases := []struct {
		name string
		f    kfake.Fault
		at   string // where the commit fails; empty: the client gets over it
	}{
		{"changelog too large", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.MessageTooLarge}, "produce"},
		{"changes too large", kfake.Fault{Keys: produce, Topic: changes, Err: kerr.MessageTooLarge}, "produce"},
		{"changelog invalid record", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.InvalidRecord}, "produce"},
		{"changelog not authorized", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.TopicAuthorizationFailed}, "produce"},
		{"changelog leader moves", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.NotLeaderForPartition, Count: 2}, ""},
		{"changelog too few replicas", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.NotEnoughReplicas}, ""},
		{"changelog appended, answer an error", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.NotEnoughReplicasAfterAppend}, ""},
		{"changelog appended, answer late", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.RequestTimedOut}, ""},
		{"producer out of order", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.OutOfOrderSequenceNumber}, "produce"},
		{"producer fenced", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.ProducerFenced}, "produce"},
		{"producer epoch", kfake.Fault{Keys: produce, Topic: changes, Err: kerr.InvalidProducerEpoch}, "produce"},
		{"producer id unknown", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.UnknownProducerID}, "produce"},
		{"transaction abortable", kfake.Fault{Keys: produce, Topic: changelog, Err: kerr.TransactionAbortable}, "produce"},
		{"offsets generation", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.IllegalGeneration}, "offsets"},
		{"offsets member", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.UnknownMemberID}, "offsets"},
		{"offsets rebalance", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.RebalanceInProgress}, "offsets"},
		{"offsets coordinator moves", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.NotCoordinator}, ""},
		{"offsets coordinator loads", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.CoordinatorLoadInProgress}, ""},
		{"offsets topic unknown", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.UnknownTopicOrPartition}, "offsets"},
		{"offsets not authorized", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.GroupAuthorizationFailed}, "offsets"},
		{"offsets abortable", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.TransactionAbortable}, "offsets"},
		{"offsets unknown error", kfake.Fault{Keys: offsets, Group: "folder", Err: kerr.UnknownServerError}, "offsets"},
		{"end unknown error", kfake.Fault{Keys: end, TopLevel: true, Err: kerr.UnknownServerError}, "end"},
		{"end done, answer late", kfake.Fault{Keys: end, TopLevel: true, Err: kerr.RequestTimedOut}, "end"},
		{"end concurrent", kfake.Fault{Keys: end, TopLevel: true, Err: kerr.ConcurrentTransactions}, ""},
		{"end state", kfake.Fault{Keys: end, TopLevel: true, Err: kerr.InvalidTxnState}, "end"},
		{"end fenced", kfake.Fault{Keys: end, TopLevel: true, Err: kerr.ProducerFenced}, "end"},
		{"end mapping", kfake.Fault{Keys: end, TopLevel: true, Err: kerr.InvalidProducerIDMapping}, "end"},
	}
	brokers := []struct {
		name string
		opts []kfake.Opt
	}{{"4", nil}, {"3.7", []kfake.Opt{kfake.MaxVersions(kversion.V3_7_0())}}} // before and after KIP-890, part 2
	for i, c := range cases {
		b := brokers[(i+flip)%2]
		t.Run(c.name+" on Kafka "+b.name, func(t *testing.T) {
			t.Parallel()
			r := newFakeRig(t, 2, b.opts...)
			r.sessions(20)
			w := r.start(r.config(t.TempDir(), "a"))
			r.caughtUp(w)
			h := r.k.Fake.Fault(c.f)
			r.sessions(20)
			testenv.Eventually(t, shortWait, func() error {
				if h.Hits() == 0 {
					return errNotYet
				}
				return nil
			})
			r.caughtUp(w)
			r.sessions(20)
			r.caughtUp(w)
			r.same(w)
			r.changes()
			failed := w.Stats().CommitFailures
			if c.at == "" && len(failed) > 0 || c.at != "" && failed[c.at] == 0 {
				t.Errorf("commits failed at %v, want %q", failed, c.at)
			}
			w.stop()
		})
	}
}
