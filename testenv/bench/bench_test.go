package bench

import (
	"testing"
	"time"

	"sessionfold/wire"
)

func TestLoadsAreWhatTheyPromise(t *testing.T) {
	short := Short("short", 0, 200, 4)
	if got, want := len(short.Records), 200*10; got != want {
		t.Fatalf("%d records, want %d", got, want)
	}
	long := Long("long", 40, 4, 3)
	if got, want := len(long.Records), 40*98; got != want {
		t.Fatalf("%d records, want %d", got, want)
	}
	for _, l := range []*Load{short, long} {
		sizes, parts := 0, map[wire.ID]int32{}
		for i, r := range l.Records {
			e, err := wire.DecodeEnvelope(r.Value)
			if err == nil {
				err = e.Validate()
			}
			if err != nil {
				t.Fatalf("%s: record %d: %v", l.Name, i, err)
			}
			if p, ok := parts[r.Session]; ok && p != r.Partition {
				t.Fatalf("%s: session %s lies in partitions %d and %d", l.Name, r.Session, p, r.Partition)
			}
			parts[r.Session] = r.Partition
			if string(e.Operation) == "" {
				sizes = len(r.Value)
			}
		}
		if len(parts) != l.Sessions {
			t.Errorf("%s: %d sessions, want %d", l.Name, len(parts), l.Sessions)
		}
		if n := len(l.Probes[l.Records[0].Topic]); n != 4 {
			t.Errorf("%s: %d probes for 4 partitions", l.Name, n)
		}
		if l == short && (sizes < 200 || sizes > 220) {
			t.Errorf("a note is %d bytes, want about 210", sizes)
		}
	}
}

func TestLatencyIsTheFirstReadThatShowsTheRecord(t *testing.T) {
	start := time.UnixMilli(1000)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	samples := []sample{{at(0), []int64{-1, -1}}, {at(10), []int64{4, 0}}, {at(20), []int64{9, 0}}, {at(30), []int64{9, 5}}}
	records := []sent{{0, 4, at(1)}, {0, 5, at(2)}, {1, 0, at(3)}, {1, 3, at(4)}, {0, 1, at(-5)}}
	got := latencies(records, samples, at(0))
	if want := (Latency{Records: 4, P50: 18 * time.Millisecond, P99: 26 * time.Millisecond, Max: 26 * time.Millisecond}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFloorsFail(t *testing.T) {
	runs := []Run{{Records: 1000, Took: time.Second, Drain: time.Second / 10, RSS: 600 << 20}}
	f := Floors{Rate: 2000, Ratio: 0.2, P99: time.Second, RSS: 512 << 20}
	if bad := f.Check(runs, &Latency{P99: 2 * time.Second}); len(bad) != 4 {
		t.Errorf("want four faults, got %q", bad)
	}
	if bad := (Floors{Rate: 900, Ratio: 0.05, P99: 3 * time.Second}).Check(runs, &Latency{P99: 2 * time.Second}); len(bad) != 0 {
		t.Errorf("want none, got %q", bad)
	}
}

func TestMixedLoadHasEveryTopic(t *testing.T) {
	l := Mixed("mixed", 200, 4)
	for _, topic := range wire.TopicsOf("mixed") {
		want := 1
		switch {
		case topic.Role == wire.RoleLane:
			want = 4
		case !topic.Role.Folded():
			want = 0
		}
		if got := len(l.Probes[topic.Topic]); got != want {
			t.Errorf("%d probes of %s, want %d", got, topic.Topic, want)
		}
	}
}

func TestStateBytesPerRowAreBound(t *testing.T) {
	l := Deltas("deltas", "one key", 3, func(int) string { return "key" })
	if len(l.Records) != 3 || l.Sessions != 1 {
		t.Fatalf("%d records of %d sessions", len(l.Records), l.Sessions)
	}
	s := &StateBytes{Rows: 10, Base: 1000, Log: 1000, Outcomes: 1200}
	if bad := CheckDeltas(l, s, 319); len(bad) != 1 {
		t.Errorf("320 bytes a row: want one fault, got %q", bad)
	}
	if bad := CheckDeltas(l, s, 320); len(bad) != 0 {
		t.Errorf("want none, got %q", bad)
	}
}

func TestNativeLoads(t *testing.T) {
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		l := Native(d, "tasks", 120, 4, 3)
		topic, parts := l.lane("tasks"), map[string]int32{}
		for i, r := range l.Records {
			if r.Topic != topic {
				t.Fatalf("%s: record %d is for topic %s, the lane is %s", d, i, r.Topic, topic)
			}
			if p, ok := parts[string(r.Key)]; ok && p != r.Partition {
				t.Fatalf("%s: session %s lies in partitions %d and %d", d, r.Key, p, r.Partition)
			}
			parts[string(r.Key)] = r.Partition
		}
		if len(parts) != l.Sessions || l.Sessions != 120 {
			t.Errorf("%s: %d keys of %d sessions, want 120", d, len(parts), l.Sessions)
		}
		if n := len(l.Probes[topic]); n != 4 {
			t.Errorf("%s: %d probes for 4 partitions", d, n)
		}
	}
}
