package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sessionfold/index"
	"sessionfold/testenv"
	"sessionfold/wire"
	"sessionfold/worker"
)

// owner is the worker that has a partition, and what it says of it.
type owner struct {
	w *running
	s worker.SourceStatus
}

// partition is where the lane's records of a session are written.
func (r *rig) partition(id wire.ID) int32 { return int32(id[15]) % r.parts }

// owners gives the owner of every partition of the lane. It is an error, and
// mostly one of the moment, when a worker has ended, and when a partition is
// claimed by none of the workers or by several, or its owner does not fold it:
// a rebalance is going on then, or a member was thrown out and does not know yet.
func (r *rig) owners(ws ...*running) (map[int32]owner, error) {
	at := map[int32]owner{}
	for _, w := range ws {
		select {
		case err := <-w.done:
			w.done <- err
			return nil, fmt.Errorf("a worker has ended: %w", err)
		default:
		}
		for _, s := range w.Sources() {
			if s.Topic != r.lane {
				continue
			}
			if o, twice := at[s.Partition]; twice {
				return nil, fmt.Errorf("%s is claimed by %s (%s) and by %s (%s)", s.TopicPartition, o.w.cfg.Instance, o.s.State, w.cfg.Instance, s.State)
			}
			at[s.Partition] = owner{w, s}
		}
	}
	for p := range r.parts {
		o, ok := at[p]
		switch {
		case !ok:
			return nil, fmt.Errorf("partition %d is owned by none", p)
		case o.s.State != worker.Active:
			return nil, fmt.Errorf("%s is %s at %d: %s", o.s.TopicPartition, o.s.State, o.s.Next, o.s.Err)
		}
	}
	return at, nil
}

// folded gives the owners once they have committed every record.
func (r *rig) folded(ws ...*running) (map[int32]owner, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ends, err := r.k.Admin.ListEndOffsets(ctx, r.lane)
	if err != nil {
		return nil, err
	}
	at, err := r.owners(ws...)
	if err != nil {
		return nil, err
	}
	for p, o := range at {
		if end, _ := ends.Lookup(r.lane, p); end.Err != nil || o.s.Next != uint64(end.Offset) {
			return nil, fmt.Errorf("%s ends at %d and is %s at %d: %s (%w)", o.s.TopicPartition, end.Offset, o.s.State, o.s.Next, o.s.Err, end.Err)
		}
	}
	return at, nil
}

// caughtUp waits until the workers together have committed every record, and
// gives the owners of that moment.
func (r *rig) caughtUp(ws ...*running) (at map[int32]owner) {
	r.t.Helper()
	testenv.Eventually(r.t, waitLong, func() (err error) {
		at, err = r.folded(ws...)
		return err
	})
	return at
}

// settled calls f with the owners of a moment at which everything is committed,
// and again when they have changed meanwhile: what f has seen is then of no
// worker's. f's error counts when they have not.
func (r *rig) settled(ws []*running, f func(map[int32]owner) error) {
	r.t.Helper()
	var bad error
	testenv.Eventually(r.t, waitLong, func() error {
		before, err := r.folded(ws...)
		if err != nil {
			return err
		}
		bad = f(before)
		after, err := r.folded(ws...)
		if err != nil {
			return errors.Join(err, bad)
		}
		for p, o := range before {
			if a := after[p]; a.w != o.w || !a.s.Since.Equal(o.s.Since) {
				return errors.Join(fmt.Errorf("%s went from %s to %s, or was restored, while it was looked at", o.s.TopicPartition, o.w.cfg.Instance, a.w.cfg.Instance), bad)
			}
		}
		return nil
	})
	r.must(bad)
}

// sameTogether holds the stores of the workers against the offline fold of the
// log: each partition's owner has its frontier, and its sessions and no others.
func (r *rig) sameTogether(ws ...*running) {
	r.t.Helper()
	want := r.offline()
	r.settled(ws, func(at map[int32]owner) error { return r.differ(want, at) })
}

func (r *rig) differ(want *index.Store, at map[int32]owner) error {
	ctx := context.Background()
	sources, err := want.Sources(r.stream)
	if err != nil {
		return err
	}
	var bad error
	for _, m := range sources {
		o := at[int32(m.Source.Partition)]
		got, ok, err := o.w.Store().Meta(o.s.Source)
		if err != nil {
			return err
		}
		gf, wf := got.Frontier, m.Frontier
		gf.Seq, wf.Seq = 0, 0
		if !ok || fmt.Sprint(gf) != fmt.Sprint(wf) {
			bad = errors.Join(bad, fmt.Errorf("%s: frontier %v, want %v", m.Source, gf, wf))
		}
	}
	// A session lies in one partition here, so its owner has the whole of it.
	// What a store has of partitions that were its own once is left aside.
	left := map[wire.ID][32]byte{}
	if err := want.DigestSessions(ctx, r.stream, func(id wire.ID, d digest) error {
		left[id] = d.Partials
		return nil
	}); err != nil {
		return err
	}
	if len(left) == 0 {
		return errors.New("nothing was compared")
	}
	stores := map[*running]bool{}
	for _, o := range at {
		if stores[o.w] {
			continue
		}
		stores[o.w] = true
		if err := o.w.Store().DigestSessions(ctx, r.stream, func(id wire.ID, d digest) error {
			if at[r.partition(id)].w != o.w {
				return nil
			}
			if w, ok := left[id]; !ok || w != d.Partials {
				bad = errors.Join(bad, fmt.Errorf("session %s is not in the store of %s as the log has it", id, o.w.cfg.Instance))
			}
			delete(left, id)
			return nil
		}); err != nil {
			return err
		}
	}
	for id := range left {
		bad = errors.Join(bad, fmt.Errorf("session %s is not in the store of its partition's owner", id))
	}
	return bad
}

// source gives what a worker says of a partition of the lane, once it folds it.
func (r *rig) source(w *running, p int32) (s worker.SourceStatus) {
	r.t.Helper()
	testenv.Eventually(r.t, waitLong, func() error {
		for _, s = range w.Sources() {
			if s.Topic == r.lane && s.Partition == p && s.State == worker.Active {
				return nil
			}
		}
		return fmt.Errorf("partition %d is not folded: %+v", p, w.Sources())
	})
	return s
}
