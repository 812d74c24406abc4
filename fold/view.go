package fold

import (
	"math/bits"

	"sessionfold/wire"
)

// DefaultIdleTimeout is how long a session may be silent before it shows idle,
// when neither its start nor its stream sets anything: 300 s in µs.
const DefaultIdleTimeout = 300 * 1_000_000

// ViewInput is what a view needs to know beside the partials: the clock and the
// state of the world at the moment of the read.
type ViewInput struct {
	Now      uint64 // µs
	Idle     uint64 // µs; the stream's timeout for sessions whose start sets none; 0: DefaultIdleTimeout
	Liveness Liveness
	Sources  map[wire.SourceKey]SourceState // a source that is absent has none of it known
}

// Liveness is what heartbeats say of the session. Known is false until the
// heartbeat tail has reached the head that it saw at its start.
type Liveness struct {
	Known         bool
	LastHeartbeat uint64 // µs, 0 when none was seen
}

// SourceState is what is known of a source beside its records.
type SourceState struct {
	Head         *uint64 // next offset the broker will give, when the read probed it
	RetainedFrom *uint64 // first offset the source still holds
	Gaps         []Gap   // of its Frontier
	Rebuilding   bool    // timeline rows from RebuildFrom on are being folded again
	RebuildFrom  uint64
	RefoldTo     uint64 // the source was begun anew; offsets below this one are not all folded yet; 0 when they are
}

// View gives the read type of a session at a moment (spec session-index.md,
// section 5). What is not known is left out. Subtree totals and children need more
// than partials hold here; whoever has it fills them in.
func View(s *Session, in ViewInput) wire.SessionInfo {
	v := wire.SessionInfo{
		Stream: s.Sources[0].Source.Stream, ID: s.ID, Dialect: s.dialect().String(),
		Status: s.Status.String(), Activity: s.Activity().String(),
		OverBudget: s.OverBudget(), Events: s.Records, Agents: s.Agents,
		Parent: s.Parent, Root: s.Root, Tags: s.Tags(), Agent: s.Owner(),
		Flags: wire.SessionFlags{
			LabelTruncated:   s.Flags&FlagLabelTruncated != 0,
			Overflow:         s.Flags&FlagOverflow != 0,
			TimesApproximate: s.Flags&FlagTimesApproximate != 0,
			TokensEstimated:  s.Flags&FlagTokensEstimated != 0,
			SeqConflict:      s.Flags&FlagSeqConflict != 0,
			EventsTruncated:  s.Truncated,
			LaneConflict:     s.LaneConflict,
			LivenessUnknown:  !in.Liveness.Known,
		},
	}
	if s.Records > 0 {
		v.FirstEventAt, v.LastEventAt, v.Duration = ptr(s.First.Time), ptr(s.Last.Time), ptr(s.duration())
	}
	if t := in.Liveness.LastHeartbeat; t > 0 {
		v.LastHeartbeatAt = &t
	}
	if t, ok := s.activeTime(); ok {
		v.ActiveTime = &t
	}
	v.Idle = s.idle(in)
	s.viewStart(&v)
	s.viewEnd(&v)
	s.viewCounters(&v)
	s.viewControl(&v)
	if s.foreign() {
		s.viewNative(&v)
	}
	s.viewSources(&v, in.Sources)
	return v
}

func ptr(n uint64) *uint64 { return &n }

func (s *Session) dialect() wire.Dialect {
	if len(s.Sources) == 0 {
		return wire.DialectAGDX
	}
	return s.Sources[0].Source.Dialect
}

func (s *Session) viewStart(v *wire.SessionInfo) {
	if label, ok := s.Label(); ok {
		v.Label = &label
	}
	st := s.Start
	if st == nil {
		return
	}
	v.StartedAt, v.NativeID = ptr(s.StartAt.Time), st.NativeID
	if st.HasNamespace {
		v.Namespace = &st.Namespace
	}
	if st.HasSDK {
		v.SDK = &wire.SDKInfo{Language: st.SDKLanguage, Version: st.SDKVersion}
	}
	if st.HasBudget {
		v.Budget = &wire.Budget{}
		if st.HasBudgetTokens {
			v.Budget.Tokens = &st.BudgetTokens
		}
		if st.HasBudgetCost {
			v.Budget.CostMicros = &st.BudgetCostMicros
		}
	}
}

