package e2e

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// dated produces a record with a time of its own, as producers do on topics that
// keep theirs.
func (r *rig) dated(rec agdxlog.Record, at time.Time) {
	r.Helper()
	n := r.writer.Topics()[rec.Topic]
	k := &kgo.Record{Topic: rec.Topic, Partition: int32(crc32.ChecksumIEEE(rec.Key) % uint32(n)), Key: rec.Key, Value: rec.Value, Timestamp: at}
	for _, h := range rec.Headers {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	r.want.Add(rec)
	cl := r.kafka.Client(r, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	if err := cl.ProduceSync(r.Context(), k).FirstErr(); err != nil {
		r.Fatal(err)
	}
}

// elsewhere gives a key whose records lie in another lane partition.
func (r *rig) elsewhere(key []byte) []byte {
	n := uint32(r.writer.Topics()[wire.TopicsOf(r.stream)[0].Topic])
	for i := 0; ; i++ {
		other := fmt.Appendf(nil, "%s-%d", key, i)
		if crc32.ChecksumIEEE(other)%n != crc32.ChecksumIEEE(key)%n {
			return other
		}
	}
}

// Every flag, each on a session that gives cause for no other: told by the worker
// that folded it, and by one that restored it without a store.
func TestEveryFlag(t *testing.T) {
	const most = 40
	r := newRig(t)
	r.streamSetting(fmt.Sprintf("timeline_cap: %d", most))
	l := r.log()
	take := func() []agdxlog.Record { rs := l.Records; l.Records = nil; return rs }

	plain := l.Session("plain", "planner")
	plain.Start(agdxlog.Start{Label: strings.Repeat("é", 128)}) // 256 bytes: whole
	for i := range most - 2 {
		plain.By(fmt.Sprintf("agent-%d", i%31)).Note("fits") // with the planner as many as are kept
	}
	plain.End(wire.TaskCompleted, "")

	ended := l.Session("after_end", "planner")
	ended.Start(agdxlog.Start{Label: "ended"})
	ended.End(wire.TaskCompleted, "")
	ended.Note("late")
	ended.End(wire.TaskFailed, "too late")

	label := l.Session("label_truncated", "planner")
	label.Start(agdxlog.Start{Label: strings.Repeat("é", 128) + "x"})

	many := l.Session("overflow", "agent-0")
	many.Start(agdxlog.Start{Label: "a crowd"})
	for i := range 32 {
		many.By(fmt.Sprintf("agent-%d", i+1)).Note("one too many")
	}
	r.write(take()...)

	long := l.Session("events_truncated", "planner")
	long.Start(agdxlog.Start{Label: "long"})
	for range most + 4 {
		long.Note("and more")
	}
	r.write(take()...)

	conflict := l.Session("lane_conflict", "planner")
	conflict.Start(agdxlog.Start{Label: "torn"})
	conflict.End(wire.TaskCompleted, "")
	rs := take()
	rs[1].Key = r.elsewhere(rs[1].Key)
	now := time.Now()
	r.dated(rs[0], now)
	r.dated(rs[1], now.Add(time.Millisecond))

	early := l.Session("times_approximate", "planner")
	early.Start(agdxlog.Start{Label: "of last week"})
	early.Note("written earlier than the record before it")
	rs = take()
	r.dated(rs[0], now.Add(5*time.Millisecond))
	r.dated(rs[1], now.Add(-7*24*time.Hour))

	r.start()
	r.await(60 * time.Second)
	r.flags(most)
	r.sameAsReplay()

	r.worker.Kill()
	if err := os.RemoveAll(r.worker.Store); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.await(60 * time.Second)
	r.flags(most)
	r.sameAsReplay()
	r.stop()
}

// flags reads the sessions of TestEveryFlag.
func (r *rig) flags(most int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	got, err := r.sessions(ctx)
	if err != nil {
		r.Fatal(err)
	}
	for name, want := range map[string]wire.SessionFlags{
		"plain": {}, "after_end": {},
		"label_truncated":   {LabelTruncated: true},
		"overflow":          {Overflow: true},
		"events_truncated":  {EventsTruncated: true},
		"lane_conflict":     {LaneConflict: true},
		"times_approximate": {TimesApproximate: true},
	} {
		s := got[agdxlog.NameID(r.stream, name)]
		if s.Flags != want {
			r.Errorf("%s: flags %+v, want %+v", name, s.Flags, want)
		}
		r.flagged(ctx, name, &s, most)
	}
}

// flagged sees what else a session says about its flag.
func (r *rig) flagged(ctx context.Context, name string, s *wire.SessionInfo, most int) {
	r.Helper()
	var p wire.SessionEventsPage
	if err := r.worker.JSON(ctx, "/sessions/"+r.stream+"/"+s.ID.String()+"/events?limit=1000", &p); err != nil {
		r.Fatal(err)
	}
	late, gaps := 0, []string{}
	for _, e := range p.Items {
		if e.AfterEnd {
			late++
		}
	}
	for _, g := range p.Gaps {
		gaps = append(gaps, fmt.Sprintf("%s %d..%d", g.Reason, g.From, g.To))
	}
	told := fmt.Sprintf("%s, %d events, %d rows, %d late, gaps %d", s.Status, s.Events, len(p.Items), late, len(gaps))
	want := map[string]string{
		"plain":             fmt.Sprintf("completed, %d events, %d rows, 0 late, gaps 0", most, most),
		"after_end":         "completed, 4 events, 4 rows, 2 late, gaps 0",
		"label_truncated":   "active, 1 events, 1 rows, 0 late, gaps 0",
		"overflow":          "active, 33 events, 33 rows, 0 late, gaps 0",
		"events_truncated":  fmt.Sprintf("active, %d events, %d rows, 0 late, gaps 1", most+5, most),
		"lane_conflict":     "completed, 2 events, 2 rows, 0 late, gaps 0",
		"times_approximate": "active, 2 events, 2 rows, 0 late, gaps 0",
	}[name]
	if told != want {
		r.Errorf("%s: %s; want %s", name, told, want)
	}
	switch name {
	case "plain", "label_truncated":
		if s.Label == nil || *s.Label != strings.Repeat("é", 128) {
			r.Errorf("%s: label %v", name, s.Label)
		}
	case "after_end":
		if p.Items[1].AfterEnd || !p.Items[2].AfterEnd || !p.Items[3].AfterEnd {
			r.Errorf("after_end: rows %+v", p.Items)
		}
	case "events_truncated":
		first := p.Items[0].At.Message.Offset
		if g := p.Gaps[0]; g.Reason != "truncated" || g.From != first+uint64(most) {
			r.Errorf("events_truncated: gaps %v, first row at %d", gaps, first)
		}
	case "times_approximate":
		if p.Items[0].BrokerTS != p.Items[1].BrokerTS || p.Items[0].BrokerTS == 0 {
			r.Errorf("times_approximate: times %d and %d", p.Items[0].BrokerTS, p.Items[1].BrokerTS)
		}
	}
}
