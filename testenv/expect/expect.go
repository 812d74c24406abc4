// Package expect says what a stream of AGDX must come to, counted from the
// records while they are written, by other code than the fold's.
package expect

import (
	"fmt"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// Session is what a session must show.
type Session struct {
	Events uint64
	Status string

	models, tools, in, out uint64
	errors, held, children uint64
	canceling              bool
	deadLetters, ended     bool
}

// Stream sums up a stream. It is one goroutine's at a time.
type Stream struct {
	Sessions     map[wire.ID]*Session
	Records      uint64 // of sessions
	Unattributed uint64 // folded, of no session

	kids         map[wire.ID]map[wire.ID]bool // by the parent that valid records name
	parked, done map[string]bool              // by session and offset of the work
}

// New is the expectation of an empty stream.
func New() *Stream {
	return &Stream{
		Sessions: map[wire.ID]*Session{}, kids: map[wire.ID]map[wire.ID]bool{}, parked: map[string]bool{}, done: map[string]bool{},
	}
}

// Add counts records; heartbeats are none.
func (x *Stream) Add(rs ...agdxlog.Record) {
	for _, r := range rs {
		switch {
		case r.Role == wire.RoleHeartbeats:
			continue
		case r.Session.IsZero():
			x.Unattributed++
			continue
		}
		x.Records++
		s := x.Sessions[r.Session]
		if s == nil {
			s = &Session{Status: wire.StatusActive.String()}
			x.Sessions[r.Session] = s
		}
		s.Events++
		s.add(&r)
		x.relate(&r)
	}
}

// relate notes what a record says of other sessions, and of held work.
func (x *Stream) relate(r *agdxlog.Record) {
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
			x.Sessions[r.Session].held++
		}
		if x.done[key] && x.parked[key] {
			x.Sessions[r.Session].held--
			delete(x.parked, key)
		}
	}
}

func (s *Session) add(r *agdxlog.Record) {
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
		s.Status, s.ended = statusOf[e.TaskState].String(), e.TaskState.Terminal()
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

// Check holds what a worker lists against the expectation.
func (x *Stream) Check(got map[wire.ID]wire.SessionInfo) error {
	if len(got) != len(x.Sessions) {
		return fmt.Errorf("%d sessions are listed, %d were written", len(got), len(x.Sessions))
	}
	for id, want := range x.Sessions {
		want.children = uint64(len(x.kids[id]))
		s, ok := got[id]
		if !ok {
			return fmt.Errorf("session %s is not listed", id)
		}
		have := Session{
			Events: s.Events, models: s.ModelCalls, tools: s.ToolCalls, in: s.TokensIn, out: s.TokensOut,
			errors: s.Errors, deadLetters: want.deadLetters, ended: want.ended, Status: s.Status,
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
