package wire

// SessionInfo is the summary of one session as reads give it (seed 004, with
// the additive fields of spec settled.md). Times are broker times in µs. A
// field that is not known is left out, never written as 0. The additive fields
// are in JSON only: CBOR is what the seed's types encode.
type SessionInfo struct {
	Stream          string           `json:"stream" cbor:"stream"`
	ID              ID               `json:"id" cbor:"id"`
	Label           *string          `json:"label,omitempty" cbor:"label,omitempty"`
	Namespace       *string          `json:"namespace,omitempty" cbor:"namespace,omitempty"`
	Agent           string           `json:"agent,omitempty" cbor:"agent,omitempty"`
	Parent          *ID              `json:"parent,omitempty" cbor:"parent,omitempty"`
	Root            *ID              `json:"root,omitempty" cbor:"root,omitempty"`
	Status          string           `json:"status" cbor:"status"`
	Idle            bool             `json:"idle" cbor:"idle"`
	OverBudget      bool             `json:"over_budget" cbor:"over_budget"`
	PauseRequested  bool             `json:"pause_requested" cbor:"pause_requested"`
	CancelRequested bool             `json:"cancel_requested" cbor:"cancel_requested"`
	StartedAt       *uint64          `json:"started_at,omitempty" cbor:"started_at,omitempty"`
	EndedAt         *uint64          `json:"ended_at,omitempty" cbor:"ended_at,omitempty"`
	FirstEventAt    *uint64          `json:"first_event_at,omitempty" cbor:"first_event_at,omitempty"`
	LastEventAt     *uint64          `json:"last_event_at,omitempty" cbor:"last_event_at,omitempty"`
	LastHeartbeatAt *uint64          `json:"last_heartbeat_at,omitempty" cbor:"last_heartbeat_at,omitempty"`
	Events          uint64           `json:"events" cbor:"events"`
	ModelCalls      uint64           `json:"model_calls" cbor:"model_calls"`
	ToolCalls       uint64           `json:"tool_calls" cbor:"tool_calls"`
	TokensIn        uint64           `json:"tokens_in" cbor:"tokens_in"`
	TokensOut       uint64           `json:"tokens_out" cbor:"tokens_out"`
	CostMicros      uint64           `json:"cost_micros" cbor:"cost_micros"`
	Errors          uint64           `json:"errors" cbor:"errors"`
	Budget          *Budget          `json:"budget,omitempty" cbor:"budget,omitempty"`
	SDK             *SDKInfo         `json:"sdk,omitempty" cbor:"sdk,omitempty"`
	Flags           SessionFlags     `json:"flags" cbor:"flags"`
	Held            uint64           `json:"held,omitempty" cbor:"held,omitempty"`
	Frontier        []SourceFrontier `json:"frontier,omitempty" cbor:"frontier,omitempty"`

	// Additive.
	NativeID         string       `json:"native_id,omitempty" cbor:"-"`
	Dialect          string       `json:"dialect,omitempty" cbor:"-"`
	NativeStatus     string       `json:"native_status,omitempty" cbor:"-"`
	Activity         string       `json:"activity,omitempty" cbor:"-"` // running, paused, failed, completed, idle
	Outcome          string       `json:"outcome,omitempty" cbor:"-"`  // of the last end: completed, failed, canceled, paused, sealed
	Reason           string       `json:"reason,omitempty" cbor:"-"`
	ErrorCode        *uint8       `json:"error_code,omitempty" cbor:"-"`
	Model            string       `json:"model,omitempty" cbor:"-"`
	Source           string       `json:"source,omitempty" cbor:"-"` // how the session came about (Everruns)
	Agents           []string     `json:"agents,omitempty" cbor:"-"` // ascending
	Tags             []string     `json:"tags,omitempty" cbor:"-"`
	Turns            uint64       `json:"turns,omitempty" cbor:"-"`
	Runs             uint64       `json:"runs,omitempty" cbor:"-"`
	Issues           uint64       `json:"issues,omitempty" cbor:"-"`
	TokensCacheRead  uint64       `json:"tokens_cache_read,omitempty" cbor:"-"`
	TokensCacheWrite uint64       `json:"tokens_cache_write,omitempty" cbor:"-"`
	TokensReasoning  uint64       `json:"tokens_reasoning,omitempty" cbor:"-"`
	UnpricedCalls    uint64       `json:"unpriced_calls,omitempty" cbor:"-"` // above 0: cost_micros is a lower bound
	Redelivered      uint64       `json:"redelivered,omitempty" cbor:"-"`
	Waiting          *Waiting     `json:"waiting,omitempty" cbor:"-"`
	WakeAt           *uint64      `json:"wake_at,omitempty" cbor:"-"`
	Pause            *Pause       `json:"pause,omitempty" cbor:"-"`
	Duration         *uint64      `json:"duration,omitempty" cbor:"-"`    // µs
	ActiveTime       *uint64      `json:"active_time,omitempty" cbor:"-"` // µs
	ForkedFrom       *ForkedFrom  `json:"forked_from,omitempty" cbor:"-"`
	Children         uint64       `json:"children,omitempty" cbor:"-"`
	Subtree          *SubtreeSums `json:"subtree,omitempty" cbor:"-"`
	Preview          string       `json:"preview,omitempty" cbor:"-"`
	OutputPreview    string       `json:"output_preview,omitempty" cbor:"-"`
	Goal             string       `json:"goal,omitempty" cbor:"-"`
}

