package fold

// GapReason says why offsets are missing (spec session-index.md, section 9).
type GapReason uint8

// The gap reasons.
const (
	GapExpiredBeforeFold GapReason = 1 + iota
	GapPruned
	GapTruncated
	GapRebuilding
	GapSourceLost
)

var gapNames = [...]string{"", "expired_before_fold", "pruned", "truncated", "rebuilding", "source_lost"}

func (g GapReason) String() string {
	if int(g) < len(gapNames) {
		return gapNames[g]
	}
	return "unrecognized"
}

// Gap is an inclusive range of missing offsets of one source.
type Gap struct {
	From, To uint64
	Reason   GapReason
}

// Frontier is how far a source is folded, and what it knows of itself. It is
// durable state: it rides in every step of the source.
type Frontier struct {
	Next uint64 // next offset to fold
	Time uint64 // highest broker time so far, µs: later records are raised to it
	Seq  uint64 // change rows written so far; the next row has Seq+1

	Gaps []Gap // expired_before_fold and source_lost, ascending, adjacent ones joined

	Records          uint64 // folded, of every kind but heartbeats: those of sessions and Unattributed
	Undecodable      uint64
	Invalid          uint64
	Unattributed     uint64
	UnattributedLast uint64 // offset of the last one, when Unattributed > 0
	LinksRefused     uint64 // records that link to a session of another stream

	Signatures Signatures

	// Skipped is how many offsets before Next were passed over by Expire since
	// the last step. It is never stored: the next step covers them and its
	// Frontier has 0 here.
	Skipped uint64
	// Lost says that Lose recorded a gap since the last step. Never stored either.
	Lost bool
}

// Expire moves the frontier to logStart, the first offset that the source still
// has, and records the offsets passed over as a gap. A frontier that is already
// there or beyond is returned as it is. Holes that transaction markers, aborted
// records or compaction leave are no gaps and need no call.
//
// The receiver's Gaps are not changed: earlier steps may hold them.
func (f Frontier) Expire(logStart uint64, reason GapReason) Frontier {
	if logStart <= f.Next {
		return f
	}
	f.Gaps = appendGap(f.Gaps, Gap{From: f.Next, To: logStart - 1, Reason: reason})
	f.Skipped += logStart - f.Next
	f.Next = logStart
	return f
}

// appendGap copies gaps with g behind them, joined to the last one when it
// continues it for the same reason.
func appendGap(gaps []Gap, g Gap) []Gap {
	out := make([]Gap, len(gaps), len(gaps)+1)
	copy(out, gaps)
	if n := len(out); n > 0 && out[n-1].Reason == g.Reason && out[n-1].To+1 == g.From {
		out[n-1].To = g.To
		return out
	}
	return append(out, g)
}
