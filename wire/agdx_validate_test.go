package wire

import (
	"strings"
	"testing"
)

func testID(n byte) ID { return ID{0: 1, 15: n} }

// The least valid envelope of each kind.
func command() *Envelope {
	e := &Envelope{Kind: KindCommand, Conversation: testID(2), Source: []byte("a"), Body: []byte("x")}
	return e.SetRecord(testID(1)).SetCorrelation(testID(3))
}

func response() *Envelope { e := command(); e.Kind = KindResponse; return e }

func event() *Envelope {
	e := &Envelope{Kind: KindEvent, Conversation: testID(2), Source: []byte("a"), Body: []byte("x")}
	return e.SetRecord(testID(1))
}

func firstChunk() *Envelope {
	e := &Envelope{Kind: KindChunk, Conversation: testID(2), Source: []byte("a"), Operation: []byte(OpChat), Body: []byte("x")}
	return e.SetCorrelation(testID(3)).SetChunk(testID(4), 0)
}

func laterChunk() *Envelope {
	e := firstChunk()
	e.Operation, e.Sequence = nil, 7
	return e
}

func lastChunk() *Envelope { e := laterChunk(); e.Last = true; return e }

func status(op string) *Envelope {
	e := &Envelope{Kind: KindStatus, Conversation: testID(2), Source: []byte("a"), Operation: []byte(op)}
	return e.SetRecord(testID(1))
}

func task() *Envelope { return status(OpTask).SetCorrelation(testID(3)).SetTaskState(TaskWorking) }

func session(state TaskState, body []byte) *Envelope {
	e := status(OpSession).SetTaskState(state)
	e.Body, e.Last = body, state.Terminal()
	return e
}

func failure() *Envelope { e := command(); e.Kind = KindError; return e }

func startBody() *SessionStart {
	return &SessionStart{Agent: []byte("a"), SDKLanguage: []byte("go"), SDKVersion: []byte("1"), HasSDK: true}
}

// with changes an envelope in place.
func with(e *Envelope, change func(*Envelope)) *Envelope { change(e); return e }

func long(n int) []byte { return []byte(strings.Repeat("x", n)) }

func metaN(n int) (m []Meta) {
	for i := range n {
		m = append(m, Meta{Key: []byte{'k', byte('a' + i/26), byte('a' + i%26)}, Value: MetaValue{Type: MetaBool, Num: 1}})
	}
	return m
}

func metaText(keySize, valueSize int) []Meta {
	return []Meta{{Key: long(keySize), Value: MetaValue{Type: MetaText, Text: long(valueSize)}}}
}

func metaList(items ...MetaValue) []Meta {
	return []Meta{{Key: []byte("l"), Value: MetaValue{Type: MetaList, List: items}}}
}

func parking() *SessionParking {
	return &SessionParking{Source: Pos{Stream: 1, Topic: 2, Partition: 3, Offset: 4, Generation: 5}, Role: []byte("a"), Request: make([]byte, 20)}
}

var (
	empty      = (&SessionTransition{}).Marshal()
	transition = (&SessionTransition{Actor: []byte("a"), Acknowledges: make([]byte, 20)}).Marshal()
	endBody    = (&SessionEnd{Reason: []byte("done")}).Marshal()
)

