package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/proc"
	"sessionfold/wire"
)

// program starts a program of examples/ beside the rig's worker.
func (r *rig) program(name string, args ...string) *proc.Process {
	r.Helper()
	bin, err := proc.Build("./examples/"+name, false)
	if err != nil {
		r.Fatal(err)
	}
	p, err := proc.Start(bin, append([]string{"-brokers", strings.Join(r.kafka.Addrs, ","), "-stream", r.stream}, args...), nil)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		p.Kill()
		if r.Failed() {
			r.Logf("the last words of %s:\n%s", name, p.Out)
		}
	})
	return p
}

// says waits for a line of a program that begins with the words; the rest of it
// must hold all of want.
func (r *rig) says(p *proc.Process, words string, want ...string) {
	r.Helper()
	for {
		rest, err := p.Line(words, 30*time.Second)
		if err != nil {
			r.Fatal(err)
		}
		missing := false
		for _, w := range want {
			missing = missing || !strings.Contains(rest, w)
		}
		if !missing {
			return
		}
	}
}

// told goes on to the next part of the producer's session and gives the session
// that the part was written to.
func (r *rig) told(p *proc.Process, part string) string {
	r.Helper()
	if err := p.Tell(""); err != nil {
		r.Fatal(err)
	}
	id, err := p.Line("wrote "+part+" ", 30*time.Second)
	if err != nil {
		r.Fatal(err)
	}
	return id
}

// The two programs of examples/ against a worker: the producer's session goes
// through the table of the consumer and out of it, and the reads show all of it.
func TestExamples(t *testing.T) {
	r := newRig(t)
	r.start()
	l := r.log()
	open := l.Session("stays open", "watcher")
	open.Start(agdxlog.Start{Label: "Watch"})
	r.write(l.Records...)
	r.await(60 * time.Second)

	table := r.program("active", "-topic", r.changesTopic(), "-reads", r.worker.Reads)
	r.says(table, open.ID.String(), "active", "watcher", "events 1", "Watch")
	producer := r.program("producer", "-step")
	id := r.told(producer, "session")
	r.says(table, id, "active", "planner", "events 8", "tools 1", "Plan a trip")
	child := r.told(producer, "child")
	r.says(table, "3 active sessions")
	r.says(table, child, "active", "reviewer", "tools 1", "child of "+id, "Review the plan")
	r.told(producer, "end of the child")
	r.says(table, "2 active sessions")
	r.told(producer, "end of the session")
	r.says(table, "1 active sessions")
	r.says(table, open.ID.String(), "active")

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r.produced(ctx, id, child)
	r.behind(table, open)
	r.stop()
}

// produced holds the reads against what the producer's source code says.
func (r *rig) produced(ctx context.Context, id, child string) {
	r.Helper()
	path := "/sessions/" + r.stream + "/"
	var s, c wire.SessionInfo
	var state wire.SessionStateView
	var links wire.SessionLinksView
	for p, v := range map[string]any{id + "?subtree=true": &s, child: &c, id + "/state": &state, id + "/links": &links} {
		if err := r.worker.JSON(ctx, path+p, v); err != nil {
			r.Fatal(err)
		}
	}
	if s.Status != "completed" || s.Reason != "done" || s.Events != 12 || s.ModelCalls != 2 || s.ToolCalls != 1 ||
		s.TokensIn != 2700 || s.TokensOut != 380 || s.CostMicros != 8600 || s.Errors != 0 {
		r.Errorf("the session shows %+v", s)
	}
	if s.Subtree == nil || s.Subtree.Sessions != 2 || s.Subtree.ToolCalls != 2 || s.Subtree.TokensIn != 3300 {
		r.Errorf("with its child it shows %+v", s.Subtree)
	}
	if c.Parent == nil || c.Parent.String() != id || c.Root == nil || c.Root.String() != id || c.Status != "completed" || c.Agent != "reviewer" {
		r.Errorf("the child shows %+v", c)
	}
	if got, want := string(state.Document), `{"city":"Lisbon","days":["walk through Alfama","the castle"],"train":"IC 523"}`; got != want || state.Revision != 2 || !state.Complete {
		r.Errorf("revision %d, complete %v: %s", state.Revision, state.Complete, got)
	}
	for _, h := range state.History {
		if h.Outcome != "applied" {
			r.Errorf("a state record was %s: %v", h.Outcome, h.Reason)
		}
	}
	if len(state.History) != 3 || len(links.Links) != 1 || links.Links[0].Surface != "child" || links.Links[0].Item != child {
		r.Errorf("%d state records, links %+v", len(state.History), links.Links)
	}
	rows, err := r.events(ctx, mustID(r, id))
	if err != nil {
		r.Fatal(err)
	}
	var words []string
	for _, e := range rows {
		words = append(words, e.Display)
	}
	want := "session.started user.message state.updated model.request model.response tool.call tool.result state.updated " +
		"state.updated model.request model.response session.completed"
	if got := strings.Join(words, " "); got != want {
		r.Errorf("the timeline is %s", got)
	}
}

func mustID(r *rig, s string) wire.ID {
	id, err := wire.ParseID(s)
	if err != nil {
		r.Fatal(err)
	}
	return id
}

// behind lets the consumer fall behind the retention of the changes topic: rows
// that it has not read are deleted while it stands still.
func (r *rig) behind(table *proc.Process, open *agdxlog.Session) {
	r.Helper()
	if err := table.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		r.Fatal(err)
	}
	// One answer of the broker may be on its way already: what comes in later
	// commits cannot be in it.
	l := r.log()
	late, again := l.Session("comes late", "latecomer"), l.SessionID(open.ID, open.Agent)
	for _, write := range []func(){
		func() { again.Note("on") },
		func() { late.Start(agdxlog.Start{Label: "Late"}) },
		func() { again.End(wire.TaskCompleted, "") },
	} {
		written := len(l.Records)
		write()
		r.write(l.Records[written:]...)
		r.awaitHere(again.ID, late.ID)
	}
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	ends, err := r.kafka.Admin.ListEndOffsets(ctx, r.changesTopic())
	if err == nil {
		_, err = r.kafka.Admin.DeleteRecords(ctx, ends.Offsets())
	}
	if err == nil {
		err = table.Cmd.Process.Signal(syscall.SIGCONT)
	}
	if err != nil {
		r.Fatal(err)
	}
	r.says(table, "resync: ")
	r.says(table, "1 active sessions")
	r.says(table, late.ID.String(), "latecomer", "Late")
}

// awaitHere waits until the sessions show what was written to them; the
// producer's sessions are not in the rig's count.
func (r *rig) awaitHere(ids ...wire.ID) {
	r.Helper()
	testenv.Eventually(r, 30*time.Second, func() error {
		got, err := r.sessions(r.Context())
		if err != nil {
			return err
		}
		for _, id := range ids {
			want := r.want.Sessions[id]
			if s := got[id]; want != nil && s.Events != want.Events {
				return fmt.Errorf("session %s shows %d records of %d", id, s.Events, want.Events)
			}
		}
		return nil
	})
}
