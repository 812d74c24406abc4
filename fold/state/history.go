package state

import (
	"crypto/sha256"
	"strings"

	"sessionfold/wire"
)

// HistoryLen is how many outcomes are kept.
const HistoryLen = 1000

// Outcome is what the fold did with one state record. Numbers are stored: only
// append.
type Outcome uint8

// The outcomes.
const (
	Applied Outcome = 1 + iota
	Rejected
	Stale
	Duplicate
	outcomeEnd
)

var outcomeNames = [outcomeEnd]string{"", "applied", "rejected", "stale", "duplicate"}

func (o Outcome) String() string {
	if o < outcomeEnd {
		return outcomeNames[o]
	}
	return "unrecognized"
}

// Known says that this program has the outcome.
func (o Outcome) Known() bool { return o >= Applied && o < outcomeEnd }

// Entry is one line of the history.
type Entry struct {
	Number   uint64 // of the outcome within its source and session, from 0
	Revision uint64 // behind the record
	OpID     string // see OpText; empty for snapshots and for records without one
	Outcome  Outcome
	Time     uint64 // raised broker time, µs
	Offset   uint64
	Old, New [32]byte // digests of the document before and after
	Why      wire.StateFault
	At       int // operation that Why is about; -1: none
}

// OpText is the operation's id as it is shown.
func (e *Entry) OpText() string {
	text, _, _ := strings.Cut(e.OpID, "\x00")
	return text
}

// maxOpID is the longest id that is kept whole (spec settled.md, "Text").
const maxOpID = 256

// opIdentity is what two ids are told apart by: the clean text, and where that
// is not the id as written, a digest of it behind a NUL, which no clean text has.
func opIdentity(raw []byte) string {
	text, _ := wire.Clean(raw, maxOpID)
	if text == string(raw) {
		return text
	}
	sum := sha256.Sum256(raw)
	return text + "\x00" + string(sum[:16])
}

// opRef is one outcome as far as duplicates ask for it: the id of an applied
// operation, or nothing.
type opRef struct {
	hash uint64
	id   string
}

// refOf: of every id only its hash is looked at until one agrees.
func refOf(id string) opRef {
	h := uint64(14695981039346656037) // FNV-1a
	for i := 0; i < len(id); i++ {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return opRef{h, id}
}

// recentOf keeps of an entry what duplicates ask for.
func recentOf(e *Entry) opRef {
	if e.Outcome != Applied || e.OpID == "" {
		return opRef{}
	}
	return refOf(e.OpID)
}

func among(recent []opRef, id string) bool {
	want := refOf(id)
	for i := range recent {
		if recent[i].hash == want.hash && recent[i].id == id {
			return true
		}
	}
	return false
}
