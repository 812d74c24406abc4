package fold

import (
	"sessionfold/fold/state"
	"sessionfold/wire"
)

// Config is what the fold of a stream needs to know beside records.
type Config struct {
	TimelineCap uint64 // rows kept per session and source; 0 is DefaultTimelineCap
	IdleTimeout uint64 // µs, for sessions whose start sets none; 0 is DefaultIdleTimeout
	Previews    bool   // keep previews that are content by nature
	Summaries   bool   // change rows carry this source's view of each session they name
}

func (c *Config) timelineCap() uint64 {
	if c.TimelineCap == 0 {
		return DefaultTimelineCap
	}
	return c.TimelineCap
}

func (c *Config) idleTimeout() uint64 {
	if c.IdleTimeout == 0 {
		return DefaultIdleTimeout
	}
	return c.IdleTimeout
}

// Step is everything that becomes durable together for one source: what folding
// one batch changed. Invariants: From is the offset behind the last step, To is
// the one before Frontier.Next, so the steps of a source tile its offsets,
// holes and gaps among them; Sessions ascend by ID, each once; rows ascend by
// offset and lie in [From, To]; every record but a heartbeat is in one session
// or unattributed; Changes carry Before.Seq+1 … Frontier.Seq without a hole and
// name every session of the step once, in order. valid checks them.
type Step struct {
	Source   *wire.Source
	From, To uint64   // offsets covered, inclusive, To == From-1 for a step that only makes a loss known; see Gaps of Frontier for what is missing in between
	Before   Frontier // as given to Apply: offsets passed over by Expire are in Skipped and Gaps
	Frontier Frontier
	Sessions []SessionStep
	Changes  []wire.ChangeRow // one or more, more than 500 sessions split; none when no offset is covered
}

// SessionStep is one session's part of a step.
type SessionStep struct {
	ID   wire.ID
	Old  *Partial // nil: never seen before
	New  *Partial
	Last uint64 // offset of the session's last record in the step
	Rows []Row

	State *state.Step // of the state document; nil when the step had no state record of the session
}

// Row is one timeline row: a record and its raised broker time. Rec is only
// valid until the decoder's next Decode, so rows are encoded before that.
type Row struct {
	Time uint64
	Rec  *wire.Record
}
