package wire

// OsSnapshot is the audit snapshot of a DeepStrike session in the shape of seed
// 002. Each list has a total beside it when it was capped.
type OsSnapshot struct {
	LastSuspend         *SuspendRecord               `json:"last_suspend"`
	LastResumedTurn     *uint64                      `json:"last_resumed_turn"`
	ProcessByAgent      List[ProcessRecord]          `json:"process_by_agent"`
	BudgetExceeded      List[BudgetExceededRecord]   `json:"budget_exceeded"`
	BudgetUsageReported List[BudgetUsageRecord]      `json:"budget_usage_reported"`
	Cancellations       List[CancellationRecord]     `json:"cancellations"`
	Signals             List[SignalDeliveryDisposed] `json:"signals"`
	AuditCounts

	ProcessByAgentTotal      uint64 `json:"process_by_agent_total,omitempty"`
	BudgetExceededTotal      uint64 `json:"budget_exceeded_total,omitempty"`
	BudgetUsageReportedTotal uint64 `json:"budget_usage_reported_total,omitempty"`
	CancellationsTotal       uint64 `json:"cancellations_total,omitempty"`
	SignalsTotal             uint64 `json:"signals_total,omitempty"`
}

// OsSnapshotV1 is the same in the shape of seed 001.
type OsSnapshotV1 struct {
	LastSuspend     *SuspendRecord             `json:"last_suspend"`
	LastResumedTurn *uint64                    `json:"last_resumed_turn"`
	ProcessByAgent  List[ProcessRecord]        `json:"process_by_agent"`
	BudgetExceeded  List[BudgetExceededV1]     `json:"budget_exceeded"`
	Signals         List[SignalDisposedRecord] `json:"signals"`
	AuditCounts

	ProcessByAgentTotal uint64 `json:"process_by_agent_total,omitempty"`
	BudgetExceededTotal uint64 `json:"budget_exceeded_total,omitempty"`
	SignalsTotal        uint64 `json:"signals_total,omitempty"`
}

// AuditCounts are the counters of both shapes.
type AuditCounts struct {
	PageOut         uint64 `json:"page_out_count"`
	PageIn          uint64 `json:"page_in_count"`
	ToolGated       uint64 `json:"tool_gated_count"`
	MemoryWritten   uint64 `json:"memory_written_count"`
	MemoryQueried   uint64 `json:"memory_queried_count"`
	MemoryInvalid   uint64 `json:"memory_validation_failed_count"`
	MemoryRetrieved uint64 `json:"memory_retrieval_result_count"`
}

// SuspendRecord is the last suspension.
type SuspendRecord struct {
	Turn         uint64       `json:"turn"`
	Reason       string       `json:"reason"`
	PendingCalls List[string] `json:"pending_calls"`
}

// ProcessRecord is the newest state of an agent's process.
type ProcessRecord struct {
	Turn            uint64 `json:"turn"`
	AgentID         string `json:"agent_id"`
	ParentSessionID string `json:"parent_session_id"`
	State           string `json:"state"`
}

// BudgetExceededRecord is a budget that was used up.
type BudgetExceededRecord struct {
	Turn          uint64  `json:"turn"`
	OperationID   string  `json:"operation_id"`
	ReservationID *string `json:"reservation_id"`
	Budget        string  `json:"budget"`
}

// BudgetExceededV1 is the same in seed 001.
type BudgetExceededV1 struct {
	Turn   uint64 `json:"turn"`
	Budget string `json:"budget"`
}

// BudgetUsageRecord is what an operation used of its reservation.
type BudgetUsageRecord struct {
	Turn          uint64 `json:"turn"`
	OperationID   string `json:"operation_id"`
	ReservationID string `json:"reservation_id"`
	Tokens        uint64 `json:"tokens"`
	Subagents     uint64 `json:"subagents"`
	Rounds        uint64 `json:"rounds"`
}

// CancellationRecord is a cancelled operation.
type CancellationRecord struct {
	Turn           uint64       `json:"turn"`
	OperationID    string       `json:"operation_id"`
	Reason         string       `json:"reason"`
	PendingCallIDs List[string] `json:"pending_call_ids"`
}

// SignalDeliveryDisposed is what became of a signal. Records of the older form
// lack the fields that may be absent.
type SignalDeliveryDisposed struct {
	Turn        uint64  `json:"turn"`
	OperationID *string `json:"operation_id,omitempty"`
	DeliveryID  *string `json:"delivery_id,omitempty"`
	Attempt     *uint64 `json:"attempt,omitempty"`
	SignalID    string  `json:"signal_id"`
	Disposition string  `json:"disposition"`
	QueueDepth  uint64  `json:"queue_depth"`
}

// SignalDisposedRecord is the same in seed 001.
type SignalDisposedRecord struct {
	Turn        uint64 `json:"turn"`
	SignalID    string `json:"signal_id"`
	Disposition string `json:"disposition"`
	QueueDepth  uint64 `json:"queue_depth"`
}
