package worker

import (
	"context"
	"fmt"
	"time"

	"sessionfold/wire"
)

// owned is one life of a source in this process: from an assignment, or from
// the failure that ended the life before, to its loss or its own failure. Its
// state belongs to one assignment and one member id.
type owned struct {
	tp     wire.TopicPartition
	member string
	ctx    context.Context // ends with the life
	cancel context.CancelFunc

	// Under Worker.mu.
	dead   bool
	status SourceStatus

	// The loop's.
	tries   int       // restores and commits that failed one after the other
	gaps    int       // noted by the last restore, and in no committed step yet
	startAt time.Time // no restore before
	part    *Part     // nil until restored
	uuid    [16]byte
	epoch   int32 // leader epoch of the last folded record, -1 when unknown
	short   error // the log ends before the part's frontier: nothing to fetch yet
	expect  int64
	marker  bool
	trouble error // what a poll said; answered when no commit is in flight
	former  bool  // it said that the client asks for a topic that is gone, in this life or the one before
	buffer  buffer
	spare   []wire.Raw // memory for the next buffer
	next    uint64     // behind the last record that was taken in, or behind a gap
	applied int        // folds that are in the store and that the part was not told of
	prelude *prelude   // nil: none is left
	ask     *ask       // somebody wants the source begun anew; under Worker.mu
	kept    bool       // it goes on as another life of this process
}

func (w *Worker) newOwned(tp wire.TopicPartition, member string) *owned {
	o := &owned{tp: tp, member: member}
	o.ctx, o.cancel = context.WithCancel(w.life)
	o.status = SourceStatus{TopicPartition: tp, State: Restoring, Since: time.Now()}
	return o
}

// Assigned takes partitions over, as member; they are paused. It is called from
// within a rebalance and only marks and queues.
func (w *Worker) Assigned(member string, tps []wire.TopicPartition) {
	w.transfer.Lock()
	w.mu.Lock()
	for _, tp := range tps {
		w.bury(tp)
		o := w.newOwned(tp, member)
		w.owned[tp] = o
		w.queue = append(w.queue, o)
	}
	w.stats.Assigned += uint64(len(tps))
	w.mu.Unlock()
	w.transfer.Unlock()
	w.wake()
}

// Revoked gives partitions up. A commit that is past its check ends first.
func (w *Worker) Revoked(tps []wire.TopicPartition) {
	w.giveUp(tps)
	w.count(func(s *Stats) { s.Revoked += uint64(len(tps)) })
}

// Lost is told that partitions are gone already; nothing more of them may be
// committed.
func (w *Worker) Lost(tps []wire.TopicPartition) {
	w.giveUp(tps)
	w.count(func(s *Stats) { s.Lost += uint64(len(tps)) })
}

func (w *Worker) giveUp(tps []wire.TopicPartition) {
	w.transfer.Lock()
	w.mu.Lock()
	for _, tp := range tps {
		w.bury(tp)
	}
	w.mu.Unlock()
	w.transfer.Unlock()
	w.wake()
}

// bury ends the life of a partition, if it has one; w.mu is held.
func (w *Worker) bury(tp wire.TopicPartition) {
	if o := w.owned[tp]; o != nil {
		o.dead = true
		w.gone(o)
		o.cancel()
		delete(w.owned, tp)
	}
}

func (w *Worker) isDead(o *owned) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return o.dead
}

// living lists the sources in no order.
func (w *Worker) living() []*owned {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live = w.live[:0]
	for _, o := range w.owned {
		w.live = append(w.live, o)
	}
	return w.live
}

// again begins a new life of a source that is still ours: everything folded and
// not committed is dropped, and the state is restored no earlier than after a
// pause. No commit of it is in flight.
func (w *Worker) again(o *owned, err error, pause time.Duration) {
	w.env.Pause(o.tp)
	member, _ := w.env.Member()
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.dead || w.owned[o.tp] != o {
		return
	}
	o.kept = true
	w.bury(o.tp)
	n := w.newOwned(o.tp, member)
	n.tries, n.ask, n.former = o.tries, o.ask, o.former
	n.startAt = time.Now().Add(pause)
	n.status.Source, n.status.Next, n.status.High, n.status.LogStart = o.status.Source, o.status.Next, o.status.High, o.status.LogStart
	n.status.Tries, n.status.Frontier = o.tries, o.status.Frontier
	if err != nil {
		n.status.State, n.status.Err = Paused, err.Error()
	}
	w.owned[o.tp] = n
	w.queue = append(w.queue, n)
}

// owns checks that the lives are ours and holds them until release.
func (w *Worker) owns(lives []*owned) (member string, generation int32, release func(), err error) {
	w.transfer.Lock()
	member, generation = w.env.Member()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range lives {
		switch {
		case o.dead:
			err = fmt.Errorf("worker: %s was given up while its step was being written", o.tp)
		case o.member != member:
			err = fmt.Errorf("worker: %s was assigned to member %q, and this process is member %q now", o.tp, o.member, member)
		}
	}
	if err != nil {
		w.transfer.Unlock()
		return "", 0, nil, err
	}
	return member, generation, w.transfer.Unlock, nil
}

// backoff is the pause before the next try.
func backoff(tries int) time.Duration {
	if tries <= 1 {
		return 0
	}
	return min(100*time.Millisecond<<min(tries-2, 10), 30*time.Second)
}
