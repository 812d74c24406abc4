package replay

import (
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sessionfold/testenv/agdxgen"
	"sessionfold/wire"
)

func TestLineRoundTrip(t *testing.T) {
	tp := wire.TopicPartition{Topic: "s.agent.sessions", Partition: 3}
	for name, r := range map[string]wire.Raw{
		"full":      {Offset: 1<<64 - 1, Timestamp: -1, Key: []byte{0, 255}, Value: []byte("v"), Headers: []wire.Header{{Key: "a", Value: []byte{1}}, {Key: "a", Value: nil}}},
		"tombstone": {Offset: 1, Timestamp: 5, Key: []byte("k")},
		"empty":     {Value: []byte{}},
	} {
		b, err := AppendRecord(nil, tp, &r)
		if err != nil {
			t.Fatal(err)
		}
		l, err := ParseLine(b[:len(b)-1])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := l.Raw()
		if d := cmp.Diff(r, got); d != "" || l.TopicPartition() != tp {
			t.Errorf("%s: %s", name, d)
		}
		if (got.Value == nil) != (r.Value == nil) {
			t.Errorf("%s: a tombstone and an empty value are mixed up", name)
		}
	}
}

func TestParseLineFaults(t *testing.T) {
	for line, want := range map[string]string{
		`{}`:            "topic is missing",
		`{"topic":"t"}`: "partition is missing",
		`{"topic":"t","partition":-1,"offset":1}`:              "partition is missing or negative",
		`{"topic":"t","partition":0}`:                          "either an offset or a log_start",
		`{"topic":"t","partition":0,"offset":1,"log_start":1}`: "either an offset or a log_start",
		`{"topic":"t","partition":0,"offset":-1}`:              "is no record",
		`{"topic":"t","partition":0,"offset":1,"vaule":""}`:    "is no record",
		`{"topic":"t","partition":0,"offset":1,"value":"!"}`:   "is no record",
		`{"topic":"t","partition":0,"offset":1} {}`:            "more than one JSON value",
		`nonsense`: "is no record",
	} {
		if _, err := ParseLine([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"topic":"t","partition":0,"offset":1,"timestamp":2,"key":"AA==","headers":[{"key":"a","value":""}],"value":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLine(b)
		if err != nil || l.Offset == nil {
			return
		}
		raw := l.Raw()
		out, err := AppendRecord(nil, l.TopicPartition(), &raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseLine(out[:len(out)-1])
		if err != nil {
			t.Fatalf("written line does not read: %v\n%s", err, out)
		}
		if d := cmp.Diff(raw, again.Raw()); d != "" {
			t.Fatal(d)
		}
	})
}

// log writes a generated log, spread over partitions by session, in parts.
func log(t *testing.T, dir string, files int) {
	t.Helper()
	next := map[wire.TopicPartition]uint64{}
	var lines [][]byte
	for e := range agdxgen.New(agdxgen.Options{Stream: "s", Seed: 7, Sessions: 40, Rate: 1000, Epoch: time.UnixMilli(1_764_000_000_000)}).All() {
		tp := wire.TopicPartition{Topic: e.Topic, Partition: int32(e.Session[15] % 3)}
		raw := wire.Raw{Offset: next[tp], Timestamp: 1_764_000_000_000 + e.At.Milliseconds(), Key: e.Key, Value: e.Value, Headers: e.Headers}
		next[tp]++
		b, err := AppendRecord(nil, tp, &raw)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b)
	}
	for i := range files {
		var body []byte
		for _, l := range lines[len(lines)*i/files : len(lines)*(i+1)/files] {
			body = append(body, l...)
		}
		name := filepath.Join(dir, string('a'+rune(i))+".ndjson")
		if i%2 == 0 {
			if err := os.WriteFile(name, body, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, err := os.Create(name + ".gz")
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		if _, err := z.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

// digest folds the files of a directory and dumps the store.
func digest(t *testing.T, dir string) (string, uint64) {
	t.Helper()
	files, err := Expand([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	e, err := New([]Stream{{Name: "s", Dialect: wire.DialectAGDX}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var read int64
	if err := Read(context.Background(), files, func(n int) { read += int64(n) }, e.Put); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	if read != Size(files) {
		t.Errorf("progress told of %d of %d bytes", read, Size(files))
	}
	report, err := e.Store().Check(context.Background())
	if err != nil || report.Total > 0 {
		t.Fatalf("%v, %d problems, the first: %v", err, report.Total, report.Problems[:min(1, len(report.Problems))])
	}
	d, err := e.Store().Digest(context.Background(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return d.String(), e.Records
}

// However a log is cut into files, and wherever batches end, the fold is the same.
func TestFilesDoNotMatter(t *testing.T) {
	one, many := t.TempDir(), t.TempDir()
	log(t, one, 1)
	log(t, many, 7)
	a, n := digest(t, one)
	b, m := digest(t, many)
	if n < 1000 || n != m || a != b {
		t.Errorf("%d records %s, %d records %s", n, a, m, b)
	}
}

func TestReadIsCancelled(t *testing.T) {
	dir := t.TempDir()
	log(t, dir, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Read(ctx, []string{filepath.Join(dir, "a.ndjson")}, nil, func(*Line) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestGuessStreams(t *testing.T) {
	var got []string
	for _, s := range GuessStreams([]string{"b.x.agent.sessions", "a.agent.dlq", "a.agent.memory", "orders", ".agent.sessions", "a.agent.other"}) {
		got = append(got, s.Name)
	}
	if d := cmp.Diff([]string{"a", "b.x"}, got); d != "" {
		t.Error(d)
	}
}
