package wire

// AuditEvent is a decision of a DeepStrike kernel that the audit snapshot keeps
// or counts (spec deepstrike.md, section 4). Which fields are set follows from
// Kind.
type AuditEvent struct {
	Kind AuditKind
	Turn uint64

	Agent, Parent, State              []byte // process
	Reason                            []byte // suspend, cancellation
	Operation, Reservation            []byte // budgets, cancellation, signal; Reservation nil: absent
	Budget                            []byte
	Delivery, Signal, Disposition     []byte
	Attempt, Queue                    uint64   // signal
	Tokens, Subagents, Rounds         uint64   // budget usage
	Calls                             [][]byte // suspend, cancellation
	HasOperation, HasDelivery, HasTry bool     // signal: fields that the older form lacks
}

// AuditKind is which decision it is.
type AuditKind uint8

// The decisions.
const (
	AuditSuspended AuditKind = 1 + iota
	AuditResumed
	AuditProcess
	AuditBudgetExceeded
	AuditBudgetUsage
	AuditCancellation
	AuditSignal
	AuditPageOut
	AuditPageIn
	AuditToolGated
	AuditMemoryWritten
	AuditMemoryQueried
	AuditMemoryInvalid
	AuditMemoryRetrieved
)
