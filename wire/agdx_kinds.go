package wire

// modelOperation says that an operation calls a model.
func modelOperation(op []byte) bool {
	switch string(op) {
	case OpChat, OpTextCompletion, OpGenerateContent:
		return true
	}
	return false
}

// controlOperation says that a command asks to pause, resume or cancel.
func controlOperation(op []byte) bool {
	switch string(op) {
	case OpSessionPause, OpSessionResume, OpSessionCancel, OpForceCancel:
		return true
	}
	return false
}

// fromUser says that a command or event is a user's turn.
func (e *Envelope) fromUser() bool {
	v := e.meta(MetaRole)
	return v != nil && v.Type == MetaText && string(v.Text) == "user"
}

func (d *agdxDecoder) command(h *agdxHeaders, rec *Record) {
	e := &d.env
	if controlOperation(e.Operation) {
		rec.Display = DisplaySessionControl
		if d.src.Role != RoleControl {
			// It counts as a record and changes nothing else, not even who is
			// known to take part or what the session descends from.
			rec.Display, rec.Facts = DisplayUnauthorizedControl, 0
			rec.HasParent, rec.HasRoot = false, false
			return
		}
		d.control(rec)
		return
	}
	user, model, tool := e.fromUser(), modelOperation(e.Operation), string(e.Operation) == OpExecuteTool
	if model && !user {
		rec.Facts |= FactModelCall
	}
	if tool {
		rec.Facts |= FactToolCall
		d.call(h)
	}
	switch {
	case user:
		rec.Display = DisplayUserMessage
	case model:
		rec.Display = DisplayModelRequest
		d.model(MetaRequestModel, "")
	case tool:
		rec.Display = DisplayToolCall
	case string(e.Operation) == OpInvokeAgent:
		rec.Display = DisplayAgentHandoff
	default:
		rec.Display = d.plain()
	}
}

func (d *agdxDecoder) response(rec *Record) {
	e := &d.env
	switch {
	case modelOperation(e.Operation):
		rec.Display = DisplayModelResponse
		d.model(MetaResponseModel, MetaRequestModel)
		d.duration()
		if e.FinishReason != nil {
			d.text(SumFinishReason, e.FinishReason)
		}
	case string(e.Operation) == OpExecuteTool:
		rec.Display = DisplayToolResult
		d.result("ok")
	default:
		rec.Display = d.plain()
	}
	if e.Has&FieldTaskState != 0 {
		d.word(SumTaskState, e.TaskState.String())
	}
}

func (d *agdxDecoder) failure(rec *Record) {
	rec.Facts |= FactError
	rec.Display = DisplayError
	if string(d.env.Operation) == OpExecuteTool {
		rec.Display = DisplayToolResult
		d.result("error")
	}
	if b, err := DecodeErrorBody(d.env.Body); err == nil {
		d.failed(&b)
	}
	if d.env.Has&FieldTaskState != 0 {
		d.word(SumTaskState, d.env.TaskState.String())
	}
}

func (d *agdxDecoder) event(h *agdxHeaders, rec *Record) {
	e := &d.env
	// What an event does counts whoever wrote it: the author's role decides the
	// display alone.
	d.stateEvent(h, rec)
	d.linkEvent(h, rec)
	if e.fromUser() {
		rec.Display = DisplayUserMessage
		return
	}
	switch string(e.Operation) {
	case OpStateDelta, OpStateSnapshot:
		rec.Display = DisplayStateUpdated
	case OpContextAssembled:
		rec.Display = DisplayContextAssembled
		d.context(h, readAssembled)
	case OpContextCompacted:
		rec.Display = DisplayContextCompacted
		d.context(h, readCompacted)
	case OpContextRetrieved:
		rec.Display = DisplayContextRetrieved
		d.references()
	case OpPolicyDecision:
		rec.Display = DisplayPolicyDecision
	case OpSessionParked:
		rec.Display = DisplaySessionParked
	case OpSessionUnparked:
		rec.Display = DisplaySessionUnparked
	case OpResourceLink:
		rec.Display = d.linked()
	default:
		rec.Display = d.plain()
	}
}

func (d *agdxDecoder) chunk(rec *Record) {
	e := &d.env
	if string(e.Operation) == OpChat || string(e.Operation) == OpReasoning {
		rec.Display = DisplayModelStream
	} else {
		rec.Display = d.plain()
	}
	d.number(SumSequence, e.Sequence)
	if e.Last {
		d.boolean(SumLast, true)
	}
	if e.FinishReason != nil {
		d.text(SumFinishReason, e.FinishReason)
	}
}

func (d *agdxDecoder) status(rec *Record, body *sessionBody) {
	e := &d.env
	switch string(e.Operation) {
	case OpSession:
		d.session(rec, body)
	case OpTask:
		rec.Display = DisplayTaskStatus
		d.word(SumTaskState, e.TaskState.String())
	default:
		rec.Display = DisplayAgentMessage
	}
}

// session maps a session status (spec agdx.md, section 4). It counts on the
// lane only; the forced cancel on the control topic is the one exception.
func (d *agdxDecoder) session(rec *Record, body *sessionBody) {
	e := &d.env
	var status Status
	rec.Display, status = sessionWord(e.TaskState, body.isStart)
	if rec.Display == DisplayTaskStatus {
		d.word(SumTaskState, e.TaskState.String())
	}
	if body.end.HasError {
		d.failed(&body.end.Error)
	}
	forced := d.src.Role == RoleControl && e.TaskState == TaskCanceled && string(body.end.Reason) == ReasonForced
	if forced {
		d.boolean(SumForced, true)
	}
	if d.src.Role != RoleLane && !forced {
		return
	}
	if d.src.Role == RoleLane {
		rec.Facts |= FactLane
	}
	l := Lifecycle{Status: status, Reason: body.end.Reason, Forced: forced}
	if body.isStart {
		l.Start = body.start
	}
	if body.end.HasError {
		l.HasError, l.ErrorCode, l.ErrorText = true, body.end.Error.Code, body.end.Error.Message != nil
	}
	if e.TaskState == TaskPaused || e.TaskState == TaskWorking {
		if at, ok := ParseLocator(body.transition.Acknowledges); ok {
			d.acks = append(d.acks, at)
			l.Acknowledge = &d.acks[len(d.acks)-1]
		}
	}
	d.lives = append(d.lives, l)
	rec.Lifecycle = &d.lives[len(d.lives)-1]
}

// sessionWord gives the display of a session status and the state it puts the
// session in, StatusNone when it says nothing of that.
func sessionWord(t TaskState, start bool) (Display, Status) {
	switch t {
	case TaskSubmitted:
		return DisplaySessionSubmitted, StatusSubmitted
	case TaskWorking:
		if start {
			return DisplaySessionStarted, StatusActive
		}
		return DisplaySessionResumed, StatusActive
	case TaskPaused:
		return DisplaySessionPaused, StatusPaused
	case TaskCompleted:
		return DisplaySessionCompleted, StatusCompleted
	case TaskFailed, TaskRejected:
		return DisplaySessionFailed, StatusFailed
	case TaskCanceled:
		return DisplaySessionCanceled, StatusCanceled
	case TaskInputRequired, TaskAuthRequired:
		return DisplayTaskStatus, StatusActive
	}
	return DisplayTaskStatus, StatusNone
}
