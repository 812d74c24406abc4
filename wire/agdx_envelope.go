package wire

// Field is a set of envelope fields that are present.
type Field uint32

// The envelope fields, in the order in which writers put them (spec agdx.md,
// section 2; the order inside the third and fourth line is that of the public
// test vectors).
const (
	FieldKind Field = 1 << iota
	FieldRecord
	FieldConversation
	FieldParent
	FieldRoot
	FieldSource
	FieldTarget
	FieldCause
	FieldCauseAt
	FieldCorrelation
	FieldChannel
	FieldIdempotencyKey
	FieldDeadline
	FieldSequence
	FieldLast
	FieldFinishReason
	FieldTaskState
	FieldOperation
	FieldTool
	FieldUsage
	FieldMetadata
	FieldMustUnderstand
	FieldBody
	FieldSignature
)

// Envelope is one AGDX message (spec agdx.md, section 2). Texts are bytes so
// that a decoded envelope is a view of its payload. An optional text, byte or
// list field is absent when nil. Optional ids and numbers are present when
// their bit is set in Has; the Set methods set both. Has is ignored for fields
// whose presence follows from their value.
type Envelope struct {
	Has  Field
	Kind Kind // KindCommand to KindError

	Record, Conversation, Parent, Root ID
	Source                             []byte // author
	Target                             []byte // addressee
	Cause                              ID
	CauseAt                            []byte // locator of the causal parent, as received
	Correlation, Channel               ID
	IdempotencyKey                     []byte
	DeadlineMicros                     uint64 // epoch µs
	Sequence                           uint64
	Last                               bool
	FinishReason                       []byte
	TaskState                          TaskState
	Operation                          []byte
	Tool                               []byte
	Usage                              TokenCounts // counts when FieldUsage is set
	Metadata                           []Meta      // in order, no key twice
	MustUnderstand                     uint64      // 0 is absent
	Body                               []byte      // empty is absent
	Signature                          Signature   // counts when FieldSignature is set

	// metaFault is the reason that metadata was not kept whole: decoding
	// stops keeping entries where the caps are broken beyond doubt.
	metaFault string
	metaBuf   []Meta // memory of Metadata, reused by the decoder
}

// TokenCounts is the usage map of an envelope, as written.
type TokenCounts struct {
	Input, Output                             uint64
	Reasoning, CacheRead, CacheCreation, Cost uint64 // Cost in micro-units
	Has                                       UsageHas
}

// Signature is the signature capsule of an envelope (spec agdx.md, section 8).
// The context of a signature that has one is kept beside it.
type Signature struct {
	Scheme         uint8 // SchemeEd25519
	KeyID          []byte
	Bytes          []byte
	HasContext     bool
	HasContentType bool
	HasVersion     bool
	ContentType    uint8
	Version        uint32
}

// SchemeEd25519 is the only signature scheme whose lengths are checked.
const SchemeEd25519 = 1

// TaskState is the code of a task's or session's state. Codes that this build
// does not know pass and are not terminal.
type TaskState uint8

// The task states.
const (
	TaskSubmitted TaskState = 1 + iota
	TaskWorking
	TaskInputRequired
	TaskCompleted
	TaskCanceled
	TaskFailed
	TaskRejected
	TaskAuthRequired
	TaskUnknown
	TaskPaused
)

var taskNames = [...]string{"", "submitted", "working", "input_required", "completed", "canceled", "failed", "rejected", "auth_required", "unknown", "paused"}

// String is the state's word; "unrecognized" for codes without one.
func (t TaskState) String() string {
	if t >= TaskSubmitted && t <= TaskPaused {
		return taskNames[t]
	}
	return "unrecognized"
}

// Terminal says that the state ends a task or session.
func (t TaskState) Terminal() bool { return t >= TaskCompleted && t <= TaskRejected }

// SetRecord sets the record id.
func (e *Envelope) SetRecord(id ID) *Envelope { e.Record = id; e.Has |= FieldRecord; return e }

// SetParent sets the parent session.
func (e *Envelope) SetParent(id ID) *Envelope { e.Parent = id; e.Has |= FieldParent; return e }

// SetRoot sets the root session.
func (e *Envelope) SetRoot(id ID) *Envelope { e.Root = id; e.Has |= FieldRoot; return e }

// SetCause sets the causal parent's record id.
func (e *Envelope) SetCause(id ID) *Envelope { e.Cause = id; e.Has |= FieldCause; return e }

// SetCorrelation sets the id that pairs a request with its reply.
func (e *Envelope) SetCorrelation(id ID) *Envelope {
	e.Correlation = id
	e.Has |= FieldCorrelation
	return e
}

// SetChunk sets channel and sequence of a chunk.
func (e *Envelope) SetChunk(channel ID, sequence uint64) *Envelope {
	e.Channel, e.Sequence = channel, sequence
	e.Has |= FieldChannel | FieldSequence
	return e
}

// SetDeadline sets the deadline, epoch µs.
func (e *Envelope) SetDeadline(micros uint64) *Envelope {
	e.DeadlineMicros = micros
	e.Has |= FieldDeadline
	return e
}

// SetTaskState sets the task state.
func (e *Envelope) SetTaskState(t TaskState) *Envelope {
	e.TaskState = t
	e.Has |= FieldTaskState
	return e
}

// SetUsage sets the usage map.
func (e *Envelope) SetUsage(u TokenCounts) *Envelope { e.Usage = u; e.Has |= FieldUsage; return e }

// SetSignature sets the signature capsule.
func (e *Envelope) SetSignature(s Signature) *Envelope {
	e.Signature = s
	e.Has |= FieldSignature
	return e
}

// AddMeta appends a metadata entry with a text value.
func (e *Envelope) AddMeta(key, value string) *Envelope {
	e.Metadata = append(e.Metadata, Meta{Key: []byte(key), Value: MetaValue{Type: MetaText, Text: []byte(value)}})
	return e
}

// AddMetaUint appends a metadata entry with an unsigned value.
func (e *Envelope) AddMetaUint(key string, value uint64) *Envelope {
	e.Metadata = append(e.Metadata, Meta{Key: []byte(key), Value: MetaValue{Type: MetaUint, Num: value}})
	return e
}

// present gives the fields that are set, by bit or by value.
func (e *Envelope) present() Field {
	const byBit = FieldRecord | FieldParent | FieldRoot | FieldCause | FieldCorrelation | FieldChannel |
		FieldDeadline | FieldSequence | FieldTaskState | FieldUsage | FieldSignature
	f := e.Has&byBit | FieldKind | FieldConversation | FieldSource
	set := func(on bool, bit Field) {
		if on {
			f |= bit
		}
	}
	set(e.Target != nil, FieldTarget)
	set(e.CauseAt != nil, FieldCauseAt)
	set(e.IdempotencyKey != nil, FieldIdempotencyKey)
	set(e.Last, FieldLast)
	set(e.FinishReason != nil, FieldFinishReason)
	set(e.Operation != nil, FieldOperation)
	set(e.Tool != nil, FieldTool)
	set(e.Metadata != nil, FieldMetadata)
	set(e.MustUnderstand != 0, FieldMustUnderstand)
	set(len(e.Body) > 0, FieldBody)
	return f
}
