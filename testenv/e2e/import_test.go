package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/testenv"
	"sessionfold/testenv/broker"
	"sessionfold/testenv/nativegen"
	"sessionfold/testenv/proc"
	"sessionfold/wire"
)

// An import is killed again and again, each time after some of its writes; when
// it comes to its end, every line lies in the topic once, and those of a session
// in their order. Another import then sends nothing.
func TestImportKilled(t *testing.T) {
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		t.Run(d.String(), func(t *testing.T) { importKilled(t, d) })
	}
}

func importKilled(t *testing.T, d wire.Dialect) {
	const partitions = 3
	k, bin, dir, topic := testenv.Fake(t, broker.Options{}), binary(t), t.TempDir(), d.String()+".events"
	k.Create(t, topic, partitions, "max.message.bytes", "40000", "retention.ms", "-1") // many small batches
	g := nativegen.New(nativegen.Options{Dialect: d, Seed: 21, Sessions: 150, Rate: 50, Epoch: time.UnixMilli(1_764_000_000_000)})
	lines, err := g.WriteFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"import", "--kafka.brokers", k.Addrs[0], "--topic", topic, dir}
	for n := range 4 {
		importAndKill(t, k, bin, args, int32(3*n+2))
	}
	records := make([][]*kgo.Record, partitions)
	for p := range records {
		records[p] = readPartition(t, k, topic, int32(p))
	}
	if n := len(records[0]) + len(records[1]) + len(records[2]); n == 0 || n >= lines {
		t.Fatalf("%d of %d lines are written before the last import: the kills came too early or too late", n, lines)
	}
	for i, want := range []string{" sent, ", ": 0 sent, "} {
		out, err := exec.Command(bin, args...).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(want)) {
			t.Fatalf("import %d: %v\n%s", i, err, out)
		}
	}
	got := map[string][]string{} // by session
	count := 0
	for p := range records {
		for _, r := range readPartition(t, k, topic, int32(p)) {
			got[string(r.Key)] = append(got[string(r.Key)], string(r.Value))
			count++
		}
	}
	if count != lines {
		t.Errorf("%d records of %d lines", count, lines)
	}
	for session, want := range linesOf(t, d, dir) {
		if fmt.Sprint(got[session]) != fmt.Sprint(want) {
			t.Errorf("session %s has %d records, its log %d lines, or another order", session, len(got[session]), len(want))
		}
	}
}

// importAndKill kills an import when the broker has taken some of its writes and
// refuses the next.
func importAndKill(t *testing.T, k *testenv.Kafka, bin string, args []string, writes int32) {
	t.Helper()
	var seen atomic.Int32
	h := k.Fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Count: -1, Err: kerr.NotLeaderForPartition,
		When: func(kmsg.Request) bool { return seen.Add(1) > writes },
	})
	defer h.Remove()
	p, err := proc.Start(bin, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := h.Wait(ctx, 1); err != nil {
		t.Fatalf("the import did not come so far: %v\n%s", err, p.Out)
	}
}

// readPartition gives the records of a partition.
func readPartition(t *testing.T, k *testenv.Kafka, topic string, partition int32) (out []*kgo.Record) {
	t.Helper()
	ends, err := k.Admin.ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, partition)
	cl := k.Client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for int64(len(out)) < end.Offset {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		out = append(out, fs.Records()...)
	}
	return out
}

// linesOf gives the lines of each session, by the key that its records have.
func linesOf(t *testing.T, d wire.Dialect, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	src, dec, out := wire.NewSource("s", "t", 1, 0, wire.RoleLane, d), wire.NewDecoder(d, nil), map[string][]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			line = bytes.TrimSpace(line)
			key := ""
			if d == wire.DialectDeepStrike {
				key = filepath.Base(file[:len(file)-len(".jsonl")])
			} else if r := dec.Decode(src, []wire.Raw{{Value: line}})[0]; r.HasSession {
				key = fmt.Sprintf("session_%x", r.Session[:])
			}
			out[key] = append(out[key], string(line))
		}
	}
	return out
}
