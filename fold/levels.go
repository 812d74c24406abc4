package fold

import "sessionfold/wire"

// Sums are token counts and cost of one level.
type Sums struct{ In, Out, CacheRead, CacheWrite, Reasoning, CostNano uint64 }

// Levels holds usage that may yet turn out not to count: of several levels that
// tell of the same tokens only one does (spec deepstrike.md, section 3;
// everruns.md, section 2). What counts for good is in Counters.
type Levels struct {
	// DeepStrike, of the run at hand. One attempt with usage makes attempts the
	// only level of the run.
	Attempts    Sums
	HasAttempts bool
	Calls       Sums
	Estimated   bool   // part of Calls is
	Total       uint64 // greatest that an end of the run told

	// Everruns: what the session told of itself as a whole.
	Whole     Sums
	WholeSeq  uint64
	HasWhole  bool
	Generated bool // a generation was seen: Whole does not count
}

// counts gives what counts as it stands.
func (l *Levels) counts(over *bool) (s Sums, estimated bool) {
	switch {
	case l.HasAttempts:
		s = l.Attempts
	case l.HasWhole && !l.Generated:
		s = l.Whole
	default:
		s, estimated = l.Calls, l.Estimated
	}
	known := s.In
	sat(&known, s.Out, over)
	if l.Total > known {
		sat(&s.In, l.Total-known, over)
		estimated = true
	}
	return s, estimated
}

// use adds a usage.
func (s *Sums) use(u *wire.Usage, over *bool) {
	var c Counters
	c.addSums(s, over)
	c.use(u, over)
	*s = Sums{c.TokensIn, c.TokensOut, c.CacheRead, c.CacheWrite, c.Reasoning, c.CostNano}
}

func (c *Counters) addSums(s *Sums, over *bool) {
	sat(&c.TokensIn, s.In, over)
	sat(&c.TokensOut, s.Out, over)
	sat(&c.CacheRead, s.CacheRead, over)
	sat(&c.CacheWrite, s.CacheWrite, over)
	sat(&c.Reasoning, s.Reasoning, over)
	sat(&c.CostNano, s.CostNano, over)
}

// levels folds a record's counts and the usage of the levels that may not count
// in the end. A run that begins closes the one before, whose sums then stand.
func (t *touched) levels(rec *wire.Record) (over bool) {
	w, n, c := rec.Rare.Native, t.new.Native, &t.new.Counters
	sat(&c.ToolCalls, uint64(w.ToolCalls), &over)
	sat(&c.Errors, uint64(w.Errors), &over)
	sat(&c.Turns, uint64(w.Turns), &over)
	if w.Run == wire.RunStarts {
		n.Runs++
		s, estimated := n.Levels.counts(&over)
		c.addSums(&s, &over)
		if estimated {
			t.new.Flags |= FlagTokensEstimated
		}
		n.Levels = Levels{}
	}
	if w.Run == wire.RunEnds {
		n.Levels.Total = max(n.Levels.Total, w.Total)
	}
	if w.Level == wire.LevelAttempt || w.HasAttempt {
		if t.attempted(w) {
			return over // told before, with its issue
		}
	}
	sat(&c.Issues, uint64(w.Issues), &over)
	n.Levels.take(rec, &over)
	return over
}

// take adds the record's usage to its level. Of a generation the usage counts
// for good, like that of any record (wire.FactUsage).
func (l *Levels) take(rec *wire.Record, over *bool) {
	w, u := rec.Rare.Native, rec.Usage
	switch {
	case w.Level == wire.LevelGeneration:
		l.Generated = true
	case u == nil:
	case w.Level == wire.LevelAttempt:
		l.HasAttempts = true
		l.Attempts.use(u, over)
	case w.Level == wire.LevelCall:
		l.Calls.use(u, over)
		l.Estimated = l.Estimated || w.Estimated
	case w.Level == wire.LevelCumulative:
		if l.HasWhole && w.HasSeq && w.Seq < l.WholeSeq {
			return
		}
		if w.HasSeq {
			l.WholeSeq = w.Seq
		}
		l.Whole, l.HasWhole = Sums{}, true
		l.Whole.use(u, over)
	}
}

// attempted says that an attempt was told before. One that finds no place in the
// set counts all the same (spec settled.md, "Sets").
func (t *touched) attempted(w *wire.Native) bool {
	if !w.HasAttempt {
		return false
	}
	n := t.new.Native
	if _, known := n.Attempts.find(func(a *uint64) bool { return *a == w.Attempt }); known {
		return true
	}
	if n.Attempts.N >= MaxSet {
		t.new.Flags |= FlagOverflow
		return false
	}
	n.Attempts.add(w.Attempt, t.owns&ownsAttempts != 0)
	t.owns |= ownsAttempts
	return false
}
