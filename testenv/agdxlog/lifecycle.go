package agdxlog

import "sessionfold/wire"

func (s *Session) start(t wire.TaskState, b Start) {
	if b.Agent == "" {
		b.Agent = s.Agent
	}
	if b.SDK == nil {
		b.SDK = &SDK{Language: "go", Version: "1.0.0"}
	}
	if s.Parent != nil {
		b.Parent = bytesOf(*s.Parent)
	}
	if s.Root != nil {
		b.Root = bytesOf(*s.Root)
	}
	s.status(t, b)
}

// Submit hands the session to its agent.
func (s *Session) Submit(b Start) { s.start(wire.TaskSubmitted, b) }

// Start starts the session.
func (s *Session) Start(b Start) { s.start(wire.TaskWorking, b) }

// State writes a transition: working (picked up or resumed), input_required,
// auth_required, paused. ack is the control request it answers, or nil.
func (s *Session) State(t wire.TaskState, actor string, ack *wire.Pos) {
	b := transition{Actor: actor}
	if ack != nil {
		l := ack.Locator()
		b.Acknowledges = l[:]
	}
	s.status(t, b)
}

// End ends the session: completed, failed, canceled or rejected.
func (s *Session) End(t wire.TaskState, reason string) {
	b := end{Reason: reason}
	if t == wire.TaskFailed {
		b.Error = &failure{Code: 3, Message: "the last step failed", Retryable: false}
	}
	s.status(t, b)
}

// Pause asks the participants to pause. It and the three below lie on the
// control topic.
func (s *Session) Pause(participants ...string) {
	body := []byte(`{"participants":[`)
	for i, p := range participants {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(append(append(body, '"'), p...), '"')
	}
	s.Put(wire.RoleControl, s.command(wire.OpSessionPause, "", append(body, "]}"...)), CTJSON)
}

// Resume ends a pause.
func (s *Session) Resume() {
	s.Put(wire.RoleControl, s.command(wire.OpSessionResume, "", []byte(`{}`)), CTJSON)
}

// Cancel asks the agents to stop.
func (s *Session) Cancel() {
	s.Put(wire.RoleControl, s.command(wire.OpSessionCancel, "", []byte(`{}`)), CTJSON)
}

// ForceCancel ends the session from the control topic.
func (s *Session) ForceCancel() {
	e := s.Envelope(wire.KindStatus)
	e.Operation = []byte(wire.OpSession)
	e.SetTaskState(wire.TaskCanceled)
	e.Last = true
	e.Body = encode(end{Reason: "forced"})
	s.Put(wire.RoleControl, e, CTCBOR)
}

// UnauthorizedPause is a pause on the lane, which counts as a record and changes
// nothing.
func (s *Session) UnauthorizedPause() {
	s.Put(wire.RoleLane, s.command(wire.OpSessionPause, "", []byte(`{}`)), CTJSON)
}
