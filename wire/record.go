package wire

// Raw is one Kafka record as the decoder sees it. The decoder reads the slices
// and keeps views of them in Records; they must not change afterwards.
type Raw struct {
	Offset    uint64
	Timestamp int64 // milliseconds since the epoch as the broker gives them
	Key       []byte
	Value     []byte // nil is a tombstone
	Headers   []Header
}

// Header is one Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// Kind is the kind of a record as a timeline row shows it.
type Kind uint8

// The kinds: six of the AGDX envelope, then those of other formats
// (spec settled.md, "Row kinds beside the six").
const (
	KindUndecodable Kind = iota
	KindCommand
	KindResponse
	KindEvent
	KindChunk
	KindStatus
	KindError
	KindMemory
	KindDeadLetter
	KindForeignEvent // "event" of a foreign dialect
	KindSession      // Everruns session object
	KindRecord       // DeepStrike record_type line
)

var kindNames = [...]string{"undecodable", "command", "response", "event", "chunk", "status", "error", "memory", "dead_letter", "event", "session", "record"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "undecodable"
}

// Display is the word a timeline shows for a record (spec agdx.md, section 7).
// It is a number here so that a record carries no text for it.
type Display uint8

// The display words of all dialects.
const (
	DisplayUndecodable Display = iota
	DisplayInvalid
	DisplaySessionSubmitted
	DisplaySessionStarted
	DisplaySessionResumed
	DisplaySessionPaused
	DisplaySessionCompleted
	DisplaySessionFailed
	DisplaySessionCanceled
	DisplaySessionParked
	DisplaySessionUnparked
	DisplaySessionControl
	DisplayUnauthorizedControl
	DisplayTaskStatus
	DisplayUserMessage
	DisplayAgentMessage
	DisplayAgentHandoff
	DisplayModelRequest
	DisplayModelResponse
	DisplayModelStream
	DisplayToolCall
	DisplayToolResult
	DisplayStateUpdated
	DisplayContextAssembled
	DisplayContextCompacted
	DisplayContextRetrieved
	DisplayPolicyDecision
	DisplayMemoryCreated
	DisplayMemoryForgotten
	DisplayMemoryFeedback
	DisplayKVSet
	DisplayGraphUpsert
	DisplayDeadLetter
	DisplayWorkflowStep
	DisplayError
	displayEnd
)

var displayNames = [displayEnd]string{
	"undecodable", "invalid",
	"session.submitted", "session.started", "session.resumed", "session.paused", "session.completed", "session.failed", "session.canceled",
	"session.parked", "session.unparked", "session.control", "unauthorized_control",
	"task.status", "user.message", "agent.message", "agent.handoff",
	"model.request", "model.response", "model.stream", "tool.call", "tool.result",
	"state.updated", "context.assembled", "context.compacted", "context.retrieved", "policy.decision",
	"memory.created", "memory.forgotten", "memory.feedback", "kv.set", "graph.upsert",
	"dead_letter", "workflow.step", "error",
}

func (d Display) String() string {
	if d < displayEnd {
		return displayNames[d]
	}
	return "undecodable"
}

// DisplayWords are the words of all displays.
func DisplayWords() []string { return append([]string(nil), displayNames[:]...) }

// ParseDisplay is the inverse of Display.String.
func ParseDisplay(s string) (Display, bool) {
	for i, n := range displayNames {
		if n == s {
			return Display(i), true
		}
	}
	return 0, false
}

// Status is the state of a session.
type Status uint8

// The session states (spec agdx.md, section 4).
const (
	StatusNone Status = iota
	StatusSubmitted
	StatusActive
	StatusPaused
	StatusCompleted
	StatusFailed
	StatusCanceled
)

var statusNames = [...]string{"", "submitted", "active", "paused", "completed", "failed", "canceled"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return ""
}

// Terminal says that the session has ended.
func (s Status) Terminal() bool { return s >= StatusCompleted }

// ParseStatus is the inverse of Status.String; the empty text is not a status.
func ParseStatus(s string) (Status, bool) {
	for i, n := range statusNames {
		if i > 0 && n == s {
			return Status(i), true
		}
	}
	return 0, false
}

// Fact is a set of things a record says, each worth one count or one mark.
type Fact uint32

// The facts.
const (
	FactModelCall Fact = 1 << iota
	FactToolCall
	FactError
	FactIssue
	FactUnpriced  // usage without a price: the cost is a lower bound
	FactUsage     // Usage counts into the session's tokens and cost
	FactLane      // a lifecycle or state record on a lane source (spec session-index.md, section 4, lane_conflict)
	FactAuthor    // Agent joins the session's agents
	FactNoRow     // counts, but keeps no timeline row (spec everruns.md, delta types)
	FactHeartbeat // liveness only: never a row, never a count
)

// Usage is the token usage of one call, normalised: In includes cache reads and
// cache writes, Out includes reasoning.
type Usage struct {
	In         uint64
	Out        uint64
	CacheRead  uint64
	CacheWrite uint64
	Reasoning  uint64
	CostNano   uint64 // nano-units of the currency
	Has        UsageHas
}

// UsageHas marks the optional fields of a Usage that were present.
type UsageHas uint8

// The optional fields of Usage.
const (
	HasCacheRead UsageHas = 1 << iota
	HasCacheWrite
	HasReasoning
	HasCost
)

