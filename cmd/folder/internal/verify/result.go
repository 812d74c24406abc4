package verify

import "sessionfold/wire"

// Result is what a verification found.
type Result struct {
	Stream  string       `json:"stream"`
	Sources []SourceSeen `json:"sources"`

	Whole   int    `json:"whole"`    // sessions compared in every respect
	Partly  int    `json:"partly"`   // sessions of which the log does not hold everything: compared where it does
	Older   int    `json:"older"`    // sessions of which the log holds nothing any more
	Skipped int    `json:"skipped"`  // sessions that lie in sources which were not compared
	Rows    uint64 `json:"rows"`     // timeline rows compared
	Missing uint64 `json:"rebuilds"` // rows left out because the index is bringing them back

	Differ int          `json:"differ"` // sessions that differ
	First  []Difference `json:"differences,omitempty"`
	Faults []string     `json:"faults,omitempty"` // of sources
}

// Equal says that nothing differs.
func (r *Result) Equal() bool { return r.Differ == 0 && len(r.Faults) == 0 }

// SourceSeen is one source of the index.
type SourceSeen struct {
	Topic      string `json:"topic"`
	Partition  uint32 `json:"partition"`
	Generation uint64 `json:"generation"`
	Next       uint64 `json:"next"`                 // both sides were folded to here
	LogStart   uint64 `json:"log_start"`            // the fresh fold began here
	Records    uint64 `json:"records"`              // folded afresh
	Untimed    uint64 `json:"untimed"`              // records below this offset may have been raised to a time that the log no longer tells
	Gaps       int    `json:"gaps"`                 // of the index
	Signatures string `json:"signatures,omitempty"` // how far they were compared, when not all were
	Refolding  bool   `json:"rebuilding,omitempty"`
	Note       string `json:"note,omitempty"` // why it was not compared
}

// Difference is one session that differs.
type Difference struct {
	Session wire.ID  `json:"session"`
	What    []string `json:"what"` // "index ≠ log"
}
