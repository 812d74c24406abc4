package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

type bench struct {
	t *testing.T
	c *kfake.Cluster
	r *Reader
}

func newBench(t *testing.T, topics ...string) *bench {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r, err := NewReader(Conn{Brokers: c.ListenAddrs()}, []Stream{{Name: "s", Topics: wire.TopicsOf("s")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return &bench{t, c, r}
}

func (b *bench) client(opts ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.c.ListenAddrs()...)}, opts...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(cl.Close)
	return cl
}

// txn writes records in a transaction that stays open.
func (b *bench) txn(id, topic string, values ...string) *kgo.Client {
	b.t.Helper()
	cl := b.client(kgo.TransactionalID(id), kgo.DefaultProduceTopic(topic))
	if err := cl.BeginTransaction(); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range values {
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Key: []byte("s"), Value: []byte(v)}).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
	return cl
}

func (b *bench) end(cl *kgo.Client, how kgo.TransactionEndTry) {
	b.t.Helper()
	if err := cl.EndTransaction(context.Background(), how); err != nil {
		b.t.Fatal(err)
	}
}

// The end of a changelog is its high watermark: what a predecessor has written
// and not yet committed is waited for, and then read or passed over.
func TestChangelogIsReadToTheHighWatermark(t *testing.T) {
	for _, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		t.Run(fmt.Sprintf("commit %v", how), func(t *testing.T) {
			b := newBench(t, "log")
			b.end(b.txn("a", "log", "1", "2"), kgo.TryCommit)
			open := b.txn("b", "log", "3") // offset 3, behind a marker
			type answer struct {
				got  []string
				next int64
				err  error
			}
			done := make(chan answer, 1)
			tp := wire.TopicPartition{Topic: "log"}
			go func() {
				var a answer
				a.next, a.err = b.r.ReadChangelog(context.Background(), tp, 0, func(_ int64, _, v []byte) error {
					a.got = append(a.got, string(v))
					return nil
				})
				done <- a
			}()
			select {
			case a := <-done:
				t.Fatalf("it did not wait for the open transaction: %v", a)
			case <-time.After(200 * time.Millisecond):
			}
			b.end(open, how)
			a := <-done
			want := "[1 2 3]"
			if how == kgo.TryAbort {
				want = "[1 2]"
			}
			if a.err != nil || fmt.Sprint(a.got) != want || a.next < 4 {
				t.Fatalf("%v to %d, %v; want %s to 4 at least", a.got, a.next, a.err, want)
			}
			// From where it ended there is nothing, and no wait.
			next, err := b.r.ReadChangelog(context.Background(), tp, a.next, func(_ int64, _, v []byte) error { return errors.New("a record") })
			if err != nil || next < a.next {
				t.Fatal(next, err)
			}
			if _, err := b.r.ReadChangelog(context.Background(), tp, 1000, nil); !errors.Is(err, ErrChangelogBehind) {
				t.Fatal(err)
			}
		})
	}
}

