package row

import (
	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/wire"
)

func genTexts(t *rapid.T, most int) (out []string) {
	for range rapid.IntRange(0, most).Draw(t, "how many") {
		out = append(out, genText.Draw(t, "text"))
	}
	return out
}

func genSums(t *rapid.T) (s fold.Sums) {
	for _, n := range sumList(&s) {
		*n = genNumber.Draw(t, "sum")
	}
	return s
}

// genNative draws a native group with its chunks.
func genNative(t *rapid.T) *fold.Native {
	n := &fold.Native{ID: genText.Draw(t, "native id"), Redelivered: genNumber.Draw(t, "again"), Runs: genNumber.Draw(t, "runs")}
	if n.HasSeq = rapid.Bool().Draw(t, "numbered"); n.HasSeq {
		n.Min, n.Max = genNumber.Draw(t, "least"), genNumber.Draw(t, "greatest")
		for range rapid.IntRange(0, 3).Draw(t, "gaps") {
			n.Missing = append(n.Missing, wire.NativeGap{From: genNumber.Draw(t, "from"), To: genNumber.Draw(t, "to")})
		}
	}
	for k := wire.SayCourse; k <= wire.SayOutcome; k++ {
		if rapid.Bool().Draw(t, "said") {
			n.Said = append(n.Said, fold.Said{
				Key: k, Num: rapid.Byte().Draw(t, "num"), Sequenced: rapid.Bool().Draw(t, "sequenced"), Seq: genNumber.Draw(t, "seq"),
				Aux: genNumber.Draw(t, "aux"), At: genStamp.Draw(t, "at"), Text: genText.Draw(t, "text"), List: genTexts(t, 3),
			})
		}
	}
	l := &n.Levels
	if l.HasAttempts = rapid.Bool().Draw(t, "attempts"); l.HasAttempts {
		l.Attempts = genSums(t)
	}
	l.Calls, l.Estimated, l.Total, l.Generated = genSums(t), rapid.Bool().Draw(t, "estimated"), genNumber.Draw(t, "total"), rapid.Bool().Draw(t, "generated")
	if l.HasWhole = rapid.Bool().Draw(t, "whole"); l.HasWhole {
		l.Whole, l.WholeSeq = genSums(t), genNumber.Draw(t, "whole seq")
	}
	genRing(t, &n.Seen, rapid.Uint64())
	genRing(t, &n.Attempts, rapid.Uint64())
	genRing(t, &n.Kids, rapid.Custom(func(t *rapid.T) fold.Kid {
		return fold.Kid{Item: genText.Draw(t, "item"), State: genText.Draw(t, "state"), Attempt: genNumber.Draw(t, "attempt"), Final: rapid.Bool().Draw(t, "final")}
	}))
	if rapid.Bool().Draw(t, "audit") {
		n.Audit = genAudit(t)
	}
	return n
}

func genAudit(t *rapid.T) *fold.Audit {
	a := &fold.Audit{}
	if rapid.Bool().Draw(t, "suspended") {
		a.Suspend = &fold.Suspend{Turn: genNumber.Draw(t, "turn"), Reason: genText.Draw(t, "reason"), Calls: genTexts(t, 3)}
	}
	if a.HasResumed = rapid.Bool().Draw(t, "resumed"); a.HasResumed {
		a.Resumed = genNumber.Draw(t, "turn")
	}
	numbers := auditList(a)
	for _, n := range numbers[:7] {
		*n = genNumber.Draw(t, "count")
	}
	genRing(t, &a.Processes, rapid.Custom(func(t *rapid.T) fold.Process {
		return fold.Process{Turn: genNumber.Draw(t, "turn"), Agent: genText.Draw(t, "agent"), Parent: genText.Draw(t, "parent"), State: genText.Draw(t, "state")}
	}))
	genRing(t, &a.Exceeded, rapid.Custom(func(t *rapid.T) fold.Exceeded {
		x := fold.Exceeded{Turn: genNumber.Draw(t, "turn"), Operation: genText.Draw(t, "operation"), Budget: genText.Draw(t, "budget")}
		if x.Reserved = rapid.Bool().Draw(t, "reserved"); x.Reserved {
			x.Reservation = genText.Draw(t, "reservation")
		}
		return x
	}))
	genRing(t, &a.Used, rapid.Custom(func(t *rapid.T) fold.BudgetUse {
		return fold.BudgetUse{
			Turn: genNumber.Draw(t, "turn"), Operation: genText.Draw(t, "operation"), Reservation: genText.Draw(t, "reservation"),
			Tokens: genNumber.Draw(t, "tokens"), Subagents: genNumber.Draw(t, "subagents"), Rounds: genNumber.Draw(t, "rounds"),
		}
	}))
	genRing(t, &a.Cancelled, rapid.Custom(func(t *rapid.T) fold.Cancelled {
		return fold.Cancelled{Turn: genNumber.Draw(t, "turn"), Operation: genText.Draw(t, "operation"), Reason: genText.Draw(t, "reason"), Calls: genTexts(t, 2)}
	}))
	genRing(t, &a.Signals, rapid.Custom(func(t *rapid.T) fold.Signal {
		s := fold.Signal{Turn: genNumber.Draw(t, "turn"), Signal: genText.Draw(t, "signal"), Disposition: genText.Draw(t, "disposition"), Queue: genNumber.Draw(t, "queue")}
		if s.HasOperation = rapid.Bool().Draw(t, "new form"); s.HasOperation {
			s.Operation, s.Delivery, s.HasDelivery = genText.Draw(t, "operation"), genText.Draw(t, "delivery"), true
			s.Attempt, s.Try = genNumber.Draw(t, "attempt"), true
		}
		return s
	}))
	return a
}

// genRing draws a list of a length at which chunks begin, end or are used again,
// with the entries that its slots hold.
func genRing[T any](t *rapid.T, r *fold.Ring[T], g *rapid.Generator[T]) {
	r.N = rapid.SampledFrom([]uint64{0, 1, 31, 32, 33, fold.RingSlots * fold.RingChunk, fold.RingSlots*fold.RingChunk + 1}).Draw(t, "entries")
	few := rapid.SliceOfN(g, 1, 3).Draw(t, "entry")
	for slot := range fold.RingSlots {
		from, to := r.Span(slot)
		if from == to {
			break
		}
		c := &fold.Chunk[T]{}
		for i := from; i < to; i++ {
			c.Items = append(c.Items, few[i%uint64(len(few))])
		}
		r.Slots = append(r.Slots, c)
	}
}
