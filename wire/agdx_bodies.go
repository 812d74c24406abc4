package wire

import "math"

// SessionTransition is the body of a session status that neither starts nor
// ends the session (spec agdx.md, section 4).
type SessionTransition struct {
	Actor        []byte // agent id; nil when absent
	Acknowledges []byte // locator of a control record as received; nil when absent
}

// DecodeSessionTransition reads a transition body.
func DecodeSessionTransition(b []byte) (t SessionTransition, err error) {
	const actor, ack = 1, 2
	r := cborReader{b: b}
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "actor":
			if r.optional(&seen, actor) {
				t.Actor = r.agent()
			}
		case "acknowledges":
			if r.optional(&seen, ack) {
				t.Acknowledges = r.bytes()
			}
		default:
			r.skip()
		}
	}
	return t, r.end()
}

// Marshal encodes a transition body.
func (t *SessionTransition) Marshal() []byte {
	b := appendHead(nil, majorMap, count(t.Actor != nil, t.Acknowledges != nil))
	if t.Actor != nil {
		b = appendText(appendText(b, "actor"), t.Actor)
	}
	if t.Acknowledges != nil {
		b = appendBytes(appendText(b, "acknowledges"), t.Acknowledges)
	}
	return b
}

// SessionEnd is the body of a terminal session status.
type SessionEnd struct {
	Reason   []byte // nil when absent
	HasError bool
	Error    ErrorBody
}

// ReasonForced is the end reason of a forced cancel on the control topic.
const ReasonForced = "forced"

// DecodeSessionEnd reads an end body.
func DecodeSessionEnd(b []byte) (e SessionEnd, err error) {
	const reason, failure = 1, 2
	r := cborReader{b: b}
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "reason":
			if r.optional(&seen, reason) {
				e.Reason = r.text()
			}
		case "error":
			if r.optional(&seen, failure) {
				e.HasError = true
				e.Error.read(&r)
			}
		default:
			r.skip()
		}
	}
	return e, r.end()
}

// Marshal encodes an end body.
func (e *SessionEnd) Marshal() []byte {
	b := appendHead(nil, majorMap, count(e.Reason != nil, e.HasError))
	if e.Reason != nil {
		b = appendText(appendText(b, "reason"), e.Reason)
	}
	if e.HasError {
		b = e.Error.append(appendText(b, "error"))
	}
	return b
}

// ErrorBody is the structured body of an error record, also inside SessionEnd.
type ErrorBody struct {
	Code      uint8
	Message   []byte // content: never kept; nil when absent
	Retryable bool
	Detail    []byte // one CBOR map as received; nil when absent
}

// DecodeErrorBody reads the body of an error record.
func DecodeErrorBody(b []byte) (e ErrorBody, err error) {
	r := cborReader{b: b}
	e.read(&r)
	return e, r.end()
}

func (e *ErrorBody) read(r *cborReader) {
	const code, message, retryable, detail = 1, 2, 4, 8
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "code":
			if r.once(&seen, code) {
				e.Code = uint8(r.uint(math.MaxUint8))
			}
		case "message":
			if r.optional(&seen, message) {
				e.Message = r.text()
			}
		case "retryable":
			if r.once(&seen, retryable) {
				e.Retryable = r.boolean()
			}
		case "detail":
			if r.optional(&seen, detail) {
				if r.peek()>>5 != majorMap {
					r.fail(errCBORType)
				}
				e.Detail = r.raw()
			}
		default:
			r.skip()
		}
	}
	if seen&code == 0 {
		r.fail(errCBORMissing)
	}
}

// Marshal encodes an error body.
func (e *ErrorBody) Marshal() []byte { return e.append(nil) }

func (e *ErrorBody) append(b []byte) []byte {
	b = appendHead(b, majorMap, 2+count(e.Message != nil, e.Detail != nil))
	b = appendUint(appendText(b, "code"), uint64(e.Code))
	if e.Message != nil {
		b = appendText(appendText(b, "message"), e.Message)
	}
	b = appendBool(appendText(b, "retryable"), e.Retryable)
	if e.Detail != nil {
		b = append(appendText(b, "detail"), e.Detail...)
	}
	return b
}