// Record is one decoded record in dialect-free terms. Slices are views of the
// Raw they came from and are text as the producer wrote it, not yet cleaned:
// the fold cleans what it keeps. Rare facts hang behind pointers.
type Record struct {
	Offset uint64
	Time   uint64 // broker time in µs as read, not raised; a negative timestamp is 0

	Session    ID
	HasSession bool // false: unattributed
	Kind       Kind
	Display    Display
	Facts      Fact

	HasParent, HasRoot, HasCorrelation bool
	Parent, Root, Correlation          ID

	Operation []byte
	Agent     []byte // author
	Addressee []byte
	Tool      []byte
	Cause     []byte // locator as received; 20 bytes when it parses

	Usage *Usage

	Lifecycle *Lifecycle // what the record says about the session's course
	Rare      *Rare      // facts that few records carry

	// Reason says why a record is undecodable or invalid, for the row's
	// summary: a fixed word of this package, never text of the record.
	Reason string

	// Summary holds shapes, never values (spec session-index.md, section 6),
	// in ascending order of Key.
	Summary []SummaryItem
}

// Lifecycle is a lifecycle statement, already held against role and dialect:
// the fold applies it as it stands.
type Lifecycle struct {
	Status      Status // the state the record puts the session in
	Start       *Start // set when the record starts the session
	Reason      []byte
	ErrorCode   uint8
	HasError    bool
	ErrorText   bool // an error message was present; its text is never kept
	Forced      bool // a forced cancel on the control topic
	Acknowledge *Pos // the control request this answers
}

// Start is what a session start record says about its session.
type Start struct {
	Label, Namespace, Agent  []byte
	HasLabel, HasNamespace   bool
	SDKLanguage, SDKVersion  []byte
	HasSDK                   bool
	Tags                     [][]byte
	IdleTimeout              uint64 // µs, 0 when not set
	HasIdleTimeout           bool
	BudgetTokens             uint64
	BudgetCostMicros         uint64
	HasBudgetTokens          bool
	HasBudgetCost, HasBudget bool
	HasParent, HasRoot       bool
	Parent, Root             ID
	NativeID                 []byte
}

// Rare holds facts that few records carry, so that the others do not pay for
// them in the fold.
type Rare struct {
	NativeID    []byte
	State       *StateRecord // a state record of a lane
	Control     *Control     // a request on the control topic
	Parking     *Parking     // work that a lane put aside or took up again
	Links       []Link
	LinkRefused bool    // the record links to a session of another stream
	Native      *Native // what a record of another dialect than AGDX says

	Verdict Verdict // of the record's signature
	Actor   string  // the principal whose key verified the record; set when Verdict is Verified
	Keys    uint64  // fingerprint of the keys that the signature was held against
}

// SummaryKey names an entry of a row's summary. Numbers are part of the stored
// format: only append.
type SummaryKey uint8

// The summary entries.
const (
	SumNone         SummaryKey = iota
	SumAttempts                // number
	SumArgKeys                 // list of text: sorted argument key names
	SumCode                    // number: error code
	SumContentType             // text
	SumDuration                // number, µs
	SumFinishReason            // text
	SumItems                   // number of referenced items
	SumLast                    // bool
	SumModel                   // text
	SumProvider                // text
	SumReason                  // text: a word of the protocol or of this program
	SumRetryable               // bool
	SumRole                    // text
	SumSHA256                  // bytes: digest of the body
	SumSequence                // number
	SumSize                    // number: bytes of the body
	SumStatus                  // text
	SumTaskState               // text
	SumWeight                  // text
	SumRefs                    // list of text: ids of referenced items
	SumScores                  // list of text
	SumSurface                 // text
	SumRelation                // text
	SumCategory                // text
	SumPrimitive               // text
	SumCopied                  // bool
	SumMemoryKind              // text
	SumForced                  // bool
	SumOperations              // number of operations of a patch
	SumOutcome                 // text: what the fold did with a state record
	SumRevision                // number: of the state document behind the record
	sumEnd
)

var summaryNames = [sumEnd]string{
	"", "attempts", "argument_keys", "code", "content_type", "duration_micros", "finish_reason", "items", "last",
	"model", "provider", "reason", "retryable", "role", "sha256", "sequence", "size", "status", "task_state",
	"weight", "refs", "scores", "surface", "relation", "category", "primitive", "copied", "memory_kind", "forced",
	"operations", "outcome", "revision",
}

func (k SummaryKey) String() string {
	if k < sumEnd {
		return summaryNames[k]
	}
	return ""
}

// SummaryItem is one entry. Which field holds the value follows from Type.
type SummaryItem struct {
	Key  SummaryKey
	Type SummaryType
	Num  uint64
	Text []byte   // SumText; SumBytes
	List [][]byte // SumList
}

// SummaryType is the type of a summary entry's value.
type SummaryType uint8

// The value types of summary entries. In JSON: number, text, bool, lower-case
// hexadecimal text, list of texts.
const (
	SumNumber SummaryType = iota
	SumText
	SumBool // Num is 0 or 1
	SumBytes
	SumList
)

// Decoder turns raw records of one source into Records. It reuses its memory:
// the result is valid until the next Decode.
type Decoder interface {
	// Decode appends nothing and drops nothing: one Record per Raw, in order.
	Decode(src *Source, raw []Raw) []Record
}
