package fold

import "sessionfold/wire"

// Audit is the state of a DeepStrike kernel as its decisions tell it (spec
// deepstrike.md, section 4). One is never changed once a step holds it. Lists
// keep their newest entries; their N counts all.
type Audit struct {
	Suspend    *Suspend // the last
	HasResumed bool
	Resumed    uint64 // turn

	Processes Ring[Process] // in the order in which they were first seen
	Exceeded  Ring[Exceeded]
	Used      Ring[BudgetUse]
	Cancelled Ring[Cancelled]
	Signals   Ring[Signal]

	PageOut, PageIn, Gated              uint64
	Written, Queried, Invalid, Recalled uint64
}

// Suspend is a suspension.
type Suspend struct {
	Turn   uint64
	Reason string
	Calls  []string
}

// Process is the newest state of an agent's process.
type Process struct {
	Turn                 uint64
	Agent, Parent, State string
}

// Exceeded is a budget that was used up.
type Exceeded struct {
	Turn                           uint64
	Operation, Reservation, Budget string
	Reserved                       bool // Reservation is there
}

// BudgetUse is what an operation used of its reservation.
type BudgetUse struct {
	Turn                      uint64
	Operation, Reservation    string
	Tokens, Subagents, Rounds uint64
}

// Cancelled is an operation that was cancelled.
type Cancelled struct {
	Turn              uint64
	Operation, Reason string
	Calls             []string
}

// Signal is what became of a signal. Full says that the fields which the older
// form of the record lacks are there.
type Signal struct {
	Turn                           uint64
	Operation, Delivery            string
	Attempt                        uint64
	Signal, Disposition            string
	Queue                          uint64
	HasOperation, HasDelivery, Try bool
}

// after gives the state after a decision.
func (a *Audit) after(w *wire.AuditEvent) *Audit {
	n := &Audit{}
	if a != nil {
		*n = *a
	}
	one := func(b []byte) string {
		s, _ := wire.Clean(b, maxText)
		return s
	}
	switch w.Kind {
	case wire.AuditSuspended:
		n.Suspend = &Suspend{Turn: w.Turn, Reason: one(w.Reason), Calls: cleanAll(w.Calls)}
	case wire.AuditResumed:
		n.HasResumed, n.Resumed = true, w.Turn
	case wire.AuditProcess:
		n.process(Process{Turn: w.Turn, Agent: one(w.Agent), Parent: one(w.Parent), State: one(w.State)})
	case wire.AuditBudgetExceeded:
		n.Exceeded.add(Exceeded{
			Turn: w.Turn, Operation: one(w.Operation), Budget: one(w.Budget),
			Reservation: one(w.Reservation), Reserved: w.Reservation != nil,
		}, false)
	case wire.AuditBudgetUsage:
		n.Used.add(BudgetUse{
			Turn: w.Turn, Operation: one(w.Operation), Reservation: one(w.Reservation),
			Tokens: w.Tokens, Subagents: w.Subagents, Rounds: w.Rounds,
		}, false)
	case wire.AuditCancellation:
		n.Cancelled.add(Cancelled{Turn: w.Turn, Operation: one(w.Operation), Reason: one(w.Reason), Calls: cleanAll(w.Calls)}, false)
	case wire.AuditSignal:
		n.Signals.add(Signal{
			Turn: w.Turn, Operation: one(w.Operation), Delivery: one(w.Delivery), Attempt: w.Attempt,
			Signal: one(w.Signal), Disposition: one(w.Disposition), Queue: w.Queue,
			HasOperation: w.HasOperation, HasDelivery: w.HasDelivery, Try: w.HasTry,
		}, false)
	default:
		if c := n.counter(w.Kind); c != nil {
			*c++ // never more than the source has offsets
		}
	}
	return n
}

func (a *Audit) counter(k wire.AuditKind) *uint64 {
	switch k {
	case wire.AuditPageOut:
		return &a.PageOut
	case wire.AuditPageIn:
		return &a.PageIn
	case wire.AuditToolGated:
		return &a.Gated
	case wire.AuditMemoryWritten:
		return &a.Written
	case wire.AuditMemoryQueried:
		return &a.Queried
	case wire.AuditMemoryInvalid:
		return &a.Invalid
	case wire.AuditMemoryRetrieved:
		return &a.Recalled
	}
	return nil
}

// process: the newest state of an agent takes the place of the one before.
func (a *Audit) process(p Process) {
	if i, known := a.Processes.find(func(o *Process) bool { return o.Agent == p.Agent }); known {
		a.Processes.set(i, p)
		return
	}
	a.Processes.add(p, false)
}

func cleanAll(raw [][]byte) []string {
	if len(raw) == 0 {
		return nil
	}
	out := make([]string, len(raw))
	for i := range raw {
		out[i], _ = wire.Clean(raw[i], maxText)
	}
	return out
}
