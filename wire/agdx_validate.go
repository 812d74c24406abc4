package wire

// The reasons why an envelope that decodes is invalid. They are the fixed words
// that rows and tests see; one rule has one word (spec agdx.md, section 2).
const (
	ReasonVersion                   = "unknown_version"      // header agdx.av is not 1
	ReasonConversationHeader        = "conversation_header"  // header names another conversation
	ReasonAgentHeader               = "agent_header"         // header names another author
	ReasonMustUnderstand            = "must_understand"      // a required feature is unknown
	ReasonRecordMissing             = "record_missing"       // every kind but chunk
	ReasonRootWithoutParent         = "root_without_parent"  //
	ReasonParentSelf                = "parent_is_self"       // parent or root is the conversation
	ReasonCorrelationMissing        = "correlation_missing"  // command, response, chunk, error, status task
	ReasonChannelMissing            = "channel_missing"      // chunk
	ReasonChannelForbidden          = "channel_forbidden"    // command, response, event, status
	ReasonSequenceMissing           = "sequence_missing"     // chunk
	ReasonSequenceForbidden         = "sequence_forbidden"   // command, response, event, status
	ReasonSequenceNoChannel         = "sequence_no_channel"  // error
	ReasonLastForbidden             = "last_forbidden"       // chunk and status only
	ReasonLastMismatch              = "last_mismatch"        // session status: last exactly on terminal states
	ReasonFinishForbidden           = "finish_forbidden"     // responses and chunks only
	ReasonFinishNotLast             = "finish_not_last"      // on a chunk only with last
	ReasonIdempotency               = "idempotency_key"      // 1 to 64 bytes
	ReasonIdempotencyKind           = "idempotency_kind"     // not on chunk, status, error
	ReasonDeadlineForbidden         = "deadline_forbidden"   // commands and chunks only
	ReasonDeadlineLate              = "deadline_late"        // on a chunk only with sequence 0
	ReasonTaskStateMissing          = "task_state_missing"   // status task and session
	ReasonTaskStateForbidden        = "task_state_forbidden" // anywhere but task, session, response, error
	ReasonOperationMissing          = "operation_missing"    // status, and the chunk with sequence 0
	ReasonOperationUnknown          = "operation_unknown"    // status or opening chunk with another word
	ReasonOperationLate             = "operation_late"       // a chunk behind sequence 0
	ReasonToolForbidden             = "tool_forbidden"       // status
	ReasonUsageForbidden            = "usage_forbidden"      // command
	ReasonUsageNotLast              = "usage_not_last"       // on a chunk only with last
	ReasonBodyMissing               = "body_missing"         //
	ReasonBody                      = "body"                 // a session status or parking whose body does not fit
	ReasonAncestry                  = "ancestry"             // start body and envelope disagree on parent or root
	ReasonOperationLong             = "operation_long"       // over 256 bytes
	ReasonToolLong                  = "tool_long"            // over 256 bytes
	ReasonFinishLong                = "finish_long"          // over 256 bytes
	ReasonMetadataEntries           = "metadata_entries"     // over 32
	ReasonMetadataKey               = "metadata_key"         // over 256 bytes
	ReasonMetadataValue             = "metadata_value"       // over 1,024 bytes
	ReasonMetadataTotal             = "metadata_total"       // over 8,192 bytes
	ReasonMetadataType              = "metadata_type"        // neither scalar nor list of scalars
	ReasonSignatureKeyID            = "signature_key_id"     // Ed25519: 8 bytes
	ReasonSignatureBytes            = "signature_bytes"      // Ed25519: 64 bytes
	ReasonMemorySession             = "memory_session"       // header and body name different sessions
	maxVocabulary                   = 256                    // bytes of operation, tool, finish_reason
	maxIdempotencyKey               = 64                     // bytes
	understoodFeatures       uint64 = 0                      // bits of must_understand that this build knows
)

// Invalid is the error of a record that decodes and breaks a rule.
type Invalid string

func (i Invalid) Error() string { return "wire: invalid envelope: " + string(i) }

// Reason is the fixed word of the broken rule.
func (i Invalid) Reason() string { return string(i) }

// Validate holds the envelope against the validity matrix, the caps and the
// shape that the body of a session status or parking must have. The error is an
// Invalid; its word names the first rule that is broken.
func (e *Envelope) Validate() error {
	reason := e.invalid()
	if reason == "" {
		reason = e.checkBody(&sessionBody{start: &Start{}})
	}
	if reason != "" {
		return Invalid(reason)
	}
	return nil
}

// statusOperation is the closed vocabulary of status operations.
func statusOperation(op []byte) bool {
	switch string(op) {
	case OpTask, OpSession, OpCard, OpProgress, OpQuarantine, OpUnquarantine:
		return true
	}
	return false
}

// invalid gives the first broken rule that the body's content has no part in,
// or "".
func (e *Envelope) invalid() string {
	f := e.present()
	if e.MustUnderstand&^understoodFeatures != 0 {
		return ReasonMustUnderstand
	}
	if e.Kind != KindChunk && f&FieldRecord == 0 {
		return ReasonRecordMissing
	}
	if f&(FieldParent|FieldRoot) != 0 {
		if f&FieldParent == 0 {
			return ReasonRootWithoutParent
		}
		if e.Parent == e.Conversation || f&FieldRoot != 0 && e.Root == e.Conversation {
			return ReasonParentSelf
		}
	}
	var reason string
	switch e.Kind {
	case KindChunk:
		reason = e.invalidChunk(f)
	case KindStatus:
		reason = e.invalidStatus(f)
	default:
		reason = e.invalidMessage(f)
	}
	if reason != "" {
		return reason
	}
	return e.invalidCaps(f)
}

