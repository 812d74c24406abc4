package wire

// auditOf keeps what the audit snapshot needs of the event (spec deepstrike.md,
// section 4): both versions of the snapshot are filled from it.
func (d *deepDecoder) auditOf() {
	e := &d.e
	a := AuditEvent{Turn: e.turn}
	switch string(e.kind) {
	case "suspended":
		a.Kind, a.Reason, a.Calls = AuditSuspended, e.reason, e.pending
	case "resumed":
		a.Kind = AuditResumed
	case "agent_process_changed":
		a.Kind, a.Agent, a.Parent, a.State = AuditProcess, e.agent, e.parent, e.state
	case "agent_spawned": // the older form: it has no state
		a.Kind, a.Agent, a.Parent, a.State = AuditProcess, e.agent, e.parent, e.state
		if a.State == nil {
			a.State = []byte("spawned")
		}
	case "budget_exceeded":
		a.Kind, a.Operation, a.Reservation, a.Budget = AuditBudgetExceeded, e.operation, e.reservation, e.budget
	case "budget_usage_reported":
		a.Kind, a.Operation, a.Reservation = AuditBudgetUsage, e.operation, e.reservation
		a.Tokens, a.Subagents, a.Rounds = e.tokens, e.subagents, e.rounds
	case "operation_cancelled":
		a.Kind, a.Operation, a.Reason, a.Calls = AuditCancellation, e.operation, e.reason, e.pending
		if plainWord(e.reason) {
			d.text(SumReason, e.reason)
		}
	case "signal_delivery_disposed", "signal_disposed":
		a.Kind, a.Signal, a.Disposition, a.Queue = AuditSignal, e.signal, e.disposed, e.queue
		a.Operation, a.HasOperation = e.operation, e.operation != nil
		a.Delivery, a.HasDelivery = e.delivery, e.delivery != nil
		a.Attempt, a.HasTry = e.attempt, e.hasTry
		d.textOf(SumStatus, e.disposed)
	case "page_out":
		a.Kind = AuditPageOut
	case "page_in":
		a.Kind = AuditPageIn
	case "tool_gated":
		a.Kind = AuditToolGated
	case "memory_written":
		a.Kind = AuditMemoryWritten
	case "memory_queried":
		a.Kind = AuditMemoryQueried
	case "memory_validation_failed":
		a.Kind = AuditMemoryInvalid
	case "memory_retrieval_result":
		a.Kind = AuditMemoryRetrieved
	default:
		return
	}
	d.audit(a)
}
