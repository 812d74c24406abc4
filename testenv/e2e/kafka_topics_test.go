package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv"
)

// A topic whose broker stamps the records has exact times: they never fall, so
// nothing is raised; a producer's times that fall are.
func TestKafkaLogAppendTime(t *testing.T) {
	r, _ := newKafkaRig(t)
	for topic := range r.writer.Topics() {
		r.set(topic, "message.timestamp.type", "LogAppendTime")
	}
	before := uint64(time.Now().Add(-time.Second).UnixMicro())
	r.start()
	r.write(r.generated(7, 40)...)
	r.await(90 * time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	got, err := r.sessions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	after := uint64(time.Now().Add(time.Second).UnixMicro())
	for id, s := range got {
		if s.Flags.TimesApproximate {
			t.Errorf("session %s has approximate times on a topic that the broker stamps", id)
		}
		if s.FirstEventAt == nil || s.LastEventAt == nil {
			t.Fatalf("session %s has no times", id)
		}
		if first, last := *s.FirstEventAt, *s.LastEventAt; first < before || last > after || last < first {
			t.Errorf("session %s goes from %d to %d, the test from %d to %d", id, first, last, before, after)
		}
	}
	r.sameAsReplay()
	r.changesAreWhole()
	r.stop()
}

// A worker with an empty disk restores from a changelog that was compacted and
// whose end is no record: aborted records of another producer and markers.
func TestKafkaRestoreFromACompactedChangelog(t *testing.T) {
	r, _ := newKafkaRig(t)
	r.start()
	// The same sessions again and again, so that there is something to compact.
	rs := r.generated(3, 60)
	for i := range 6 {
		r.write(rs[i*len(rs)/6 : (i+1)*len(rs)/6]...)
		r.await(90 * time.Second)
	}
	before := r.held(r.changelog())
	r.set(r.changelog(), "segment.ms", "500", "min.cleanable.dirty.ratio", "0.01")
	// Only closed segments are compacted, and a segment is closed by what comes
	// behind it.
	r.write(r.generated(4, 10)...)
	r.await(90 * time.Second)
	time.Sleep(600 * time.Millisecond) // the age of a segment
	r.write(r.generated(5, 10)...)
	r.await(90 * time.Second)
	testenv.Eventually(t, 60*time.Second, func() error {
		if now := r.held(r.changelog()); now >= before { // although more was written since
			return fmt.Errorf("the changelog holds %d records, it was %d", now, before)
		}
		return nil
	})
	t.Logf("the changelog held %d records, compacted and with more %d", before, r.held(r.changelog()))
	r.abortedTail()
	r.write(r.generated(6, 10)...) // a running worker writes behind it
	r.await(90 * time.Second)
	r.stop()
	r.abortedTail()
	if err := os.RemoveAll(r.worker.Store); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.await(90 * time.Second)
	r.sameAsReplay()
	r.write(r.generated(8, 10)...)
	r.await(90 * time.Second)
	r.sameAsReplay()
	r.changesAreWhole()
	r.stop()
}

// abortedTail leaves aborted records and their marker at the end of every
// partition of the lane's changelog, as a producer does that dies.
func (r *rig) abortedTail() {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	cl := r.kafka.Client(r, kgo.TransactionalID(r.stream+"-stranger"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		r.Fatal(err)
	}
	for p := range r.writer.Topics()[r.lane()] {
		rec := &kgo.Record{Topic: r.changelog(), Partition: p, Key: []byte("x"), Value: []byte("not of the index")}
		if err := cl.ProduceSync(ctx, rec).FirstErr(); err != nil {
			r.Fatal(err)
		}
	}
	if err := cl.EndTransaction(ctx, kgo.TryAbort); err != nil {
		r.Fatal(err)
	}
}
