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
	var rs []agdxlog.Record
	o := agdxgen.Options{Stream: r.stream, Seed: seed, Sessions: sessions, Epoch: time.UnixMilli(1_800_000_000_000 + int64(seed)<<20)}
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
