package fold

import "sessionfold/wire"

// Limits of one partial (spec session-index.md, sections 3, 6 and 8).
const (
	MaxAgents          = 32
	MaxSet             = 1_000 // held work, links, acknowledgments: each
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
//
// State documents, links, control requests and held work are groups of their
// own (spec session-index.md, sections 3, 7 and 8): each is one pointer or list
// that is nil for the sessions without it, and is folded apart from the rest,
// behind wire.Record's Rare.
//
// A partial may have no records: another session's record linked a resource to
// the session. Aside.Mention then says where; First and Last are zero.
type Partial struct {
	First, Last Stamp
	Records     uint64 // every record of the session, undecodable ones too
	// Silent is how much of the time from First to Last was silence beyond the
	// idle timeout, µs: each gap between two records counts with what it is longer.
	Silent uint64

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

	State *StateInfo // of the state document; nil when no state record was seen

	ParentLast Stamp // the last record that names Parent
	Links      *Links
	Aside      *Aside
	Native     *Native // of a session of another dialect than AGDX
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

// Flag is a set of marks on a partial.
type Flag uint16

// The marks.
const (
	FlagOverflow Flag = 1 << iota
	FlagLabelTruncated
	FlagTimesApproximate // a record of this session had its time raised
	FlagLane             // lifecycle or state records of the session lie in this (lane) source
	FlagTokensEstimated  // some tokens are not what a provider counted
	FlagSeqConflict      // one native sequence number came with different bytes
)
