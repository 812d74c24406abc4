package fold

import "sessionfold/wire"

// View gives the snapshot in the shape of seed 002. Nil is the snapshot of a
// session without kernel decisions. The lists must have been read.
func (a *Audit) View() *wire.OsSnapshot {
	if a == nil {
		a = &Audit{}
	}
	v := &wire.OsSnapshot{LastSuspend: a.viewSuspend(), LastResumedTurn: a.viewResumed(), AuditCounts: a.viewCounts()}
	a.Processes.Each(func(p *Process) { v.ProcessByAgent = append(v.ProcessByAgent, p.view()) })
	a.Exceeded.Each(func(x *Exceeded) {
		r := wire.BudgetExceededRecord{Turn: x.Turn, OperationID: x.Operation, Budget: x.Budget}
		if x.Reserved {
			r.ReservationID = &x.Reservation
		}
		v.BudgetExceeded = append(v.BudgetExceeded, r)
	})
	a.Used.Each(func(u *BudgetUse) {
		v.BudgetUsageReported = append(v.BudgetUsageReported, wire.BudgetUsageRecord{
			Turn: u.Turn, OperationID: u.Operation, ReservationID: u.Reservation, Tokens: u.Tokens, Subagents: u.Subagents, Rounds: u.Rounds,
		})
	})
	a.Cancelled.Each(func(c *Cancelled) {
		v.Cancellations = append(v.Cancellations, wire.CancellationRecord{Turn: c.Turn, OperationID: c.Operation, Reason: c.Reason, PendingCallIDs: c.Calls})
	})
	a.Signals.Each(func(s *Signal) {
		r := wire.SignalDeliveryDisposed{Turn: s.Turn, SignalID: s.Signal, Disposition: s.Disposition, QueueDepth: s.Queue}
		if s.HasOperation {
			r.OperationID = &s.Operation
		}
		if s.HasDelivery {
			r.DeliveryID = &s.Delivery
		}
		if s.Try {
			r.Attempt = &s.Attempt
		}
		v.Signals = append(v.Signals, r)
	})
	v.ProcessByAgentTotal, v.BudgetExceededTotal = capped(a.Processes.N), capped(a.Exceeded.N)
	v.BudgetUsageReportedTotal, v.CancellationsTotal, v.SignalsTotal = capped(a.Used.N), capped(a.Cancelled.N), capped(a.Signals.N)
	return v
}

// ViewV1 gives the snapshot in the shape of seed 001.
func (a *Audit) ViewV1() *wire.OsSnapshotV1 {
	if a == nil {
		a = &Audit{}
	}
	v := &wire.OsSnapshotV1{LastSuspend: a.viewSuspend(), LastResumedTurn: a.viewResumed(), AuditCounts: a.viewCounts()}
	a.Processes.Each(func(p *Process) { v.ProcessByAgent = append(v.ProcessByAgent, p.view()) })
	a.Exceeded.Each(func(x *Exceeded) {
		v.BudgetExceeded = append(v.BudgetExceeded, wire.BudgetExceededV1{Turn: x.Turn, Budget: x.Budget})
	})
	a.Signals.Each(func(s *Signal) {
		v.Signals = append(v.Signals, wire.SignalDisposedRecord{Turn: s.Turn, SignalID: s.Signal, Disposition: s.Disposition, QueueDepth: s.Queue})
	})
	v.ProcessByAgentTotal, v.BudgetExceededTotal, v.SignalsTotal = capped(a.Processes.N), capped(a.Exceeded.N), capped(a.Signals.N)
	return v
}

// capped is the count of a list that is not shown whole; 0 for one that is.
func capped(n uint64) uint64 {
	if n > RingKeeps {
		return n
	}
	return 0
}

func (p *Process) view() wire.ProcessRecord {
	return wire.ProcessRecord{Turn: p.Turn, AgentID: p.Agent, ParentSessionID: p.Parent, State: p.State}
}

func (a *Audit) viewSuspend() *wire.SuspendRecord {
	if a.Suspend == nil {
		return nil
	}
	return &wire.SuspendRecord{Turn: a.Suspend.Turn, Reason: a.Suspend.Reason, PendingCalls: a.Suspend.Calls}
}

func (a *Audit) viewResumed() *uint64 {
	if !a.HasResumed {
		return nil
	}
	return ptr(a.Resumed)
}

func (a *Audit) viewCounts() wire.AuditCounts {
	return wire.AuditCounts{
		PageOut: a.PageOut, PageIn: a.PageIn, ToolGated: a.Gated,
		MemoryWritten: a.Written, MemoryQueried: a.Queried, MemoryInvalid: a.Invalid, MemoryRetrieved: a.Recalled,
	}
}
