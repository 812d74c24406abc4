package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/proc"
	"sessionfold/wire"
)

// Who follows the changes of a stream sees every row once and in order, over
// workers that are killed and stopped; a worker that stops does not wait for it.
func TestLive(t *testing.T) {
	r := newRig(t)
	round := func(n int) {
		l := r.log()
		for i := range 20 {
			s := l.Session(fmt.Sprint("round ", n, " session ", i), "planner")
			s.Start(agdxlog.Start{})
			s.Note("x")
		}
		r.write(l.Records...)
		r.await(60 * time.Second)
	}
	r.start()
	round(0)
	f, err := proc.Start(r.bin, []string{"sessions", "changes", "--follow", "--after", "0", "--url", r.worker.Reads, "--stream", r.stream}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Kill)
	after := uint64(0)
	sees := func() {
		t.Helper()
		for _, row := range r.changeRows(after) {
			line, err := f.Line(`{"seq":`, 60*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			var got wire.SessionChangeRow
			if err := json.Unmarshal([]byte(`{"seq":`+line), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(row) {
				t.Fatalf("it shows %s, want seq %d of sessions %v: %v", line, row.Seq, row.Sessions, err)
			}
			after = row.Seq
		}
	}
	sees()
	for n := 1; n <= 2; n++ {
		if n%2 == 0 {
			r.worker.Kill()
		} else {
			r.stop()
		}
		r.start()
		round(n)
		sees()
	}
	if after < 3 {
		t.Errorf("only %d rows", after)
	}
	if err := f.Stop(30 * time.Second); err != nil {
		t.Errorf("ctrl-C: %v", err)
	}
	r.stop()
}

// changeRows reads the change rows behind a seq.
func (r *rig) changeRows(after uint64) []wire.SessionChangeRow {
	r.Helper()
	var c wire.SessionChanges
	if err := r.worker.JSON(r.Context(), fmt.Sprintf("/sessions/%s/changes?limit=1000&after=%d", r.stream, after), &c); err != nil {
		r.Fatal(err)
	}
	return c.Rows
}
