package e2e

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/schema"
	"sessionfold/wire"
)

// output is every topic that the worker writes, read from its first byte on, with
// what the group's offsets carry.
func (s *search) output() {
	s.r.Helper()
	ctx, cancel := context.WithTimeout(s.r.Context(), time.Minute)
	defer cancel()
	topics, err := s.r.kafka.Admin.ListTopics(ctx)
	if err != nil {
		s.r.Fatal(err)
	}
	published, err := schema.New()
	if err != nil {
		s.r.Fatal(err)
	}
	inputs, want, changelogs := s.r.topics(), 0, 0
	for topic := range inputs {
		if wire.RoleOf(s.r.stream, topic) != wire.RoleHeartbeats { // they have none
			want++
		}
	}
	for _, topic := range topics.Names() {
		if _, in := inputs[topic]; in || !strings.HasPrefix(topic, s.r.stream) {
			continue
		}
		place, allowed := "changes topic", []fate{kept} // its rows carry summaries here
		if topic != s.r.changesTopic() {
			changelogs++
			place, allowed = "changelog topics", []fate{kept, stateOnly}
		}
		s.topic(ctx, topic, func(r *kgo.Record) {
			if topic == s.r.changesTopic() && !r.Attrs.IsControl() {
				if err := published.Check(r.Value); err != nil {
					s.r.Error(err)
				}
			}
			s.look(place, r.Key, allowed...)
			s.look(place, r.Value, allowed...)
			for _, h := range r.Headers {
				s.look(place, []byte(h.Key+"\n"+string(h.Value)), allowed...)
			}
		})
	}
	if published.Checked() == 0 {
		s.r.Error("no change row was held against the schema")
	}
	if changelogs != want {
		s.r.Errorf("%d changelog topics of %d topics", changelogs, len(inputs))
	}
	offsets, err := s.r.kafka.Admin.FetchOffsets(ctx, s.r.stream)
	if err != nil {
		s.r.Fatal(err)
	}
	for _, parts := range offsets {
		for _, o := range parts {
			s.look("offsets", []byte(o.Metadata))
		}
	}
}

// topic reads all records of a topic, those of transactions that were given up
// too.
func (s *search) topic(ctx context.Context, topic string, f func(*kgo.Record)) {
	s.r.Helper()
	ends, err := s.r.kafka.Admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		s.r.Fatal(err)
	}
	from, left := map[int32]kgo.Offset{}, map[int32]int64{}
	for _, o := range ends.Offsets()[topic] {
		if o.At > 0 {
			from[o.Partition], left[o.Partition] = kgo.NewOffset().AtStart(), o.At
		}
	}
	if len(left) == 0 {
		return
	}
	cl := s.r.kafka.Client(s.r, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.KeepControlRecords())
	defer cl.Close()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			s.r.Fatalf("read %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if end, ok := left[r.Partition]; ok && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
			f(r)
		})
	}
}

// walBlock is the size of a block of Pebble's write-ahead log; each begins with a
// head of 7 to 19 bytes, also in the middle of a value.
const walBlock = 32 << 10

// files are the bytes of the store's directory: after a kill the log of all writes
// is among them, and nothing in it is compressed.
func (s *search) files() {
	s.r.Helper()
	err := filepath.WalkDir(s.r.worker.Store, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s.look("files", b, kept, stateOnly)
		if !strings.HasSuffix(path, ".log") {
			return nil
		}
		for _, head := range []int{7, 11, 19} {
			var joined []byte
			for at := 0; at < len(b); at += walBlock {
				block := b[at:min(at+walBlock, len(b))]
				joined = append(joined, block[min(head, len(block)):]...)
			}
			s.look("files, without heads of blocks", joined, kept, stateOnly)
		}
		return nil
	})
	if err != nil {
		s.r.Fatal(err)
	}
}

// quiet lets Pebble speak of errors only.
type quiet struct{ t *testing.T }

func (quiet) Infof(string, ...any)                {}
func (q quiet) Errorf(format string, args ...any) { q.t.Errorf(format, args...) }
func (q quiet) Fatalf(format string, args ...any) { q.t.Fatalf(format, args...) }

// disk is what lies there after a kill and after a stop, and in the store at
// least so many bytes of rows.
func (s *search) disk(least int) {
	s.r.Helper()
	s.r.worker.Kill() // its log of writes is on disk, whole
	s.files()
	s.r.start()
	s.folded()
	s.r.stop()
	s.files()
	s.store(least)
	out, err := s.r.cli("check-store", "--config", s.r.worker.Config())
	if err != nil {
		s.r.Fatal(err)
	}
	s.look("check-store", []byte(out))
}

// store are all keys and values of a store that is closed, as Pebble gives them:
// its tables are compressed. There must be a least number of bytes.
func (s *search) store(least int) {
	s.r.Helper()
	db, err := pebble.Open(s.r.worker.Store, &pebble.Options{ReadOnly: true, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{s.r.T}})
	if err != nil {
		s.r.Fatal(err)
	}
	defer db.Close()
	it, err := db.NewIter(nil)
	if err != nil {
		s.r.Fatal(err)
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			s.r.Fatal(err)
		}
		s.look("store", append(append([]byte{}, it.Key()...), v...), kept, stateOnly)
	}
	if err := it.Error(); err != nil {
		s.r.Fatal(err)
	}
	if s.bytes["store"] < least {
		s.r.Errorf("only %d bytes are in the store", s.bytes["store"])
	}
}