func (s *Session) viewEnd(v *wire.SessionInfo) {
	if s.End == nil {
		return
	}
	v.EndedAt = ptr(s.EndAt.Time)
	v.Outcome, v.Reason = s.End.Status.String(), s.End.Reason
	if s.End.HasCode {
		v.ErrorCode = &s.End.Code
	}
}

func (s *Session) viewCounters(v *wire.SessionInfo) {
	c := &s.Counters
	v.ModelCalls, v.ToolCalls, v.Errors = c.ModelCalls, c.ToolCalls, c.Errors
	v.TokensIn, v.TokensOut, v.CostMicros = c.TokensIn, c.TokensOut, c.CostNano/1_000
	v.TokensCacheRead, v.TokensCacheWrite, v.TokensReasoning = c.CacheRead, c.CacheWrite, c.Reasoning
	v.UnpricedCalls, v.Issues, v.Turns = c.Unpriced, c.Issues, c.Turns
}

func (s *Session) viewSources(v *wire.SessionInfo, states map[wire.SourceKey]SourceState) {
	for _, st := range states { // also of sources that do not know of the session yet
		v.Flags.Rebuilding = v.Flags.Rebuilding || st.RefoldTo > 0
	}
	v.Frontier = make([]wire.SourceFrontier, len(s.Sources))
	for i := range s.Sources {
		k := &s.Sources[i]
		st := states[k.Source.Key()]
		f := wire.NewSourceFrontier(k.Source)
		if k.Next > 0 {
			f.Folded = ptr(k.Next - 1)
		}
		f.Head, f.RetainedFrom = st.Head, st.RetainedFrom
		v.Frontier[i] = f
		v.Flags.Rebuilding = v.Flags.Rebuilding || st.Rebuilding
	}
}

// idle: an active session that was silent for longer than its timeout.
func (s *Session) idle(in ViewInput) bool {
	if s.Status != wire.StatusActive || !in.Liveness.Known {
		return false
	}
	timeout := uint64(DefaultIdleTimeout)
	if in.Idle > 0 {
		timeout = in.Idle
	}
	if s.Start != nil && s.Start.IdleTimeout > 0 {
		timeout = s.Start.IdleTimeout
	}
	seen := max(s.Last.Time, s.mention.Time, in.Liveness.LastHeartbeat)
	return in.Now > seen && in.Now-seen > timeout
}

// OverBudget says that a ceiling of the start is passed, not only reached:
// tokens in and out together, or the cost, compared in nano-units.
func (s *Session) OverBudget() bool {
	if s.foreign() { // the dialect says so itself
		b, _ := s.said(wire.SayBudget)
		return b != nil && b.Num != 0
	}
	if s.Start == nil || !s.Start.HasBudget {
		return false
	}
	tokens, carry := bits.Add64(s.Counters.TokensIn, s.Counters.TokensOut, 0)
	if s.Start.HasBudgetTokens && (carry != 0 || tokens > s.Start.BudgetTokens) {
		return true
	}
	hi, ceiling := bits.Mul64(s.Start.BudgetCostMicros, 1_000)
	return s.Start.HasBudgetCost && hi == 0 && s.Counters.CostNano > ceiling
}

// AfterEnd says that a record at the address came after the session's end. It
// never holds in Everruns, whose sessions are reopened by any turn.
func (s *Session) AfterEnd(at wire.Address) bool {
	return s.End != nil && s.dialect() != wire.DialectEverruns && at.Compare(s.EndAt) > 0
}

// duration is the time from the start, else the first event, to the end, else
// the last event, in µs and never below 0.
func (s *Session) duration() uint64 {
	from, to := s.First.Time, s.Last.Time
	if s.Start != nil {
		from = s.StartAt.Time
	}
	if s.End != nil {
		to = s.EndAt.Time
	}
	if to < from {
		return 0
	}
	return to - from
}

// Activity is what the session does, in the words that all dialects share.
func (s *Session) Activity() wire.Activity {
	if s.foreign() {
		return s.active
	}
	return activity(s.Status)
}

func activity(s wire.Status) wire.Activity {
	switch s {
	case wire.StatusActive:
		return wire.ActivityRunning
	case wire.StatusPaused:
		return wire.ActivityPaused
	case wire.StatusCompleted:
		return wire.ActivityCompleted
	case wire.StatusFailed, wire.StatusCanceled:
		return wire.ActivityFailed
	}
	return wire.ActivityIdle
}
