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
	issues, told := uint64(w.Issues), false
	if w.HasAttempt {
		if issues, told = t.attempt(w, issues, rec.Usage != nil); told {
			return over
		}
	}
	sat(&c.Issues, issues, &over)
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

// attempt notes an attempt. Its usage counts once, and so does its failure, also
// when the record that tells the usage comes behind one that does not: told says
// that nothing of this record counts. What finds no place in the set counts all
// the same (spec settled.md, "Sets").
func (t *touched) attempt(w *wire.Native, issues uint64, usage bool) (_ uint64, told bool) {
	const silent = 1 // beside the mark: an attempt without usage
	if t.attempted(w.Attempt) {
		return 0, true
	}
	before := t.attempted(w.Attempt ^ silent)
	switch {
	case usage && before:
		issues = 0
	case !usage && before:
		return 0, true
	}
	mark := w.Attempt
	if !usage {
		mark ^= silent
	}
	if n := t.new.Native; n.Attempts.N < MaxSet {
		n.Attempts.add(mark, t.owns&ownsAttempts != 0)
		t.owns |= ownsAttempts
	} else {
		t.new.Flags |= FlagOverflow
	}
	return issues, false
}

func (t *touched) attempted(mark uint64) bool {
	_, known := t.new.Native.Attempts.find(func(a *uint64) bool { return *a == mark })
	return known
}
