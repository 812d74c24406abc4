package row

import (
	"encoding/binary"

	"sessionfold/fold"
)

// The parts of an audit snapshot.
const (
	auditSuspend = 1 << iota
	auditResumed
	auditKnown = 1<<iota - 1
)

// auditList gives the numbers of a snapshot in their stored order, the lengths of
// its lists last. Only append.
func auditList(a *fold.Audit) [12]*uint64 {
	return [...]*uint64{
		&a.PageOut, &a.PageIn, &a.Gated, &a.Written, &a.Queried, &a.Invalid, &a.Recalled,
		&a.Processes.N, &a.Exceeded.N, &a.Used.N, &a.Cancelled.N, &a.Signals.N,
	}
}

func appendAudit(b []byte, a *fold.Audit) []byte {
	b = append(b, bit(a.Suspend != nil)*auditSuspend|bit(a.HasResumed)*auditResumed)
	if s := a.Suspend; s != nil {
		b = binary.AppendUvarint(b, s.Turn)
		b = appendTexts(appendText(b, s.Reason), s.Calls)
	}
	if a.HasResumed {
		b = binary.AppendUvarint(b, a.Resumed)
	}
	list := auditList(a)
	return appendNonzero(b, list[:])
}

func (r *reader) audit() *fold.Audit {
	a := &fold.Audit{}
	parts := r.mask(auditKnown)
	if parts&auditSuspend != 0 {
		a.Suspend = &fold.Suspend{Turn: r.uint(), Reason: r.text(), Calls: r.texts()}
	}
	if a.HasResumed = parts&auditResumed != 0; a.HasResumed {
		a.Resumed = r.uint()
	}
	list := auditList(a)
	r.nonzero(list[:])
	return a
}

func appendProcess(b []byte, p *fold.Process) []byte {
	b = binary.AppendUvarint(b, p.Turn)
	return appendText(appendText(appendText(b, p.Agent), p.Parent), p.State)
}

func readProcess(r *reader, p *fold.Process) {
	p.Turn, p.Agent, p.Parent, p.State = r.uint(), r.text(), r.text(), r.text()
}

func appendExceeded(b []byte, x *fold.Exceeded) []byte {
	b = binary.AppendUvarint(b, x.Turn)
	b = appendText(appendText(b, x.Operation), x.Budget)
	if b = append(b, bit(x.Reserved)); x.Reserved {
		b = appendText(b, x.Reservation)
	}
	return b
}

func readExceeded(r *reader, x *fold.Exceeded) {
	x.Turn, x.Operation, x.Budget = r.uint(), r.text(), r.text()
	if x.Reserved = r.mask(1) != 0; x.Reserved {
		x.Reservation = r.text()
	}
}

func appendUse(b []byte, u *fold.BudgetUse) []byte {
	b = binary.AppendUvarint(b, u.Turn)
	b = appendText(appendText(b, u.Operation), u.Reservation)
	return binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, u.Tokens), u.Subagents), u.Rounds)
}

func readUse(r *reader, u *fold.BudgetUse) {
	u.Turn, u.Operation, u.Reservation = r.uint(), r.text(), r.text()
	u.Tokens, u.Subagents, u.Rounds = r.uint(), r.uint(), r.uint()
}

func appendCancelled(b []byte, c *fold.Cancelled) []byte {
	b = binary.AppendUvarint(b, c.Turn)
	return appendTexts(appendText(appendText(b, c.Operation), c.Reason), c.Calls)
}

func readCancelled(r *reader, c *fold.Cancelled) {
	c.Turn, c.Operation, c.Reason, c.Calls = r.uint(), r.text(), r.text(), r.texts()
}

func appendSignal(b []byte, s *fold.Signal) []byte {
	b = append(b, bit(s.HasOperation)|bit(s.HasDelivery)<<1|bit(s.Try)<<2)
	b = binary.AppendUvarint(b, s.Turn)
	b = appendText(appendText(b, s.Signal), s.Disposition)
	b = binary.AppendUvarint(b, s.Queue)
	if s.HasOperation {
		b = appendText(b, s.Operation)
	}
	if s.HasDelivery {
		b = appendText(b, s.Delivery)
	}
	if s.Try {
		b = binary.AppendUvarint(b, s.Attempt)
	}
	return b
}

func readSignal(r *reader, s *fold.Signal) {
	parts := r.mask(7)
	s.HasOperation, s.HasDelivery, s.Try = parts&1 != 0, parts&2 != 0, parts&4 != 0
	s.Turn, s.Signal, s.Disposition, s.Queue = r.uint(), r.text(), r.text(), r.uint()
	if s.HasOperation {
		s.Operation = r.text()
	}
	if s.HasDelivery {
		s.Delivery = r.text()
	}
	if s.Try {
		s.Attempt = r.uint()
	}
}

func appendKid(b []byte, k *fold.Kid) []byte {
	b = append(appendText(appendText(b, k.Item), k.State), bit(k.Final))
	return binary.AppendUvarint(b, k.Attempt)
}

func readKid(r *reader, k *fold.Kid) {
	k.Item, k.State, k.Final, k.Attempt = r.text(), r.text(), r.mask(1) != 0, r.uint()
}

func appendMark(b []byte, n *uint64) []byte { return binary.BigEndian.AppendUint64(b, *n) }

func readMark(r *reader, n *uint64) {
	if b := r.take(8); b != nil {
		*n = binary.BigEndian.Uint64(b)
	}
}