// invalidMessage checks command, response, event and error.
func (e *Envelope) invalidMessage(f Field) string {
	switch {
	case e.Kind != KindEvent && f&FieldCorrelation == 0:
		return ReasonCorrelationMissing
	case e.Kind != KindError && f&FieldChannel != 0:
		return ReasonChannelForbidden
	case e.Kind != KindError && f&FieldSequence != 0:
		return ReasonSequenceForbidden
	case f&(FieldSequence|FieldChannel) == FieldSequence:
		return ReasonSequenceNoChannel
	case e.Last:
		return ReasonLastForbidden
	case e.Kind != KindResponse && f&FieldFinishReason != 0:
		return ReasonFinishForbidden
	case e.Kind == KindError && f&FieldIdempotencyKey != 0:
		return ReasonIdempotencyKind
	case e.Kind != KindCommand && f&FieldDeadline != 0:
		return ReasonDeadlineForbidden
	case (e.Kind == KindCommand || e.Kind == KindEvent) && f&FieldTaskState != 0:
		return ReasonTaskStateForbidden
	case e.Kind == KindCommand && f&FieldUsage != 0:
		return ReasonUsageForbidden
	case f&FieldBody == 0:
		return ReasonBodyMissing
	}
	return ""
}

func (e *Envelope) invalidChunk(f Field) string {
	first := f&FieldSequence != 0 && e.Sequence == 0
	switch {
	case f&FieldCorrelation == 0:
		return ReasonCorrelationMissing
	case f&FieldChannel == 0:
		return ReasonChannelMissing
	case f&FieldSequence == 0:
		return ReasonSequenceMissing
	case f&FieldFinishReason != 0 && !e.Last:
		return ReasonFinishNotLast
	case f&FieldIdempotencyKey != 0:
		return ReasonIdempotencyKind
	case f&FieldDeadline != 0 && !first:
		return ReasonDeadlineLate
	case f&FieldTaskState != 0:
		return ReasonTaskStateForbidden
	case first && f&FieldOperation == 0:
		return ReasonOperationMissing
	case !first && f&FieldOperation != 0:
		return ReasonOperationLate
	case first && !chunkOperation(e.Operation):
		return ReasonOperationUnknown
	case f&FieldUsage != 0 && !e.Last:
		return ReasonUsageNotLast
	case f&FieldBody == 0 && !e.Last:
		return ReasonBodyMissing
	}
	return ""
}

// chunkOperation is the closed vocabulary of a chunk stream's purpose.
func chunkOperation(op []byte) bool {
	switch string(op) {
	case OpChat, OpReasoning, OpToolArgs:
		return true
	}
	return false
}

func (e *Envelope) invalidStatus(f Field) string {
	session := string(e.Operation) == OpSession
	stateful := session || string(e.Operation) == OpTask
	switch {
	case f&FieldOperation == 0:
		return ReasonOperationMissing
	case !statusOperation(e.Operation):
		return ReasonOperationUnknown
	case string(e.Operation) == OpTask && f&FieldCorrelation == 0:
		return ReasonCorrelationMissing
	case f&FieldChannel != 0:
		return ReasonChannelForbidden
	case f&FieldSequence != 0:
		return ReasonSequenceForbidden
	case f&FieldFinishReason != 0:
		return ReasonFinishForbidden
	case f&FieldIdempotencyKey != 0:
		return ReasonIdempotencyKind
	case f&FieldDeadline != 0:
		return ReasonDeadlineForbidden
	case stateful && f&FieldTaskState == 0:
		return ReasonTaskStateMissing
	case !stateful && f&FieldTaskState != 0:
		return ReasonTaskStateForbidden
	case f&FieldTool != 0:
		return ReasonToolForbidden
	case session && f&FieldBody == 0:
		return ReasonBodyMissing
	case session && e.Last != e.TaskState.Terminal():
		return ReasonLastMismatch
	}
	return ""
}

// invalidCaps checks the sizes that hold on every kind.
func (e *Envelope) invalidCaps(f Field) string {
	switch {
	case len(e.Operation) > maxVocabulary:
		return ReasonOperationLong
	case len(e.Tool) > maxVocabulary:
		return ReasonToolLong
	case len(e.FinishReason) > maxVocabulary:
		return ReasonFinishLong
	case f&FieldIdempotencyKey != 0 && (len(e.IdempotencyKey) == 0 || len(e.IdempotencyKey) > maxIdempotencyKey):
		return ReasonIdempotency
	}
	if f&FieldMetadata != 0 {
		if reason := e.checkMeta(); reason != "" {
			return reason
		}
	}
	if f&FieldSignature != 0 && e.Signature.Scheme == SchemeEd25519 {
		if len(e.Signature.KeyID) != 8 {
			return ReasonSignatureKeyID
		}
		if len(e.Signature.Bytes) != 64 {
			return ReasonSignatureBytes
		}
	}
	return ""
}
