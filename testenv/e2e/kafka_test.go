package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/folder"
	"sessionfold/testenv/kafka"
	"sessionfold/wire"
)

// Tests named TestKafka… need three real brokers and start them themselves. They
// show what kfake cannot; what it can is shown by the other tests, which run on
// both.

// newKafkaRig is a rig on the shared cluster.
func newKafkaRig(t *testing.T) (*rig, *kafka.Cluster) {
	t.Helper()
	k, c := testenv.Cluster(t)
	return newRigOn(t, k), c
}

// lane is the stream's lane topic.
func (r *rig) lane() string { return r.stream + ".agent.sessions" }

// changelog is the changelog topic of the lane.
func (r *rig) changelog() string { return r.stream + "-" + r.lane() + "-changelog" }

// set changes a topic's settings, given as key, value pairs.
func (r *rig) set(topic string, settings ...string) {
	r.Helper()
	var alter []kadm.AlterConfig
	for i := 0; i+1 < len(settings); i += 2 {
		alter = append(alter, kadm.AlterConfig{Op: kadm.SetConfig, Name: settings[i], Value: &settings[i+1]})
	}
	rs, err := r.kafka.Admin.AlterTopicConfigs(r.Context(), alter, topic)
	if err == nil && len(rs) > 0 {
		err = rs[0].Err
	}
	if err != nil {
		r.Fatalf("set %v of %s: %v", settings, topic, err)
	}
}

// load writes at a rate until stop is called, which waits for the brokers to
// have everything.
func (r *rig) load(seed uint64, rate float64) (stop func()) {
	r.Helper()
	g := agdxgen.New(agdxgen.Options{Stream: r.stream, Seed: seed, Rate: rate, Epoch: time.UnixMilli(1_800_000_000_000 + int64(seed)<<20), Live: 40})
	ctx, cancel := context.WithCancel(r.Context())
	wrote := make(chan struct{})
	go func() { // it alone touches the expectation until it has ended
		defer close(wrote)
		began, n := time.Now(), 0
		for ctx.Err() == nil {
			for ; n < int(time.Since(began).Seconds()*rate); n++ {
				e, _ := g.Next()
				r.want.Add(e.Record)
				r.writer.Put(e.Record)
			}
			time.Sleep(5 * time.Millisecond) // the rate, not a wait
		}
	}()
	return func() {
		r.Helper()
		cancel()
		<-wrote
		r.writer.Flush()
		r.Logf("%d records in %d sessions", r.want.Records, len(r.want.Sessions))
	}
}

// endsWhole ends a load and the worker: everything was folded, once, and told of.
func (r *rig) endsWhole(stop func()) {
	r.Helper()
	stop()
	r.await(2 * time.Minute)
	r.sameAsReplay()
	r.changesAreWhole()
	r.stop()
}

// committed is the sum of the group's offsets.
func (r *rig) committed(ctx context.Context) (sum int64, err error) {
	os, err := r.kafka.Offsets(ctx, r.stream)
	os.Each(func(o kadm.OffsetResponse) { sum += max(0, o.At) })
	return sum, err
}

// moves waits until the worker has committed more than it has now: it is alive,
// and so are the brokers.
func (r *rig) moves(within time.Duration) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), within+5*time.Second)
	defer cancel()
	began, from := time.Now(), int64(-1)
	testenv.Eventually(r, within, func() error {
		if err := r.worker.Ended(); err != nil {
			r.Fatal(err)
		}
		at, err := r.committed(ctx)
		switch {
		case err != nil:
			return err
		case from < 0:
			from = at
		case at > from:
			return nil
		}
		return fmt.Errorf("the group stands still at %d in sum", at)
	})
	r.Logf("commits go on after %s", time.Since(began).Round(time.Millisecond))
}

// folded waits until the group has committed every partition of a topic to its end.
func (r *rig) folded(within time.Duration, topic string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), within+5*time.Second)
	defer cancel()
	testenv.Eventually(r, within, func() error { return r.kafka.Folded(ctx, r.stream, topic) })
}

// held counts the records that the brokers hold of a topic, markers left out.
func (r *rig) held(topic string) (n int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	starts, err := r.kafka.Admin.ListStartOffsets(ctx, topic)
	if err != nil {
		r.Fatal(err)
	}
	ends, err := r.kafka.Admin.ListEndOffsets(ctx, topic)
	if err != nil {
		r.Fatal(err)
	}
	left, at := map[int32]int64{}, map[string]map[int32]kgo.Offset{topic: {}}
	ends.Each(func(o kadm.ListedOffset) {
		s, _ := starts.Lookup(topic, o.Partition)
		if s.Offset < o.Offset {
			left[o.Partition] = o.Offset
			at[topic][o.Partition] = kgo.NewOffset().At(s.Offset)
		}
	})
	cl := r.kafka.Client(r, kgo.ConsumePartitions(at), kgo.KeepControlRecords())
	defer cl.Close()
	for len(left) > 0 {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			r.Fatal(err)
		}
		fs.EachRecord(func(rec *kgo.Record) {
			if !rec.Attrs.IsControl() {
				n++
			}
			if rec.Offset+1 >= left[rec.Partition] {
				delete(left, rec.Partition)
			}
		})
	}
	return n
}

// page1 reads the first page of a session's events, with its gaps.
func (r *rig) page1(id wire.ID) (p wire.SessionEventsPage, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	err = r.worker.JSON(ctx, folder.Page("/sessions/"+r.stream+"/"+id.String()+"/events", ""), &p)
	return p, err
}
