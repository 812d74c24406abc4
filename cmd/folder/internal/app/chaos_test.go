package app

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Workers come, go, lose their disks, and every request may fail: at the end
// the index is the fold of the log, and no change row is missing or double.
// FOLDER_CHAOS is the number of rounds, FOLDER_SEED the course.
func TestChaos(t *testing.T) {
	t.Parallel()
	rounds, seed := 25, uint64(1)
	if s := os.Getenv("FOLDER_CHAOS"); s != "" {
		rounds, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("FOLDER_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	r := newFakeRig(t, 4)
	dirs := map[int]string{}
	ws := map[int]*running{}
	var faults []*kfake.FaultHandle
	start := func(i int) {
		if dirs[i] == "" {
			dirs[i] = t.TempDir()
		}
		ws[i] = r.start(r.config(dirs[i], fmt.Sprintf("w%d", i)))
	}
	start(0)
	requests := []kmsg.Key{kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.Fetch, kmsg.Metadata, kmsg.InitProducerID, kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch, kmsg.ListOffsets}
	// Not PRODUCER_FENCED: a worker that meets it four times in a minute exits.
	answers := []*kerr.Error{kerr.UnknownServerError, kerr.RequestTimedOut, kerr.NotLeaderForPartition, kerr.NotCoordinator, kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.TransactionAbortable, kerr.RebalanceInProgress, kerr.ConcurrentTransactions}
	for round := range rounds {
		r.sessions(5 + rng.IntN(40))
		key, answer := requests[rng.IntN(len(requests))], answers[rng.IntN(len(answers))]
		f := kfake.Fault{Keys: []kmsg.Key{key}, TopLevel: rng.IntN(2) == 0, Err: answer, Count: 1 + rng.IntN(3)}
		switch key { // the test's own producer is not to fail
		case kmsg.Produce:
			f.TopLevel, f.Topic = false, []string{"folder-changes", "folder-agents.agent.sessions-changelog"}[rng.IntN(2)]
		case kmsg.InitProducerID:
			f.TxnID = fmt.Sprintf("folder-w%d", rng.IntN(3))
		case kmsg.Metadata, kmsg.ListOffsets:
			f.TopLevel, f.Topic = false, r.lane
		}
		faults = append(faults, r.k.Fake.Fault(f))
		switch i := rng.IntN(3); {
		case ws[i] == nil:
			start(i)
		case len(ws) > 1 && rng.IntN(3) == 0:
			if err := ws[i].end(); err != nil {
				t.Logf("round %d: worker %d ended with %v", round, i, err)
			}
			delete(ws, i)
			if rng.IntN(3) == 0 {
				dirs[i] = "" // its disk is gone
			}
		}
		for i, w := range ws {
			select {
			case err := <-w.done: // fenced too often: it has to be started again
				w.done <- err
				t.Logf("round %d: worker %d ended by itself: %v", round, i, err)
				_ = w.end()
				start(i)
			default:
			}
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond) // the course of events, not a wait for one
	}
	for _, f := range faults { // what has met no request yet is not to meet the comparison's
		f.Remove()
	}
	var left []*running
	for _, w := range ws {
		left = append(left, w)
	}
	r.caughtUp(left...)
	r.sameTogether(left...)
	r.changes()
	for _, w := range left {
		t.Logf("%+v", w.Stats()) // shown with -v: what was met
	}
}
