package wire

// ChangeRow is one row of the changes topic (spec session-index.md, section
// 10). Key of the Kafka record is the stream's name, value its JSON.
type ChangeRow struct {
	V         int              `json:"v"` // 1
	Stream    string           `json:"stream"`
	Source    ChangeSource     `json:"source"`
	Seq       uint64           `json:"seq"`  // 1, 2, 3 … per source, no holes
	From      uint64           `json:"from"` // offsets folded, inclusive
	To        uint64           `json:"to"`
	Sessions  []ID             `json:"sessions"`            // that changed, ascending, at most 500
	Positions []ChangePosition `json:"positions,omitempty"` // last position of each session, same order
	Truncated bool             `json:"truncated"`
}

// ChangeSource names the source of a change row.
type ChangeSource struct {
	Topic      string `json:"topic"`
	Generation uint64 `json:"generation"`
	Partition  uint32 `json:"partition"`
}

// ChangePosition is the last position of a session in a step.
type ChangePosition struct {
	Topic      string `json:"topic"`
	Generation uint64 `json:"generation"`
	Partition  uint32 `json:"partition"`
	Offset     uint64 `json:"offset"`
}

// MaxChangeSessions is the most sessions one change row names; a step that
// changed more is split into several rows.
const MaxChangeSessions = 500