// SessionFlags are conditions that make a summary partial; false ones are left
// out.
type SessionFlags struct {
	LabelTruncated  bool `json:"label_truncated,omitempty" cbor:"label_truncated,omitempty"`
	Overflow        bool `json:"overflow,omitempty" cbor:"overflow,omitempty"`
	EventsTruncated bool `json:"events_truncated,omitempty" cbor:"events_truncated,omitempty"`
	LaneConflict    bool `json:"lane_conflict,omitempty" cbor:"lane_conflict,omitempty"`
	Rebuilding      bool `json:"rebuilding,omitempty" cbor:"rebuilding,omitempty"`
	LivenessUnknown bool `json:"liveness_unknown,omitempty" cbor:"liveness_unknown,omitempty"`

	// Additive.
	TimesApproximate bool `json:"times_approximate,omitempty" cbor:"-"`
	TokensEstimated  bool `json:"tokens_estimated,omitempty" cbor:"-"`
	SeqConflict      bool `json:"seq_conflict,omitempty" cbor:"-"`
}

// Budget is the ceiling a session asked for.
type Budget struct {
	Tokens     *uint64 `json:"tokens,omitempty" cbor:"tokens,omitempty"`
	CostMicros *uint64 `json:"cost_micros,omitempty" cbor:"cost_micros,omitempty"`
}

// SDKInfo names the SDK that started a session.
type SDKInfo struct {
	Language string `json:"language" cbor:"language"`
	Version  string `json:"version" cbor:"version"`
}

// Waiting says what a session waits for, and since when (µs).
type Waiting struct {
	Reason string `json:"reason"`
	Since  uint64 `json:"since"`
}

// Pause is the newest pause request while it is newer than the newest resume
// (spec settled.md, "AGDX fold").
type Pause struct {
	At           uint64   `json:"at"`
	Position     Locator  `json:"position"`
	PositionText string   `json:"position_text,omitempty"`
	Participants []string `json:"participants"`
	Acknowledged []string `json:"acknowledged"`
}

// ForkedFrom names the session and sequence a session was forked from.
type ForkedFrom struct {
	ID       string `json:"id"`
	Sequence uint64 `json:"sequence"`
}

// SubtreeSums are totals over a session and everything below it, each session
// once.
type SubtreeSums struct {
	Sessions   uint64 `json:"sessions"`
	Events     uint64 `json:"events"`
	ModelCalls uint64 `json:"model_calls"`
	ToolCalls  uint64 `json:"tool_calls"`
	TokensIn   uint64 `json:"tokens_in"`
	TokensOut  uint64 `json:"tokens_out"`
	CostMicros uint64 `json:"cost_micros"`
	Errors     uint64 `json:"errors"`
	Truncated  bool   `json:"truncated,omitempty"` // the tree is larger than one read looks at: the sums are lower bounds
}

// SessionPage is one page of the session list, newest start first.
type SessionPage struct {
	Items     List[SessionInfo] `json:"items" cbor:"items"`
	Cursor    string            `json:"cursor,omitempty" cbor:"cursor,omitempty"`
	Total     *uint64           `json:"total,omitempty" cbor:"total,omitempty"`
	Searched  *uint64           `json:"searched,omitempty" cbor:"searched,omitempty"` // candidates looked at
	Truncated bool              `json:"truncated" cbor:"truncated"`                   // the search budget ended the page
}
