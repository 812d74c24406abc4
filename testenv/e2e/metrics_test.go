package e2e

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// scrape reads a running worker's metrics.
func (r *rig) scrape(w *folder.Worker) (folder.Series, error) {
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	return w.Scrape(ctx)
}

// meters waits until all of a worker's metrics are as wanted in one scrape.
func (r *rig) meters(w *folder.Worker, what string, want ...expected) folder.Series {
	r.Helper()
	var s folder.Series
	testenv.Eventually(r, 180*time.Second, func() (err error) {
		if err := w.Ended(); err != nil {
			r.Fatal(err)
		}
		if s, err = r.scrape(w); err != nil {
			return err
		}
		for _, x := range want {
			if got := s.Sum(x.name, x.labels...); !x.ok(got) {
				return fmt.Errorf("%s: folder_%s%v is %v, want %s", what, x.name, x.labels, got, x.says)
			}
		}
		return nil
	})
	return s
}

// expected is what the sum over the series of a name that have the labels is to be.
type expected struct {
	name   string
	labels []string
	says   string
	ok     func(float64) bool
}

func is(v float64, name string, labels ...string) expected {
	return expected{name, labels, fmt.Sprint(v), func(got float64) bool { return got == v }}
}

func above(v float64, name string, labels ...string) expected {
	return expected{name, labels, fmt.Sprint("more than ", v), func(got float64) bool { return got > v }}
}

// Every metric that somebody would be woken by moves when its event happens,
// by as much as it should, and falls back when it is over.
func TestMetricsMove(t *testing.T) {
	r := newSlowRig(t)
	b := r.another("b")
	b.Env = append(b.Env, "FOLDER_KAFKA_LEAVE_ON_STOP=true")
	shortSession(r.worker, b)
	parts := 0.0
	for topic, n := range r.writer.Topics() {
		if wire.RoleOf(r.stream, topic) != wire.RoleHeartbeats {
			parts += float64(n)
		}
	}
	lane := `topic="` + r.lane() + `"`
	r.start()

	// Work, and records that are none.
	r.write(r.clean(91, 60)...)
	l := r.log()
	bad := l.Session("bad", "planner")
	for range 2 {
		bad.Undecodable(wire.RoleLane)
	}
	for range 3 {
		bad.Invalid(wire.RoleLane)
	}
	for range 4 {
		l.NoSession(wire.RoleLane) // undecodable and unattributed
	}
	r.write(l.Records...)
	all := float64(r.want.Records + r.want.Unattributed)
	before := r.meters(r.worker, "after work",
		is(all, "records_total"), is(all, "source_records_total", `kind="folded"`), above(0, "record_bytes_total"),
		is(6, "source_records_total", `kind="undecodable"`, lane), is(3, "source_records_total", `kind="invalid"`, lane),
		is(4, "source_records_total", `kind="unattributed"`, lane),
		above(0, "commits_total"), above(0, "last_commit_timestamp_seconds"), is(0, "commit_failures_total"), is(1, "producer_starts_total"),
		is(parts, "rebalanced_partitions_total", `event="assigned"`), is(parts, "restores_total"), is(parts, "source_state", `state="active"`),
		is(0, "source_lag_records"), is(0, "source_lag_seconds"), is(0, "source_gaps"), is(0, "gaps_total"), is(1, "store_up"))

	// Commits that fail: the lag grows, in records and in seconds, and is gone afterwards.
	refuse := func() { r.set(r.changelog(), "max.message.bytes", "100") }
	accept := func() { r.set(r.changelog(), "max.message.bytes", "4194304") }
	refuse()
	r.write(r.clean(92, 60)...)
	r.meters(r.worker, "while the changelog refuses records",
		above(0, "commit_failures_total", `where="produce"`), above(0, "source_lag_records", lane), above(0, "source_lag_seconds", lane),
		above(before.Sum("restores_total"), "restores_total"))
	accept()
	r.meters(r.worker, "after that", is(float64(r.want.Records+r.want.Unattributed), "records_total"),
		is(0, "source_lag_records"), is(0, "source_lag_seconds"), above(before.Sum("commits_total"), "commits_total"))

	// Rebalances: another worker comes, is thrown out while it is frozen, comes
	// back and leaves.
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	r.shared(90*time.Second, "e2e", "b")
	mine := r.meters(r.worker, "with another", above(0, "rebalanced_partitions_total", `event="revoked"`))
	theirs := r.meters(b, "of the other", is(mine.Sum("rebalanced_partitions_total", `event="revoked"`), "rebalanced_partitions_total", `event="assigned"`),
		is(0, "rebalanced_partitions_total", `event="lost"`))
	if err := b.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.shared(90*time.Second, "e2e")
	if err := b.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.meters(b, "of the one that was thrown out", is(theirs.Sum("rebalanced_partitions_total", `event="assigned"`), "rebalanced_partitions_total", `event="lost"`))
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	r.shared(90*time.Second, "e2e")
	r.await(90 * time.Second)
	r.sameAsReplay()
	r.changesAreWhole()

	// A restore onto an empty disk, with its timelines.
	r.stop()
	if err := os.RemoveAll(r.worker.Store); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.meters(r.worker, "on an empty disk", is(parts, "restores_total"), above(0, "restored_records_total"), above(0, "source_restored_records", lane),
		is(0, "source_restore_remaining"), is(0, "records_total"), is(float64(r.want.Records+r.want.Unattributed), "rebuilt_records_total"))
	r.await(90 * time.Second)
	r.sameAsReplay()

	// What is deleted before it is folded is a gap, as wide as it is.
	refuse()
	r.write(r.clean(93, 60)...)
	behind := r.meters(r.worker, "while the changelog refuses records", above(0, "commit_failures_total", `where="produce"`),
		above(0, "source_lag_records", lane, `partition="0"`))
	lost := float64(r.deleted(0)) - behind.Sum("source_next_offset", lane, `partition="0"`)
	// What was fetched before is folded all the same, if it is not dropped with a
	// commit that fails: the one in flight, and the one behind it.
	failed := r.meters(r.worker, "after the deletion").Sum("commit_failures_total")
	r.meters(r.worker, "when nothing is left of what was fetched before", above(failed+1, "commit_failures_total"))
	accept()
	r.meters(r.worker, "behind a gap", is(1, "gaps_total"), is(1, "source_gaps"), is(lost, "source_gap_offsets", lane, `partition="0"`), is(0, "source_lag_records"))
	if err := r.seqs(); err != nil {
		t.Fatal(err)
	}
	r.stop()
}

// deleted drops all records of a partition of the lane, and says where it ends.
func (r *rig) deleted(partition int32) int64 {
	r.Helper()
	ends, err := r.kafka.Admin.ListEndOffsets(r.Context(), r.lane())
	if err != nil {
		r.Fatal(err)
	}
	end, _ := ends.Lookup(r.lane(), partition)
	var os kadm.Offsets
	os.AddOffset(r.lane(), partition, end.Offset, -1)
	rs, err := r.kafka.Admin.DeleteRecords(r.Context(), os)
	if err == nil {
		err = rs.Error()
	}
	if err != nil {
		r.Fatalf("delete the records of %s[%d]: %v", r.lane(), partition, err)
	}
	return end.Offset
}
