package wire

// sessionBody is the body of a session status, read by what its state takes.
type sessionBody struct {
	isStart    bool
	start      *Start
	transition SessionTransition
	end        SessionEnd
}

// checkBody reads the bodies whose shape decides on validity: session statuses
// and parkings. s.start must be an empty Start. It gives the reason why the
// body does not fit, or "".
func (e *Envelope) checkBody(s *sessionBody) string {
	switch {
	case e.Kind == KindStatus && string(e.Operation) == OpSession:
		return e.readSession(s)
	case e.Kind == KindEvent && (string(e.Operation) == OpSessionParked || string(e.Operation) == OpSessionUnparked):
		if _, err := DecodeSessionParking(e.Body); err != nil {
			return ReasonBody
		}
	}
	return ""
}

// readSession reads the body that the state takes: a start for submitted and
// for working with agent or sdk, an end for terminal states, a transition for
// every other one (spec agdx.md, section 4).
func (e *Envelope) readSession(s *sessionBody) string {
	var err error
	switch {
	case e.TaskState == TaskSubmitted, e.TaskState == TaskWorking && namesStart(e.Body):
		s.isStart = true
		if s.start.decode(e.Body) != nil {
			return ReasonBody
		}
		if s.start.HasParent != (e.Has&FieldParent != 0) || s.start.Parent != e.Parent ||
			s.start.HasRoot != (e.Has&FieldRoot != 0) || s.start.Root != e.Root {
			return ReasonAncestry
		}
	case e.TaskState.Terminal():
		s.end, err = DecodeSessionEnd(e.Body)
	default:
		s.transition, err = DecodeSessionTransition(e.Body)
	}
	if err != nil {
		return ReasonBody
	}
	return ""
}

// namesStart says that a map has the key agent or sdk.
func namesStart(b []byte) bool {
	r := cborReader{b: b}
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "agent", "sdk":
			return r.err == nil
		}
		r.skip()
	}
	return false
}
