package app

import (
	"context"
	"fmt"
	"testing"

	"sessionfold/fold"
	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

func (r *rig) gaps(w *running, p int32) []fold.Gap {
	r.t.Helper()
	f, _ := r.meta(w, p)
	return f.Gaps
}

// Retention passes the next offset while the worker is stopped.
func TestLogStartPassesTheWorkerStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(10)
	dir := t.TempDir()
	w := r.start(r.config(dir, "a"))
	r.caughtUp(w)
	w.stop()
	_, next := r.bounds(wire.TopicPartition{Topic: r.lane})
	r.sessions(10)
	start := next + 7
	r.deleteRecords(0, start)
	w = r.start(r.config(dir, "a"))
	r.caughtUp(w)
	want := fmt.Sprint([]fold.Gap{{From: uint64(next), To: uint64(start) - 1, Reason: fold.GapExpiredBeforeFold}})
	if got := fmt.Sprint(r.gaps(w, 0)); got != want {
		t.Fatalf("gaps %s, want %s", got, want)
	}
	rows := r.changes()
	if last := rows[len(rows)-1]; last.To == 0 {
		t.Fatalf("the last change row covers %d to %d", last.From, last.To)
	}
}

// The first start of a source whose beginning is gone already.
func TestFirstStartBehindTheLogStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(10)
	r.deleteRecords(0, 5)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	want := fmt.Sprint([]fold.Gap{{From: 0, To: 4, Reason: fold.GapExpiredBeforeFold}})
	if got := fmt.Sprint(r.gaps(w, 0)); got != want {
		t.Fatalf("gaps %s, want %s", got, want)
	}
	r.same(w)
}

// Everything is gone, and nothing has come since: the gap is committed by itself.
func TestGapWithoutRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(10)
	_, end := r.bounds(wire.TopicPartition{Topic: r.lane})
	r.deleteRecords(0, end)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	want := fmt.Sprint([]fold.Gap{{From: 0, To: uint64(end) - 1, Reason: fold.GapExpiredBeforeFold}})
	if got := fmt.Sprint(r.gaps(w, 0)); got != want {
		t.Fatalf("gaps %s, want %s", got, want)
	}
	if rows := r.changes(); len(rows) != 1 {
		t.Fatalf("%d change rows, want one for the gap", len(rows))
	}
}

// Retention overtakes a worker that runs: it is paused, finds the new log start
// and goes on there.
func TestLogStartPassesTheWorkerRunning(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	hold := make(chan struct{})
	held := make(chan struct{})
	r.sessions(10)
	first := true
	w := r.start(r.config(t.TempDir(), "a"), func(a *App) {
		seek := a.world.Seek
		a.world.Seek = func(at map[wire.TopicPartition]uint64) {
			if _, ok := at[wire.TopicPartition{Topic: r.lane}]; ok && first { // the position is found; it expires before it is used
				first = false
				close(held)
				<-hold
			}
			seek(at)
		}
	})
	<-held
	r.deleteRecords(0, 9)
	close(hold)
	r.caughtUp(w)
	want := fmt.Sprint([]fold.Gap{{From: 0, To: 8, Reason: fold.GapExpiredBeforeFold}})
	if got := fmt.Sprint(r.gaps(w, 0)); got != want {
		t.Fatalf("gaps %s, want %s", got, want)
	}
	r.same(w)
	if n := w.Stats().PollErrors; n == 0 || n > 20 {
		t.Fatalf("%d errors were polled: an error must pause its partition", n)
	}
}

func TestTopicCreatedLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(5)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	control := r.stream + ".agent.control"
	r.k.Create(t, control, 1)
	l := agdxlog.New(r.stream)
	l.Session("session 0", "agent-0").Pause("agent-0")
	r.write(l.Records)
	testenv.Eventually(t, waitLong, func() error {
		for _, s := range w.Sources() {
			if s.Topic == control && s.Next == uint64(len(l.Records)) {
				return nil
			}
		}
		return errNotYet
	})
	r.same(w, control)
}

func TestPartitionsAdded(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(5)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	_, err := r.k.Admin.UpdatePartitions(context.Background(), 3, r.lane)
	r.must(err)
	r.parts = 3
	r.client = r.k.Client(t, manual) // one that knows of them
	r.sessions(20)
	r.caughtUp(w)
	r.same(w)
	r.changes()
}

// No record stops a partition, whatever it is.
func TestBadRecordsMoveOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	roles := []wire.Role{wire.RoleLane, wire.RoleChunks, wire.RoleControl, wire.RoleMemory, wire.RoleDeadLetters, wire.RoleAudit, wire.RoleJournal}
	l := agdxlog.New(r.stream)
	s := l.Session("bad", "agent-0")
	for _, role := range roles {
		if role != wire.RoleLane {
			r.k.Create(t, l.Topic(role), 1)
		}
		s.Undecodable(role)
		s.Cut(role)
		s.Invalid(role)
		s.Tombstone(role)
		s.Huge(role, 5<<20)
		l.NoSession(role)
	}
	r.write(l.Records)
	r.sessions(5)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	testenv.Eventually(t, waitLong, func() error {
		for _, role := range roles {
			topic := l.Topic(role)
			_, end := r.bounds(wire.TopicPartition{Topic: topic})
			ok := false
			for _, s := range w.Sources() {
				ok = ok || s.Topic == topic && s.Next == uint64(end)
			}
			if !ok {
				return fmt.Errorf("%s is not folded to its end", topic)
			}
		}
		return nil
	})
	var others []string
	for _, role := range roles[1:] {
		others = append(others, l.Topic(role))
	}
	r.same(w, others...)
}
