package bench

import (
	"context"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/index/row"
)

// DeltaCases are the two courses of the deltas case: how the member that delta
// i writes is called.
var DeltaCases = []struct {
	Name   string
	Member func(i int) string
}{
	{"distinct keys", func(i int) string { return fmt.Sprintf("key%05d", i*7919%100_000) }},
	{"one key", func(int) string { return "key" }},
}

// Deltas is a session of n state deltas, each of which writes a value of 64
// bytes to a member of the document.
func Deltas(stream, name string, n int, member func(i int) string) *Load {
	l := newLoader(fmt.Sprintf("%d deltas to one session, %s", n, name), stream, 1)
	s := l.session()
	l.place(0, l.tell(func() {
		for i := range n {
			s.Patch(uint64(i), fmt.Sprintf("op-%06d", i), fmt.Sprintf(`[{"op":"add","path":"/%s","value":"%064d"}]`, member(i), i))
		}
	}))
	return l.probeEach()
}

// StateBytes is what a changelog holds of state documents, keys included.
type StateBytes struct {
	Rows                int64 // outcomes in the history
	Base, Log, Outcomes int64 // bytes of documents' bases, of the patches since, of outcomes
}

// PerRow is the bytes of all three per outcome.
func (s *StateBytes) PerRow() float64 {
	return float64(s.Base+s.Log+s.Outcomes) / float64(max(s.Rows, 1))
}

// StateBytes reads a group's changelog of a topic and weighs the state rows that
// were written to it, those that later ones replace included.
func (b *Bench) StateBytes(ctx context.Context, group, topic string, deltas int) (StateBytes, error) {
	s := StateBytes{Rows: int64(deltas)}
	changelog := group + "-" + topic + "-changelog"
	ends, err := b.Kafka.Ends(ctx, changelog)
	if err != nil {
		return s, err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Kafka.Addrs...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{changelog: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return s, fmt.Errorf("bench: changelog: %w", err)
	}
	defer cl.Close()
	for at := int64(0); at < ends[0]; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return s, fmt.Errorf("bench: changelog: %w", err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			at = r.Offset + 1
			if r.Attrs.IsControl() || len(r.Key) == 0 {
				return
			}
			n := int64(len(r.Key) + len(r.Value))
			switch r.Key[0] {
			case row.TagBase:
				s.Base += n
			case row.TagLog:
				s.Log += n
			case row.TagHistory:
				s.Outcomes += n
			}
		})
	}
	return s, nil
}

// PrintDeltas writes the figures of a deltas case.
func PrintDeltas(w io.Writer, l *Load, s StateBytes) {
	fmt.Fprintf(w, "%s, values of 64 bytes\n  %-34s %.0f bytes (document %.0f, patches %.0f, outcomes %.0f)\n", l.Name, "changelog per history row", s.PerRow(),
		float64(s.Base)/float64(s.Rows), float64(s.Log)/float64(s.Rows), float64(s.Outcomes)/float64(s.Rows))
}

// CheckDeltas lists the bounds that the case misses.
func CheckDeltas(l *Load, s *StateBytes, most float64) (bad []string) {
	if n := s.PerRow(); most > 0 && n > most {
		bad = append(bad, fmt.Sprintf("%s: %.0f bytes per history row, the bound is %.0f", l.Name, n, most))
	}
	return bad
}
