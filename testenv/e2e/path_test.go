package e2e

import (
	"slices"
	"testing"
	"time"

	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/agdxlog"
)

// generated is a realistic log of the rig's stream.
func (r *rig) generated(seed uint64, sessions int) []agdxlog.Record {
	return r.generate(agdxgen.Options{Seed: seed, Sessions: sessions})
}

// clean is generated without bad records: how many there are hangs on the
// stream's name too, which is another one in each run.
func (r *rig) clean(seed uint64, sessions int) []agdxlog.Record {
	return r.generate(agdxgen.Options{Seed: seed, Sessions: sessions, Clean: true})
}

func (r *rig) generate(o agdxgen.Options) []agdxlog.Record {
	o.Stream, o.Epoch = r.stream, time.UnixMilli(1_800_000_000_000+int64(o.Seed)<<20)
	var rs []agdxlog.Record
	for e := range agdxgen.New(o).All() {
		rs = append(rs, e.Record)
	}
	return rs
}

// The whole path: half of the log is there before the worker, half comes while
// it runs; then it is stopped, more comes, and it goes on without counting
// anything twice.
func TestWholePathAndRestart(t *testing.T) {
	r := newRig(t)
	rs := r.generated(1, 300)
	r.write(rs[:len(rs)/2]...)
	r.start()
	for part := range slices.Chunk(rs[len(rs)/2:], 500) {
		r.write(part...)
	}
	r.await(60 * time.Second)
	r.sameAsReplay()

	r.stop()
	r.write(r.generated(2, 60)...)
	r.start()
	r.await(60 * time.Second)
	r.sameAsReplay()
	r.changesAreWhole()
	r.stop()
}
