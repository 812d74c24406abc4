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
	errors, held, children         uint64
	canceling                      bool
	deadLetters, ended             bool
	status                         string
}

// expectation sums up a stream.
type expectation struct {
	sessions     map[wire.ID]*tally
	kids         map[wire.ID]map[wire.ID]bool // by the parent that valid records name
	parked, done map[string]bool              // by session and offset of the work
	records      uint64                       // of sessions
	unattributed uint64
}

func newExpectation() *expectation {
	return &expectation{
		sessions: map[wire.ID]*tally{}, kids: map[wire.ID]map[wire.ID]bool{}, parked: map[string]bool{}, done: map[string]bool{},
	}
}

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
		x.relate(&r)
	}
}

// relate notes what a record says of other sessions, and of held work.
func (x *expectation) relate(r *agdxlog.Record) {
	e, err := wire.DecodeEnvelope(r.Value)
	if r.Role == wire.RoleMemory || r.Role == wire.RoleDeadLetters || err != nil || e.Validate() != nil {
		return
	}
	if e.Has&wire.FieldParent != 0 {
		if x.kids[e.Parent] == nil {
			x.kids[e.Parent] = map[wire.ID]bool{}
		}
		x.kids[e.Parent][r.Session] = true
	}
	switch op := string(e.Operation); op {
	case wire.OpSessionParked, wire.OpSessionUnparked:
		p, err := wire.DecodeSessionParking(e.Body)
		if err != nil {
			return
		}
		key := fmt.Sprint(r.Session, p.Source.Offset)
		if op == wire.OpSessionUnparked {
			x.done[key] = true
		} else if !x.parked[key] {
			x.parked[key] = true
			x.sessions[r.Session].held++
		}
		if x.done[key] && x.parked[key] {
			x.sessions[r.Session].held--
			delete(x.parked, key)
		}
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
	case e.Kind == wire.KindCommand && op == wire.OpSessionCancel && r.Role == wire.RoleControl:
		s.canceling = true
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
		want.children = uint64(len(x.kids[id]))
		s, ok := got[id]
		if !ok {
			return fmt.Errorf("session %s is not listed", id)
		}
		have := tally{
			events: s.Events, models: s.ModelCalls, tools: s.ToolCalls, in: s.TokensIn, out: s.TokensOut,
			errors: s.Errors, deadLetters: want.deadLetters, ended: want.ended, status: s.Status,
			held: s.Held, children: s.Children, canceling: s.CancelRequested,
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
