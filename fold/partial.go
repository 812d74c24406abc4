package fold

import "sessionfold/wire"

// Limits of one partial (spec session-index.md, sections 3, 6 and 8).
const (
	MaxAgents          = 32
	DefaultTimelineCap = 10_000
)

// Stamp is a moment within one source: the raised broker time in µs and the
// offset. With the source it makes an Address.
type Stamp struct {
	Time   uint64
	Offset uint64
}

// Partial is everything one source knows about one session. The zero value is
// "never seen". A Partial is immutable once a Step holds it: Apply copies
// before it changes one, so readers and the next step may share it.
type Partial struct {
	First, Last Stamp
	Records     uint64 // every record of the session, undecodable ones too

	Start    *Start // the first start record, nil when none was seen
	Parent   Named  // first record that names a parent
	Root     Named  // first record that names a root
	Status   wire.Status
	StatusAt Stamp // of Status, the last non-terminal status; Status is StatusNone when none was seen
	End      *End  // the first terminal, nil when none was seen

	Counters Counters
	Agents   []string // sorted, at most MaxAgents

	Rows          uint64 // timeline rows kept
	Truncated     bool   // records past the cap were counted but not kept
	TruncatedFrom uint64 // the first such offset

	Flags Flag
}

// Named is an id that a record named, with the record's stamp.
type Named struct {
	ID  wire.ID
	At  Stamp
	Set bool
}

// Start holds what the winning start record of the source said, cleaned and cut
// (spec settled.md, "Text").
type Start struct {
	At               Stamp
	Label, Namespace string
	HasLabel         bool
	HasNamespace     bool
	Agent            string
	SDKLanguage      string
	SDKVersion       string
	HasSDK           bool
	Tags             []string // as written, cut, at most 16
	IdleTimeout      uint64   // µs; 0 not set
	BudgetTokens     uint64
	BudgetCostMicros uint64
	HasBudget        bool
	HasBudgetTokens  bool
	HasBudgetCost    bool
	HasParent        bool
	HasRoot          bool
	Parent, Root     wire.ID
	NativeID         string
}

// End is a terminal statement.
type End struct {
	At      Stamp
	Status  wire.Status
	Reason  string
	Code    uint8
	HasCode bool
	Forced  bool
}

// Counters are sums over the records of one session in one source. They
// saturate at 2^64-1 and set FlagOverflow.
type Counters struct {
	ModelCalls, ToolCalls                     uint64
	TokensIn, TokensOut                       uint64
	CacheRead, CacheWrite, Reasoning          uint64
	CostNano, Unpriced, Errors, Issues, Turns uint64
}

// Flag is a set of marks on a partial.
type Flag uint16

// The marks.
const (
	FlagOverflow Flag = 1 << iota
	FlagLabelTruncated
	FlagTimesApproximate // a record of this session had its time raised
	FlagLane             // lifecycle or state records of the session lie in this (lane) source
)

// GapReason says why offsets are missing (spec session-index.md, section 9).
type GapReason uint8

// The gap reasons.
const (
	GapExpiredBeforeFold GapReason = 1 + iota
	GapPruned
	GapTruncated
	GapRebuilding
	GapSourceLost
)

var gapNames = [...]string{"", "expired_before_fold", "pruned", "truncated", "rebuilding", "source_lost"}

func (g GapReason) String() string {
	if int(g) < len(gapNames) {
		return gapNames[g]
	}
	return "unrecognized"
}

// Gap is an inclusive range of missing offsets of one source.
type Gap struct {
	From, To uint64
	Reason   GapReason
}

// Frontier is how far a source is folded, and what it knows of itself. It is
// durable state: it rides in every step of the source.
type Frontier struct {
	Next uint64 // next offset to fold
	Time uint64 // highest broker time so far, µs: later records are raised to it
	Seq  uint64 // change rows written so far; the next row has Seq+1

	Gaps []Gap // expired_before_fold and source_lost, ascending, adjacent ones joined

	Records          uint64 // folded, of every kind
	Undecodable      uint64
	Invalid          uint64
	Unattributed     uint64
	UnattributedLast uint64 // offset of the last one, when Unattributed > 0
}