// TestValidityMatrix hits each rule once ("" expects a valid envelope, the
// neighbour of the rule).
func TestValidityMatrix(t *testing.T) {
	for _, c := range []struct {
		name string
		env  *Envelope
		want string
	}{
		{"command", command(), ""},
		{"response", response(), ""},
		{"event", event(), ""},
		{"event with correlation", event().SetCorrelation(testID(3)), ""},
		{"first chunk", firstChunk(), ""},
		{"first chunk, reasoning", with(firstChunk(), func(e *Envelope) { e.Operation = []byte(OpReasoning) }), ""},
		{"first chunk, tool_args", with(firstChunk(), func(e *Envelope) { e.Operation = []byte(OpToolArgs) }), ""},
		{"later chunk", laterChunk(), ""},
		{"last chunk without body", with(lastChunk(), func(e *Envelope) { e.Body = nil }), ""},
		{"chunk with a record id", laterChunk().SetRecord(testID(1)), ""},
		{"status task", task(), ""},
		{"status card", status(OpCard), ""},
		{"status progress", status(OpProgress), ""},
		{"status quarantine", status(OpQuarantine), ""},
		{"status unquarantine", status(OpUnquarantine), ""},
		{"error", failure(), ""},

		{"must_understand", with(event(), func(e *Envelope) { e.MustUnderstand = 1 << 63 }), ReasonMustUnderstand},
		{"command without record", with(command(), func(e *Envelope) { e.Has &^= FieldRecord }), ReasonRecordMissing},
		{"status without record", with(status(OpCard), func(e *Envelope) { e.Has &^= FieldRecord }), ReasonRecordMissing},

		{"parent", event().SetParent(testID(8)), ""},
		{"parent and root", event().SetParent(testID(8)).SetRoot(testID(9)), ""},
		{"parent is root", event().SetParent(testID(8)).SetRoot(testID(8)), ""},
		{"root without parent", event().SetRoot(testID(9)), ReasonRootWithoutParent},
		{"parent is the conversation", event().SetParent(testID(2)), ReasonParentSelf},
		{"root is the conversation", event().SetParent(testID(8)).SetRoot(testID(2)), ReasonParentSelf},

		{"command without correlation", with(command(), func(e *Envelope) { e.Has &^= FieldCorrelation }), ReasonCorrelationMissing},
		{"response without correlation", with(response(), func(e *Envelope) { e.Has &^= FieldCorrelation }), ReasonCorrelationMissing},
		{"chunk without correlation", with(laterChunk(), func(e *Envelope) { e.Has &^= FieldCorrelation }), ReasonCorrelationMissing},
		{"error without correlation", with(failure(), func(e *Envelope) { e.Has &^= FieldCorrelation }), ReasonCorrelationMissing},
		{"task without correlation", with(task(), func(e *Envelope) { e.Has &^= FieldCorrelation }), ReasonCorrelationMissing},
		{"session without correlation", session(TaskWorking, empty), ""},

		{"chunk without channel", with(laterChunk(), func(e *Envelope) { e.Has &^= FieldChannel }), ReasonChannelMissing},
		{"chunk without sequence", with(laterChunk(), func(e *Envelope) { e.Has &^= FieldSequence }), ReasonSequenceMissing},
		{"command with channel", with(command(), func(e *Envelope) { e.Has |= FieldChannel }), ReasonChannelForbidden},
		{"status with channel", with(status(OpCard), func(e *Envelope) { e.Has |= FieldChannel }), ReasonChannelForbidden},
		{"event with sequence", with(event(), func(e *Envelope) { e.Has |= FieldSequence }), ReasonSequenceForbidden},
		{"status with sequence", with(status(OpCard), func(e *Envelope) { e.Has |= FieldSequence }), ReasonSequenceForbidden},
		{"error with channel", with(failure(), func(e *Envelope) { e.Has |= FieldChannel }), ""},
		{"error with channel and sequence", failure().SetChunk(testID(4), 9), ""},
		{"error with sequence alone", with(failure(), func(e *Envelope) { e.Has |= FieldSequence }), ReasonSequenceNoChannel},

		{"last chunk", lastChunk(), ""},
		{"last on a task", with(task(), func(e *Envelope) { e.Last = true }), ""},
		{"last on a command", with(command(), func(e *Envelope) { e.Last = true }), ReasonLastForbidden},
		{"last on an error", with(failure(), func(e *Envelope) { e.Last = true }), ReasonLastForbidden},

		{"finish on a response", with(response(), func(e *Envelope) { e.FinishReason = []byte("stop") }), ""},
		{"finish on the last chunk", with(lastChunk(), func(e *Envelope) { e.FinishReason = []byte("stop") }), ""},
		{"finish on a middle chunk", with(laterChunk(), func(e *Envelope) { e.FinishReason = []byte("stop") }), ReasonFinishNotLast},
		{"finish on an event", with(event(), func(e *Envelope) { e.FinishReason = []byte("stop") }), ReasonFinishForbidden},
		{"finish on a status", with(status(OpCard), func(e *Envelope) { e.FinishReason = []byte("stop") }), ReasonFinishForbidden},

		{"key of 1 byte", with(event(), func(e *Envelope) { e.IdempotencyKey = long(1) }), ""},
		{"key of 64 bytes", with(command(), func(e *Envelope) { e.IdempotencyKey = long(64) }), ""},
		{"key of 65 bytes", with(response(), func(e *Envelope) { e.IdempotencyKey = long(65) }), ReasonIdempotency},
		{"empty key", with(event(), func(e *Envelope) { e.IdempotencyKey = []byte{} }), ReasonIdempotency},
		{"key on a chunk", with(laterChunk(), func(e *Envelope) { e.IdempotencyKey = long(1) }), ReasonIdempotencyKind},
		{"key on a status", with(status(OpCard), func(e *Envelope) { e.IdempotencyKey = long(1) }), ReasonIdempotencyKind},
		{"key on an error", with(failure(), func(e *Envelope) { e.IdempotencyKey = long(1) }), ReasonIdempotencyKind},

		{"deadline on a command", command().SetDeadline(1), ""},
		{"deadline on the first chunk", firstChunk().SetDeadline(1), ""},
		{"deadline on a later chunk", laterChunk().SetDeadline(1), ReasonDeadlineLate},
		{"deadline on a response", response().SetDeadline(1), ReasonDeadlineForbidden},
		{"deadline on a status", status(OpCard).SetDeadline(1), ReasonDeadlineForbidden},

		{"state on a response", response().SetTaskState(TaskFailed), ""},
		{"state on an error", failure().SetTaskState(TaskFailed), ""},
		{"state of an unknown code", task().SetTaskState(200), ""},
		{"state on a command", command().SetTaskState(TaskWorking), ReasonTaskStateForbidden},
		{"state on an event", event().SetTaskState(TaskWorking), ReasonTaskStateForbidden},
		{"state on a chunk", laterChunk().SetTaskState(TaskWorking), ReasonTaskStateForbidden},
		{"state on a card", status(OpCard).SetTaskState(TaskWorking), ReasonTaskStateForbidden},
		{"state on progress", status(OpProgress).SetTaskState(TaskWorking), ReasonTaskStateForbidden},
		{"task without state", with(task(), func(e *Envelope) { e.Has &^= FieldTaskState }), ReasonTaskStateMissing},
		{"session without state", with(status(OpSession), func(e *Envelope) { e.Body = empty }), ReasonTaskStateMissing},

		{"status without operation", with(status(OpCard), func(e *Envelope) { e.Operation = nil }), ReasonOperationMissing},
		{"status with another word", status("Task"), ReasonOperationUnknown},
		{"first chunk without operation", with(firstChunk(), func(e *Envelope) { e.Operation = nil }), ReasonOperationMissing},
		{"first chunk with another word", with(firstChunk(), func(e *Envelope) { e.Operation = []byte("text") }), ReasonOperationUnknown},
		{"later chunk with operation", with(laterChunk(), func(e *Envelope) { e.Operation = []byte(OpChat) }), ReasonOperationLate},
		{"operation of 256 bytes", with(event(), func(e *Envelope) { e.Operation = long(256) }), ""},
		{"operation of 257 bytes", with(event(), func(e *Envelope) { e.Operation = long(257) }), ReasonOperationLong},

		{"tool of 256 bytes", with(command(), func(e *Envelope) { e.Tool = long(256) }), ""},
		{"tool of 257 bytes", with(command(), func(e *Envelope) { e.Tool = long(257) }), ReasonToolLong},
		{"tool on a status", with(status(OpCard), func(e *Envelope) { e.Tool = long(1) }), ReasonToolForbidden},
		{"finish of 256 bytes", with(response(), func(e *Envelope) { e.FinishReason = long(256) }), ""},
		{"finish of 257 bytes", with(response(), func(e *Envelope) { e.FinishReason = long(257) }), ReasonFinishLong},

		{"usage on a response", response().SetUsage(TokenCounts{}), ""},
		{"usage on an event", event().SetUsage(TokenCounts{}), ""},
		{"usage on a status", status(OpProgress).SetUsage(TokenCounts{}), ""},
		{"usage on the last chunk", lastChunk().SetUsage(TokenCounts{}), ""},
		{"usage on a middle chunk", laterChunk().SetUsage(TokenCounts{}), ReasonUsageNotLast},
		{"usage on a command", command().SetUsage(TokenCounts{}), ReasonUsageForbidden},

		{"command without body", with(command(), func(e *Envelope) { e.Body = nil }), ReasonBodyMissing},
		{"event with an empty body", with(event(), func(e *Envelope) { e.Body = []byte{} }), ReasonBodyMissing},
		{"error without body", with(failure(), func(e *Envelope) { e.Body = nil }), ReasonBodyMissing},
		{"middle chunk without body", with(laterChunk(), func(e *Envelope) { e.Body = nil }), ReasonBodyMissing},
		{"session without body", session(TaskWorking, nil), ReasonBodyMissing},

		{"32 metadata entries", with(event(), func(e *Envelope) { e.Metadata = metaN(32) }), ""},
		{"33 metadata entries", with(event(), func(e *Envelope) { e.Metadata = metaN(33) }), ReasonMetadataEntries},
		{"no metadata entry", with(event(), func(e *Envelope) { e.Metadata = []Meta{} }), ""},
		{"metadata key of 256", with(event(), func(e *Envelope) { e.Metadata = metaText(256, 1) }), ""},
		{"metadata key of 257", with(event(), func(e *Envelope) { e.Metadata = metaText(257, 1) }), ReasonMetadataKey},
		{"metadata value of 1024", with(event(), func(e *Envelope) { e.Metadata = metaText(1, 1024) }), ""},
		{"metadata value of 1025", with(event(), func(e *Envelope) { e.Metadata = metaText(1, 1025) }), ReasonMetadataValue},
		{"metadata list of 1024", with(event(), func(e *Envelope) {
			e.Metadata = metaList(MetaValue{Text: long(1013)}, MetaValue{Type: MetaUint, Num: 1})
		}), ""},
		{"metadata list of 1025", with(event(), func(e *Envelope) {
			e.Metadata = metaList(MetaValue{Text: long(1014)}, MetaValue{Type: MetaUint, Num: 1})
		}), ReasonMetadataValue},
		{"metadata of 8192 in all", with(event(), func(e *Envelope) { e.Metadata = bigMeta(0) }), ""},
		{"metadata of 8193 in all", with(event(), func(e *Envelope) { e.Metadata = bigMeta(1) }), ReasonMetadataTotal},

		{"signature", event().SetSignature(Signature{Scheme: 1, KeyID: long(8), Bytes: long(64)}), ""},
		{"signature key of 7 bytes", event().SetSignature(Signature{Scheme: 1, KeyID: long(7), Bytes: long(64)}), ReasonSignatureKeyID},
		{"signature of 65 bytes", event().SetSignature(Signature{Scheme: 1, KeyID: long(8), Bytes: long(65)}), ReasonSignatureBytes},
		{"signature of an unknown scheme", event().SetSignature(Signature{Scheme: 2, KeyID: long(1), Bytes: long(2)}), ""},

		{"submitted", session(TaskSubmitted, startBody().Marshal()), ""},
		{"started", session(TaskWorking, startBody().Marshal()), ""},
		{"resumed", session(TaskWorking, empty), ""},
		{"picked up", session(TaskWorking, transition), ""},
		{"paused", session(TaskPaused, transition), ""},
		{"input required", session(TaskInputRequired, empty), ""},
		{"auth required", session(TaskAuthRequired, empty), ""},
		{"unknown state", session(TaskUnknown, empty), ""},
		{"unrecognized state", session(77, empty), ""},
		{"completed", session(TaskCompleted, endBody), ""},
		{"failed", session(TaskFailed, endBody), ""},
		{"canceled", session(TaskCanceled, empty), ""},
		{"rejected", session(TaskRejected, endBody), ""},
		{"completed without last", with(session(TaskCompleted, endBody), func(e *Envelope) { e.Last = false }), ReasonLastMismatch},
		{"paused with last", with(session(TaskPaused, empty), func(e *Envelope) { e.Last = true }), ReasonLastMismatch},
		{"submitted with a transition", session(TaskSubmitted, transition), ReasonBody},
		{"working with agent but no sdk", session(TaskWorking, []byte{0xa1, 0x65, 'a', 'g', 'e', 'n', 't', 0x61, 'a'}), ReasonBody},
		{"working with sdk but no agent", session(TaskWorking, append([]byte{0xa1, 0x63, 's', 'd', 'k'}, 0xa0)), ReasonBody},
		{"working with JSON", session(TaskWorking, []byte(`{}`)), ReasonBody},
		{"paused with an array", session(TaskPaused, []byte{0x80}), ReasonBody},
		{"completed with a wrong reason", session(TaskCompleted, []byte{0xa1, 0x66, 'r', 'e', 'a', 's', 'o', 'n', 1}), ReasonBody},
		{"start names a parent, envelope too", with(session(TaskWorking, parented().Marshal()), func(e *Envelope) { e.SetParent(testID(8)) }), ""},
		{"start names a parent, envelope none", session(TaskWorking, parented().Marshal()), ReasonAncestry},
		{"envelope names a parent, start none", session(TaskWorking, startBody().Marshal()).SetParent(testID(8)), ReasonAncestry},
		{"start names another parent", session(TaskWorking, parented().Marshal()).SetParent(testID(7)), ReasonAncestry},
		{"start names no root", session(TaskWorking, parented().Marshal()).SetParent(testID(8)).SetRoot(testID(9)), ReasonAncestry},
		{"transition and a parent", session(TaskPaused, empty).SetParent(testID(8)), ""},
		{"start with a long label", session(TaskWorking, labelled(long(300)).Marshal()), ""},
		{"start with a control character in its label", session(TaskWorking, labelled([]byte("a\nb")).Marshal()), ""},

		{"parked", with(event(), func(e *Envelope) { e.Operation, e.Body = []byte(OpSessionParked), parking().Marshal() }), ""},
		{"unparked", with(event(), func(e *Envelope) { e.Operation, e.Body = []byte(OpSessionUnparked), parking().Marshal() }), ""},
		{"parked without content", with(event(), func(e *Envelope) { e.Operation, e.Body = []byte(OpSessionParked), empty }), ReasonBody},
	} {
		if err := c.env.Validate(); err != nil && err != Invalid(c.want) || err == nil && c.want != "" {
			t.Errorf("%s: Validate gives %v, want %q", c.name, err, c.want)
		}
		// The wire form says the same: nothing is lost on the way.
		back, err := DecodeEnvelope(c.env.Marshal())
		if err != nil {
			t.Errorf("%s: does not decode: %v", c.name, err)
			continue
		}
		if err := back.Validate(); err != nil && err != Invalid(c.want) || err == nil && c.want != "" {
			t.Errorf("%s: decoded again, Validate gives %v, want %q", c.name, err, c.want)
		}
	}
}

// bigMeta has 8,192 bytes in all and more.
func bigMeta(more int) (m []Meta) {
	for i := range 8 {
		m = append(m, Meta{Key: []byte{'a' + byte(i), 'k'}, Value: MetaValue{Text: long(1022)}})
	}
	m[7].Value.Text = long(1022 + more)
	return m
}

func parented() *SessionStart { s := startBody(); s.HasParent, s.Parent = true, testID(8); return s }

func labelled(b []byte) *SessionStart { s := startBody(); s.HasLabel, s.Label = true, b; return s }
