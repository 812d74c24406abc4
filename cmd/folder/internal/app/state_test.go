package app

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sessionfold/fold"
	"sessionfold/testenv/agdxlog"
)

// TestDocumentsComeBackFromTheChangelog: documents larger than a record of the
// changelog, with bases that moved and patches since, are the same after the
// disk was lost, and go on from there.
func TestDocumentsComeBackFromTheChangelog(t *testing.T) {
	r := newRig(t, 2)
	l := agdxlog.New(r.stream)
	big := l.Session("big", "planner")
	big.Snapshot(3, fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 700_000)))
	big.Patch(3, "copy", `[{"op":"copy","from":"/a","path":"/b"}]`)
	small := l.Session("small", "planner")
	deltas := func(from, n int) {
		for i := from; i < from+n; i++ {
			small.Patch(uint64(i), fmt.Sprint("op", i), fmt.Sprintf(`[{"op":"add","path":"/k%d","value":%q}]`, i%9, strings.Repeat("v", 900)))
			big.Patch(uint64(4+i), fmt.Sprint("op", i), fmt.Sprintf(`[{"op":"add","path":"/c%d","value":%d}]`, i, i))
		}
		small.Patch(0, "late", `[]`)
		r.write(l.Records)
		l.Records = nil
	}
	deltas(0, 100)
	cfg := r.config(t.TempDir(), "a")
	cfg.LeaveOnStop = true
	w := r.start(cfg)
	r.caughtUp(w)
	r.same(w)
	w.stop()
	deltas(100, 20)
	cfg = r.config(t.TempDir(), "a")
	w = r.start(cfg) // nothing but the changelog
	r.caughtUp(w)
	r.sameSoon(w)
	rd, err := w.Store().Reader()
	r.must(err)
	defer rd.Close()
	for id, want := range map[*agdxlog.Session]uint64{big: 124, small: 120} {
		ks, err := rd.Session(r.stream, id.ID)
		r.must(err)
		m := fold.Merge(id.ID, ks)
		st, err := rd.State(id.ID, m.State)
		r.must(err)
		if st.Revision != want || st.Base == 0 || st.Slots == 0 || !st.Complete() {
			t.Errorf("%+v, want revision %d with a base and a log", st.Info, want)
		}
		if id == big && st.Doc.Size() < 1_400_000 {
			t.Errorf("a document of %d bytes", st.Doc.Size())
		}
	}
	if c, err := w.Store().Check(context.Background()); err != nil || c.Total > 0 || c.Documents != 2 {
		t.Errorf("check: %+v, %v", c, err)
	}
}
