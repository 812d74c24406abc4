package index

import (
	"encoding/binary"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// benchStep is a batch of n records, sessions of ten, as the large benchmark
// has them.
func benchStep(src *wire.Source, f fold.Frontier, n int) *fold.Step {
	recs := make([]wire.Record, n)
	for i := range recs {
		offset := f.Next + uint64(i)
		r := &recs[i]
		*r = wire.Record{
			Offset: offset, Time: offset * 10, HasSession: true, Session: benchID(offset / 10), Kind: wire.KindEvent,
			Display: wire.DisplayAgentMessage, Operation: []byte("note"), Agent: []byte("planner-7"), Facts: wire.FactAuthor,
			Summary: []wire.SummaryItem{{Key: wire.SumContentType, Type: wire.SumText, Text: []byte("application/json")}, {Key: wire.SumSize, Type: wire.SumNumber, Num: 150}},
		}
		if offset%10 == 0 {
			r.Lifecycle = &wire.Lifecycle{Status: wire.StatusActive, Start: &wire.Start{Label: []byte("Book a flight to Oslo"), HasLabel: true, Agent: []byte("planner-7")}}
		}
	}
	return fold.Apply(&fold.Config{}, src, f, nil, recs)
}

func benchID(n uint64) (id wire.ID) {
	binary.BigEndian.PutUint64(id[:], n*0x9e3779b97f4a7c15)
	return id
}

// BenchmarkApply writes batches of 20,000 records to a directory on disk.
func BenchmarkApply(b *testing.B) {
	const n = 20_000
	src := newWorld(7).sources[0].Source
	s, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	var f fold.Frontier
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		step := benchStep(src, f, n)
		f = step.Frontier
		batch := row.Encode(step)
		b.StartTimer()
		apply(b, s, batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
	if err := s.db.Flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.db.Metrics().DiskSpaceUsage())/float64(f.Next), "disk-bytes/record")
	closeStore(b, s)
}

// BenchmarkLoad asks for 2,000 sessions at a time, present or not, of a store
// of 100,000.
func BenchmarkLoad(b *testing.B) {
	src := newWorld(7).sources[0].Source
	s, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	var f fold.Frontier
	for range 20 {
		step := benchStep(src, f, 50_000)
		f = step.Frontier
		apply(b, s, row.Encode(step))
	}
	if err := s.db.Flush(); err != nil {
		b.Fatal(err)
	}
	for name, from := range map[string]uint64{"present": 0, "missing": 1 << 40} {
		b.Run(name, func(b *testing.B) {
			const n = 2_000
			ids := make([]wire.ID, n)
			next := uint64(0)
			for b.Loop() {
				for i := range ids {
					next++
					ids[i] = benchID(from + next*7919%100_000)
				}
				if _, err := s.Load(src, ids); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/session")
		})
	}
	closeStore(b, s)
}

// BenchmarkList walks pages of 100 sessions of a list of 100,000.
func BenchmarkList(b *testing.B) {
	src := newWorld(7).sources[0].Source
	s := open(b, vfs.NewMem())
	var f fold.Frontier
	for range 20 {
		step := benchStep(src, f, 50_000)
		f = step.Frontier
		apply(b, s, row.Encode(step))
	}
	var c Cursor
	for b.Loop() {
		r := reader(b, s)
		w, err := r.List(stream, c)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for n < 100 && w.Next() {
			n++
		}
		c = w.Cursor()
		if n == 0 {
			c = Cursor{}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	closeStore(b, s)
}
