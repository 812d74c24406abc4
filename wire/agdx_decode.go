package wire

import (
	"math"
	"unicode/utf8"
)

// DecodeEnvelope reads one envelope, strictly (spec settled.md, "Envelope and
// headers"): any error means that the record is undecodable. The result views
// b; that it keeps the rules is for Validate to say.
func DecodeEnvelope(b []byte) (Envelope, error) {
	var e Envelope
	err := e.decode(b)
	return e, err
}

// reset empties the envelope and keeps its memory.
func (e *Envelope) reset() { *e = Envelope{metaBuf: e.metaBuf} }

// decode fills an empty envelope.
func (e *Envelope) decode(b []byte) error {
	r := cborReader{b: b}
	var seen Field
	s := r.open(majorMap)
	for r.more(&s) {
		name, checked := r.name()
		bit := envelopeField(name)
		if bit == 0 {
			if !checked && !utf8.Valid(name) {
				r.fail(errCBORUTF8)
			}
			r.skip()
			continue
		}
		if seen&bit != 0 {
			r.fail(errCBORRepeated)
			break
		}
		seen |= bit
		if r.peek() == cborNull {
			const never = FieldKind | FieldConversation | FieldSource | FieldLast | FieldMustUnderstand | FieldBody
			if bit&never != 0 {
				r.fail(errCBORType)
			}
			r.i++
			continue
		}
		e.Has |= bit
		e.readField(&r, bit)
	}
	if err := r.end(); err != nil {
		return err
	}
	const required = FieldKind | FieldConversation | FieldSource
	if e.Has&required != required {
		return errCBORMissing
	}
	e.Has = e.present() // one truth: "last: false" and the like are absence
	return nil
}

// envelopeField gives the bit of a field's name, 0 for unknown names.
func envelopeField(key []byte) Field {
	switch string(key) {
	case "kind":
		return FieldKind
	case "record":
		return FieldRecord
	case "conversation":
		return FieldConversation
	case "parent":
		return FieldParent
	case "root":
		return FieldRoot
	case "source":
		return FieldSource
	case "target":
		return FieldTarget
	case "cause":
		return FieldCause
	case "cause_at":
		return FieldCauseAt
	case "correlation":
		return FieldCorrelation
	case "channel":
		return FieldChannel
	case "idempotency_key":
		return FieldIdempotencyKey
	case "deadline_micros":
		return FieldDeadline
	case "sequence":
		return FieldSequence
	case "last":
		return FieldLast
	case "finish_reason":
		return FieldFinishReason
	case "task_state":
		return FieldTaskState
	case "operation":
		return FieldOperation
	case "tool":
		return FieldTool
	case "usage":
		return FieldUsage
	case "metadata":
		return FieldMetadata
	case "must_understand":
		return FieldMustUnderstand
	case "body":
		return FieldBody
	case "signature":
		return FieldSignature
	}
	return 0
}

func (e *Envelope) readField(r *cborReader, bit Field) {
	switch bit {
	case FieldKind:
		e.Kind = envelopeKind(r.text())
		if e.Kind == KindUndecodable {
			r.fail(errCBORType)
		}
	case FieldRecord:
		r.id(&e.Record)
	case FieldConversation:
		r.id(&e.Conversation)
	case FieldParent:
		r.id(&e.Parent)
	case FieldRoot:
		r.id(&e.Root)
	case FieldSource:
		e.Source = r.agent()
	case FieldTarget:
		e.Target = r.agent()
	case FieldCause:
		r.id(&e.Cause)
	case FieldCauseAt:
		e.CauseAt = r.bytes()
	case FieldCorrelation:
		r.id(&e.Correlation)
	case FieldChannel:
		r.id(&e.Channel)
	case FieldIdempotencyKey:
		e.IdempotencyKey = r.text()
	case FieldDeadline:
		e.DeadlineMicros = r.uint(math.MaxUint64)
	case FieldSequence:
		e.Sequence = r.uint(math.MaxUint64)
	case FieldLast:
		e.Last = r.boolean()
	case FieldFinishReason:
		e.FinishReason = r.text()
	case FieldTaskState:
		e.TaskState = TaskState(r.uint(math.MaxUint8))
	case FieldOperation:
		e.Operation = r.text()
	case FieldTool:
		e.Tool = r.text()
	case FieldUsage:
		e.Usage.read(r)
	case FieldMetadata:
		e.readMeta(r)
	case FieldMustUnderstand:
		e.MustUnderstand = r.uint(math.MaxUint64)
	case FieldBody:
		e.Body = r.bytes()
	case FieldSignature:
		e.Signature.read(r)
	}
}

func envelopeKind(word []byte) Kind {
	switch string(word) {
	case "command":
		return KindCommand
	case "response":
		return KindResponse
	case "event":
		return KindEvent
	case "chunk":
		return KindChunk
	case "status":
		return KindStatus
	case "error":
		return KindError
	}
	return KindUndecodable
}
