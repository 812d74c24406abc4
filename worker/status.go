package worker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sessionfold/fold"
	"sessionfold/wire"
)

// State is what a source of this worker is doing.
type State uint8

// The states of a source.
const (
	Restoring State = iota // reading its changelog, or waiting for its turn
	Active                 // folding
	Paused                 // an error came; it is tried again with growing pauses
)

var stateNames = [...]string{"restoring", "active", "paused"}

func (s State) String() string { return stateNames[s] }

// SourceStatus is one source as the outside sees it.
type SourceStatus struct {
	wire.TopicPartition
	Source *wire.Source // nil until the partition was identified
	State  State
	Since  time.Time
	Err    string // why it is paused
	Tries  int    // restores that failed one after the other

	Next     uint64 // next offset to fold, of what is committed
	High     uint64 // as last seen by a fetch
	LogStart uint64 // likewise

	// Frontier is what is committed, with what was counted since the source's
	// first offset.
	Frontier fold.Frontier

	Restored  uint64 // changelog records read by the restore that goes on, or was last
	Remaining uint64 // changelog offsets it has still to read
	Prelude   bool   // its changelog is being written, before the fold goes on
}

// Stats counts what happened since the start. Counters only grow.
type Stats struct {
	Records, Bytes                 uint64 // committed
	Commits                        uint64
	CommitFailures                 map[string]uint64 // by the point of failure
	CommitSeconds, FoldSeconds     float64
	ApplySeconds                   float64
	Restores, RestoreFailures      uint64
	RestoredRecords                uint64
	RestoreSeconds                 float64
	RebuiltRecords                 uint64 // folded again for their timeline rows
	Assigned, Revoked, Lost        uint64 // partitions
	Rejoined                       uint64 // sources restored because the member id changed silently
	Begun                          uint64 // sources begun anew
	Healed                         uint64 // changelogs written again from the store
	Gaps, PollErrors, ProducerRuns uint64

	Buffered      int       // records polled and not folded yet
	LastLoop      time.Time // when the loop last came round
	LastCommit    time.Time
	Started, Idle bool // the producer is there; nothing is buffered or in flight
}

// Sources lists the sources that this worker owns, by topic and partition.
func (w *Worker) Sources() []SourceStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]SourceStatus, 0, len(w.owned))
	for _, o := range w.owned {
		out = append(out, o.status)
	}
	slices.SortFunc(out, func(a, b SourceStatus) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

// Stats gives the counters.
func (w *Worker) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.CommitFailures = make(map[string]uint64, len(w.stats.CommitFailures))
	for k, v := range w.stats.CommitFailures {
		s.CommitFailures[k] = v
	}
	return s
}

// Ready is nil when there is a producer, the group is joined, and every owned
// source is active. A member that was given nothing is ready.
func (w *Worker) Ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stats.Started {
		return errors.New("worker: the brokers have not answered yet")
	}
	if len(w.owned) == 0 {
		if id, _ := w.env.Member(); id == "" {
			return errors.New("worker: it has not joined its group yet")
		}
	}
	waiting := 0
	var one *owned
	for _, o := range w.owned {
		if o.status.State != Active {
			waiting++
			if one == nil || o.tp.String() < one.tp.String() {
				one = o
			}
		}
	}
	if waiting > 0 {
		return fmt.Errorf("worker: %d of %d sources are not active: %s is %s", waiting, len(w.owned), one.tp, one.status.State)
	}
	return nil
}

// Live is nil unless the loop has not come round for longer than limit.
func (w *Worker) Live(limit time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.stats.LastLoop; !last.IsZero() && time.Since(last) > limit {
		return fmt.Errorf("worker: the loop has stood still since %s", last.Format(time.RFC3339))
	}
	return nil
}

// count changes the counters under their lock.
func (w *Worker) count(f func(*Stats)) {
	w.mu.Lock()
	f(&w.stats)
	w.mu.Unlock()
}

// set changes a source's status under its lock.
func (w *Worker) set(o *owned, f func(*SourceStatus)) {
	w.mu.Lock()
	f(&o.status)
	w.mu.Unlock()
}
