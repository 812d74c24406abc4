package wire

import "math/bits"

// Marshal encodes the envelope; see Append.
func (e *Envelope) Marshal() []byte { return e.Append(make([]byte, 0, 256+len(e.Body))) }

// Append encodes the envelope behind b: one CBOR map, fields in table order,
// absent optionals left out, every head in its shortest form. It does not
// validate, so that tests can write what producers must not.
func (e *Envelope) Append(b []byte) []byte {
	f := e.present()
	b = appendHead(b, majorMap, uint64(bits.OnesCount32(uint32(f))))
	id := func(bit Field, name string, v *ID) {
		if f&bit != 0 {
			b = appendBytes(appendText(b, name), v[:])
		}
	}
	text := func(bit Field, name string, v []byte) {
		if f&bit != 0 {
			b = appendText(appendText(b, name), v)
		}
	}
	num := func(bit Field, name string, v uint64) {
		if f&bit != 0 {
			b = appendUint(appendText(b, name), v)
		}
	}
	b = appendText(appendText(b, "kind"), e.Kind.String())
	id(FieldRecord, "record", &e.Record)
	id(FieldConversation, "conversation", &e.Conversation)
	id(FieldParent, "parent", &e.Parent)
	id(FieldRoot, "root", &e.Root)
	text(FieldSource, "source", e.Source)
	text(FieldTarget, "target", e.Target)
	id(FieldCause, "cause", &e.Cause)
	if f&FieldCauseAt != 0 {
		b = appendBytes(appendText(b, "cause_at"), e.CauseAt)
	}
	id(FieldCorrelation, "correlation", &e.Correlation)
	id(FieldChannel, "channel", &e.Channel)
	text(FieldIdempotencyKey, "idempotency_key", e.IdempotencyKey)
	num(FieldDeadline, "deadline_micros", e.DeadlineMicros)
	num(FieldSequence, "sequence", e.Sequence)
	if f&FieldLast != 0 {
		b = appendBool(appendText(b, "last"), true)
	}
	text(FieldFinishReason, "finish_reason", e.FinishReason)
	num(FieldTaskState, "task_state", uint64(e.TaskState))
	text(FieldOperation, "operation", e.Operation)
	text(FieldTool, "tool", e.Tool)
	if f&FieldUsage != 0 {
		b = e.Usage.append(appendText(b, "usage"))
	}
	if f&FieldMetadata != 0 {
		b = appendHead(appendText(b, "metadata"), majorMap, uint64(len(e.Metadata)))
		for i := range e.Metadata {
			b = e.Metadata[i].Value.append(appendText(b, e.Metadata[i].Key))
		}
	}
	num(FieldMustUnderstand, "must_understand", e.MustUnderstand)
	if f&FieldBody != 0 {
		b = appendBytes(appendText(b, "body"), e.Body)
	}
	if f&FieldSignature != 0 {
		b = e.Signature.Append(appendText(b, "signature"))
	}
	return b
}

func (u *TokenCounts) append(b []byte) []byte {
	b = appendHead(b, majorMap, 2+uint64(bits.OnesCount8(uint8(u.Has))))
	b = appendUint(appendText(b, "input_tokens"), u.Input)
	b = appendUint(appendText(b, "output_tokens"), u.Output)
	if u.Has&HasReasoning != 0 {
		b = appendUint(appendText(b, "reasoning_output_tokens"), u.Reasoning)
	}
	if u.Has&HasCacheRead != 0 {
		b = appendUint(appendText(b, "cache_read_input_tokens"), u.CacheRead)
	}
	if u.Has&HasCacheWrite != 0 {
		b = appendUint(appendText(b, "cache_creation_input_tokens"), u.CacheCreation)
	}
	if u.Has&HasCost != 0 {
		b = appendUint(appendText(b, "cost_micros"), u.Cost)
	}
	return b
}

// Append encodes the signature capsule behind b.
func (s *Signature) Append(b []byte) []byte {
	n := uint64(3)
	if s.HasContext {
		n++
	}
	b = appendHead(b, majorMap, n)
	b = appendUint(appendText(b, "scheme"), uint64(s.Scheme))
	b = appendBytes(appendText(b, "key_id"), s.KeyID)
	b = appendBytes(appendText(b, "bytes"), s.Bytes)
	if s.HasContext {
		b = s.appendContext(appendText(b, "context"))
	}
	return b
}

// appendContext encodes the signature's context, which is also part of the
// signed bytes (spec agdx.md, section 8).
func (s *Signature) appendContext(b []byte) []byte {
	var n uint64
	if s.HasContentType {
		n++
	}
	if s.HasVersion {
		n++
	}
	b = appendHead(b, majorMap, n)
	if s.HasContentType {
		b = appendUint(appendText(b, "content_type"), uint64(s.ContentType))
	}
	if s.HasVersion {
		b = appendUint(appendText(b, "agent_version"), uint64(s.Version))
	}
	return b
}