func TestQuiet(t *testing.T) {
	b := newBench(t, "log")
	b.end(b.txn("a", "log", "1"), kgo.TryCommit)      // 0, marker 1
	b.end(b.txn("a2", "log", "x", "y"), kgo.TryAbort) // 2, 3, marker 4
	b.end(b.txn("a3", "log", "2"), kgo.TryCommit)     // 5, marker 6
	tp := wire.TopicPartition{Topic: "log"}
	for _, c := range []struct {
		from, to int64
		want     bool
	}{{0, 1, false}, {1, 2, true}, {1, 5, true}, {1, 6, false}, {5, 6, false}, {6, 7, true}, {3, 3, true}} {
		got, err := b.r.Quiet(context.Background(), tp, c.from, c.to)
		if err != nil || got != c.want {
			t.Errorf("[%d, %d): %v, %v, want %v", c.from, c.to, got, err, c.want)
		}
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	b := newBench(t, "log")
	b.txn("a", "log", "1")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.r.ReadChangelog(ctx, wire.TopicPartition{Topic: "log"}, 0, func(_ int64, _, _ []byte) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestScanCutsAtBothEnds(t *testing.T) {
	b := newBench(t, "log")
	b.end(b.txn("a", "log", "0", "1", "2", "3", "4", "5"), kgo.TryCommit)
	if err := b.c.DeleteRecords("log", 0, 1); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := b.r.Scan(context.Background(), wire.TopicPartition{Topic: "log"}, 0, 5, 3, func(raw []wire.Raw) error {
		if len(raw) > 3 {
			t.Errorf("%d records at once", len(raw))
		}
		for _, r := range raw {
			got = append(got, fmt.Sprintf("%d:%s", r.Offset, r.Value))
		}
		return nil
	})
	if err != nil || fmt.Sprint(got) != "[1:1 2:2 3:3 4:4]" {
		t.Fatal(got, err)
	}
}

func TestIdentity(t *testing.T) {
	b := newBench(t, "s.agent.sessions")
	tp := wire.TopicPartition{Topic: "s.agent.sessions"}
	b.end(b.txn("a", tp.Topic, "0"), kgo.TryCommit)
	id, err := b.r.Identify(context.Background(), tp)
	if err != nil {
		t.Fatal(err)
	}
	uuid := b.c.TopicInfo(tp.Topic).TopicID
	if id.TopicUUID != uuid || id.Source.Generation != wire.GenerationOf(uuid) || id.Source.Role != wire.RoleLane || id.High != 2 || id.Partitions != 1 {
		t.Fatalf("%+v %+v", id, id.Source)
	}
	if err := b.c.DeleteTopic(tp.Topic); err != nil {
		t.Fatal(err)
	}
	if _, err := b.r.Identify(context.Background(), tp); err == nil || !strings.Contains(err.Error(), "UNKNOWN_TOPIC") {
		t.Fatal(err)
	}
	if err := b.c.CreateTopic(tp.Topic, 2, nil); err != nil {
		t.Fatal(err)
	}
	again, err := b.r.Identify(context.Background(), tp)
	if err != nil || again.Source.Generation == id.Source.Generation || again.Partitions != 2 {
		t.Fatalf("%+v %v", again, err)
	}
}

// seq is the offset in the output partition + 1; a reader behind the beginning
// is told to start over.
func TestChanges(t *testing.T) {
	b := newBench(t, "changes")
	row := func(seq uint64) string {
		v, err := json.Marshal(wire.ChangeRow{V: 1, Stream: "s", Source: wire.ChangeSource{Topic: "s.agent.sessions", Generation: 1<<63 + 5}, Seq: seq,
			Sessions: []wire.ID{{15: byte(seq)}}, Positions: []wire.ChangePosition{{Topic: "s.agent.sessions", Generation: 1<<63 + 5, Offset: 10 * seq}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(v)
	}
	b.end(b.txn("a", "changes", row(1), row(2)), kgo.TryCommit) // 0, 1, marker 2
	b.end(b.txn("b", "changes", row(3)), kgo.TryAbort)          // 3, marker 4
	other := b.client(kgo.DefaultProduceTopic("changes"))
	if err := other.ProduceSync(context.Background(), &kgo.Record{Key: []byte("another stream"), Value: []byte(row(1))}).FirstErr(); err != nil { // 5
		t.Fatal(err)
	}
	b.end(b.txn("c", "changes", row(3)), kgo.TryCommit) // 6, marker 7
	b.txn("d", "changes", row(4))                       // 8, open
	c := NewChangeReader(b.r, "changes", func(string, int32) int32 { return 0 })
	read := func(after uint64, limit int) string {
		t.Helper()
		got, err := c.Read(context.Background(), "s", after, limit)
		if err != nil {
			t.Fatal(err)
		}
		s := fmt.Sprintf("floor %d resync %v:", got.Floor, got.Resync)
		for _, r := range got.Rows {
			p, _ := wire.ParseLocator(r.Positions[0][:])
			s += fmt.Sprintf(" %d/%d@%d", r.Seq, r.Sessions[0][15], p.Offset)
		}
		return s + fmt.Sprint(" next ", got.Next)
	}
	for _, x := range []struct {
		after uint64
		limit int
		want  string
	}{
		{0, 100, "floor 0 resync false: 1/1@10 2/2@20 7/3@30 next 8"},
		{0, 1, "floor 0 resync false: 1/1@10 next 1"},
		{1, 1, "floor 0 resync false: 2/2@20 next 2"},
		{2, 100, "floor 0 resync false: 7/3@30 next 8"},
		{3, 1, "floor 0 resync false: 7/3@30 next 8"},
		{7, 100, "floor 0 resync false: next 8"},
		{8, 100, "floor 0 resync false: next 8"},
		{9, 100, "floor 0 resync false: next 9"},
		{1 << 40, 100, "floor 0 resync false: next 8"},
	} {
		if got := read(x.after, x.limit); got != x.want {
			t.Errorf("after %d, limit %d: %s, want %s", x.after, x.limit, got, x.want)
		}
	}
	if err := b.c.DeleteRecords("changes", 0, 2); err != nil {
		t.Fatal(err)
	}
	if got := read(1, 100); got != "floor 2 resync true: next 1" {
		t.Error(got)
	}
	if got := read(2, 100); got != "floor 2 resync false: 7/3@30 next 8" {
		t.Error(got)
	}
}

func TestLayoutIsChecked(t *testing.T) {
	lane := func(topics ...string) []wire.TopicRole {
		var ts []wire.TopicRole
		for _, n := range topics {
			ts = append(ts, wire.TopicRole{Topic: n, Role: wire.RoleLane})
		}
		return ts
	}
	for name, c := range map[string]struct {
		streams []Stream
		says    string
	}{
		"no topics":       {nil, "no topics"},
		"no name":         {[]Stream{{Topics: lane("a")}}, "without a name"},
		"twice":           {[]Stream{{Name: "a", Topics: lane("x")}, {Name: "b", Topics: lane("x")}}, "one stream and one role"},
		"without role":    {[]Stream{{Name: "a", Topics: []wire.TopicRole{{Topic: "x"}}}}, "no role"},
		"the same number": {nil, "the same number"},
	} {
		if name == "the same number" {
			a, b := collision()
			c.streams = []Stream{{Name: "a", Topics: lane(a, b)}}
		}
		_, _, err := layout(c.streams)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
}

// collision finds two names with the same CRC-32C.
func collision() (string, string) {
	seen := map[uint32]string{}
	for i := 0; ; i++ {
		n := fmt.Sprintf("topic-%d-%x", i, i*2654435761)
		if o, ok := seen[wire.NameID(n)]; ok {
			return o, n
		}
		seen[wire.NameID(n)] = n
	}
}
