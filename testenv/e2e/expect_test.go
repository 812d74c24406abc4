package e2e

import (
	"fmt"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// tally is what a session must show, counted while writing, by other code than
// the fold's.
type tally struct {
	events, models, tools, in, out uint64
	errors                         uint64
	deadLetters, ended             bool
	status                         string
}

// expectation sums up a stream.
type expectation struct {
	sessions     map[wire.ID]*tally
	records      uint64 // of sessions
	unattributed uint64
}

func newExpectation() *expectation { return &expectation{sessions: map[wire.ID]*tally{}} }

func (x *expectation) add(rs ...agdxlog.Record) {
	for _, r := range rs {
		switch {
		case r.Role == wire.RoleHeartbeats:
			continue
		case r.Session.IsZero():
			x.unattributed++
			continue
		}
		x.records++
		s := x.sessions[r.Session]
		if s == nil {
			s = &tally{status: wire.StatusActive.String()}
			x.sessions[r.Session] = s
		}
		s.events++
		s.add(&r)
	}
}

func (s *tally) add(r *agdxlog.Record) {
	if r.Role == wire.RoleDeadLetters {
		s.deadLetters = true
		return
	}
	e, err := wire.DecodeEnvelope(r.Value)
	if r.Role == wire.RoleMemory || err != nil || e.Validate() != nil {
		return
	}
	op := string(e.Operation)
	switch {
	case e.Kind == wire.KindCommand && op == wire.OpChat:
		s.models++
	case e.Kind == wire.KindCommand && op == wire.OpExecuteTool:
		s.tools++
	case e.Kind == wire.KindError:
		s.errors++
	case e.Kind == wire.KindStatus && op == wire.OpSession && !s.ended:
		s.status, s.ended = statusOf[e.TaskState].String(), e.TaskState.Terminal()
	}
	if e.Has&wire.FieldUsage != 0 {
		s.in, s.out = s.in+e.Usage.Input, s.out+e.Usage.Output
	}
}

var statusOf = map[wire.TaskState]wire.Status{
	wire.TaskSubmitted: wire.StatusSubmitted, wire.TaskWorking: wire.StatusActive, wire.TaskInputRequired: wire.StatusActive,
	wire.TaskAuthRequired: wire.StatusActive, wire.TaskPaused: wire.StatusPaused, wire.TaskCompleted: wire.StatusCompleted,
	wire.TaskFailed: wire.StatusFailed, wire.TaskRejected: wire.StatusFailed, wire.TaskCanceled: wire.StatusCanceled,
}

// check holds what a worker lists against the expectation.
func (x *expectation) check(got map[wire.ID]wire.SessionInfo) error {
	if len(got) != len(x.sessions) {
		return fmt.Errorf("%d sessions are listed, %d were written", len(got), len(x.sessions))
	}
	for id, want := range x.sessions {
		s, ok := got[id]
		if !ok {
			return fmt.Errorf("session %s is not listed", id)
		}
		have := tally{
			events: s.Events, models: s.ModelCalls, tools: s.ToolCalls, in: s.TokensIn, out: s.TokensOut,
			errors: s.Errors, deadLetters: want.deadLetters, ended: want.ended, status: s.Status,
		}
		if want.deadLetters {
			have.errors = want.errors
		}
		if have != *want {
			return fmt.Errorf("session %s shows %+v, want %+v", id, have, *want)
		}
	}
	return nil
}
