package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// notes writes n records of one session to a partition of the lane, whatever its
// key says.
func (r *rig) notes(cl *kgo.Client, partition int32, name string, n int) wire.ID {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 60*time.Second)
	defer cancel()
	l := r.log()
	s := l.Session(name, "planner")
	s.Start(agdxlog.Start{Label: name})
	for len(l.Records) < n {
		s.Note("a note")
	}
	for _, rec := range l.Records {
		k := &kgo.Record{Topic: rec.Topic, Partition: partition, Key: rec.Key, Value: rec.Value}
		for _, h := range rec.Headers {
			k.Headers = append(k.Headers, kgo.RecordHeader(h))
		}
		if err := cl.ProduceSync(ctx, k).FirstErr(); err != nil {
			r.Fatalf("%s: %v", name, err)
		}
	}
	return s.ID
}

// counted is the events of a session as the read shows them; 0 when it is not listed.
func (r *rig) counted(id wire.ID) (uint64, error) {
	var s wire.SessionInfo
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	err := r.worker.JSON(ctx, "/sessions/"+r.stream+"/"+id.String(), &s)
	if status := (*folder.StatusError)(nil); errors.As(err, &status) && status.Status == 404 {
		return 0, nil
	}
	return s.Events, err
}

func (r *rig) counts(within time.Duration, want map[wire.ID]uint64) {
	r.Helper()
	testenv.Eventually(r, within, func() error {
		if err := r.worker.Ended(); err != nil {
			r.Fatal(err)
		}
		for id, n := range want {
			if got, err := r.counted(id); err != nil || got != n {
				return fmt.Errorf("session %s shows %d events, want %d: %v", id, got, n, err)
			}
		}
		return nil
	})
}

// lostGap waits for the gap that a session's source shows.
func (r *rig) lostGap(within time.Duration, id wire.ID, from, to uint64) {
	r.Helper()
	testenv.Eventually(r, within, func() error {
		p, err := r.page1(id)
		if err != nil {
			return err
		}
		for _, g := range p.Gaps {
			if g.Reason == "source_lost" && g.From == from && g.To == to {
				return nil
			}
		}
		return fmt.Errorf("gaps %+v, want source_lost %d to %d", p.Gaps, from, to)
	})
}

// The brokers elect a leader that has not all of the log, and it writes other
// records at the offsets that were folded. What was folded stays counted, the
// lost range is a gap, records that took lost offsets over are not folded, and
// the fold goes on behind: on one partition the log is shorter than what was
// folded when the worker looks, on the other it has grown past it.
func TestKafkaUncleanElectionIsAGap(t *testing.T) {
	const first, lost = 10, 20 // records per partition: kept, and lost
	r, c := newKafkaRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	// One broker alone takes writes to everything, so that it can fold what the
	// others never had; only the lane may be led by one of those.
	r.set(r.lane(), "min.insync.replicas", "1", "unclean.leader.election.enable", "true")
	r.start()
	cl := r.kafka.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	kept := []wire.ID{r.notes(cl, 0, "kept 0", first), r.notes(cl, 1, "kept 1", first)}
	r.folded(60*time.Second, r.lane())
	all := append([]string{r.changesTopic()}, internal...)
	for topic := range r.writer.Topics() {
		if topic != r.lane() {
			all = append(all, topic)
		}
		if wire.RoleOf(r.stream, topic) != wire.RoleHeartbeats {
			all = append(all, r.stream+"-"+topic+"-changelog")
		}
	}
	for _, topic := range all {
		r.set(topic, "min.insync.replicas", "1")
	}
	if err := c.InSync(ctx, append(all, r.lane())...); err != nil {
		t.Fatal(err)
	}
	last, err := c.Led(ctx, r.lane(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range c.Broker {
		if id != last {
			if err := n.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := []wire.ID{r.notes(cl, 0, "lost 0", lost), r.notes(cl, 1, "lost 1", lost)}
	r.folded(90*time.Second, r.lane())
	r.counts(30*time.Second, map[wire.ID]uint64{gone[0]: lost, gone[1]: lost})

	t.Logf("broker %d, which alone has the last records, is killed; the others come back", last)
	if err := c.Broker[last].Kill(); err != nil {
		t.Fatal(err)
	}
	for id, n := range c.Broker {
		if id != last {
			if err := n.Restart(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	over := r.notes(cl, 0, "takes over 0", lost/2)  // offsets 10 to 19: still shorter
	mixed := r.notes(cl, 1, "takes over 1", lost+5) // offsets 10 to 34: longer
	if err := c.Heal(ctx); err != nil {
		t.Fatal(err)
	}
	r.lostGap(2*time.Minute, kept[0], first, first+lost-1)
	r.lostGap(2*time.Minute, kept[1], first, first+lost-1)
	r.counts(60*time.Second, map[wire.ID]uint64{
		kept[0]: first, kept[1]: first, gone[0]: lost, gone[1]: lost, // stay counted
		over: 0, mixed: 5, // only what lies behind the lost range
	})
	// The first log grows past the lost range: the fold goes on there.
	again := r.notes(cl, 0, "grows", lost/2+7)
	r.counts(90*time.Second, map[wire.ID]uint64{again: 7, over: 0, gone[0]: lost})
	if err := r.seqs(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	// What was lost is known for good.
	r.start()
	r.folded(60*time.Second, r.lane())
	r.counts(30*time.Second, map[wire.ID]uint64{again: 7, over: 0, gone[0]: lost, mixed: 5})
	r.lostGap(10*time.Second, kept[0], first, first+lost-1)
	r.stop()
	// On an empty disk too. Timelines come back from what the brokers hold: those
	// of lost records stay empty, and other records do not take their place.
	if err := os.RemoveAll(r.worker.Store); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.counts(60*time.Second, map[wire.ID]uint64{again: 7, over: 0, gone[0]: lost, gone[1]: lost, mixed: 5, kept[1]: first})
	rows := map[wire.ID]int{again: 7, gone[0]: 0, gone[1]: 0, mixed: 5, kept[0]: first, kept[1]: first}
	testenv.Eventually(t, 30*time.Second, func() error {
		for id, want := range rows {
			p, err := r.page1(id)
			if err != nil || len(p.Items) != want {
				return fmt.Errorf("session %s has %d rows, want %d: %v", id, len(p.Items), want, err)
			}
			for _, g := range p.Gaps {
				if g.Reason == "rebuilding" {
					return fmt.Errorf("session %s is being rebuilt: %+v", id, g)
				}
			}
		}
		return nil
	})
	r.stop()
}
