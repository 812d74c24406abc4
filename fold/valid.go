package fold

import (
	"fmt"

	"sessionfold/wire"
)

// valid holds a step against its invariants. Every Apply ends with it, without
// the rows: reading each record again would cost as much as folding it. Tests
// ask for the rows too.
func (s *Step) valid(rows bool) error {
	if err := s.validFrontier(); err != nil {
		return s.broken(err)
	}
	var folded uint64
	for i := range s.Sessions {
		ss := &s.Sessions[i]
		if i > 0 && s.Sessions[i-1].ID.Compare(ss.ID) >= 0 {
			return s.broken(fmt.Errorf("session %s does not follow %s", ss.ID, s.Sessions[i-1].ID))
		}
		n, err := s.validSession(ss)
		if err == nil && rows {
			err = s.validRows(ss)
		}
		if err != nil {
			return s.broken(fmt.Errorf("session %s: %w", ss.ID, err))
		}
		folded += n
	}
	unattributed := s.Frontier.Unattributed - s.Before.Unattributed
	if records := s.Frontier.Records - s.Before.Records; folded+unattributed != records {
		return s.broken(fmt.Errorf("%d records, but %d in sessions and %d unattributed", records, folded, unattributed))
	}
	if err := s.validChanges(); err != nil {
		return s.broken(err)
	}
	return nil
}

func (s *Step) broken(err error) error {
	return fmt.Errorf("fold: step %s offsets %d to %d: %w", s.Source, s.From, s.To, err)
}

func (s *Step) validFrontier() error {
	b, f := &s.Before, &s.Frontier
	switch {
	case s.From != b.Next-b.Skipped || b.Skipped > b.Next:
		return fmt.Errorf("from is not the next offset %d less %d skipped", b.Next, b.Skipped)
	case f.Next != s.To+1 || f.Next < b.Next || f.Next < s.From || f.Next == s.From && !b.Lost:
		return fmt.Errorf("next offset went from %d to %d", b.Next, f.Next)
	case f.Time < b.Time:
		return fmt.Errorf("time fell from %d to %d", b.Time, f.Time)
	case f.Skipped != 0 || f.Lost:
		return fmt.Errorf("%d skipped offsets were left, lost %t", f.Skipped, f.Lost)
	case f.Records < b.Records || f.Undecodable < b.Undecodable || f.Invalid < b.Invalid || f.Unattributed < b.Unattributed || f.LinksRefused < b.LinksRefused:
		return fmt.Errorf("a number fell: %+v to %+v", *b, *f)
	case f.Records < f.Unattributed || f.Records < f.Undecodable+f.Invalid:
		return fmt.Errorf("%d records, %d undecodable, %d invalid, %d unattributed", f.Records, f.Undecodable, f.Invalid, f.Unattributed)
	}
	if !s.validSignatures() {
		return fmt.Errorf("signatures went from %+v to %+v", b.Signatures, f.Signatures)
	}
	for i, g := range f.Gaps {
		if g.From > g.To || g.To >= f.Next || i > 0 && g.From <= f.Gaps[i-1].To {
			return fmt.Errorf("gap %d to %d is out of place", g.From, g.To)
		}
	}
	return nil
}

// validSession gives how many records the step folded into the session.
func (s *Step) validSession(ss *SessionStep) (uint64, error) {
	old := ss.Old
	if old == nil {
		old = &Partial{}
	}
	p := ss.New
	switch {
	case p == nil || p == old:
		return 0, fmt.Errorf("no partial of its own")
	case p.Records < old.Records, p.Records > 0 && p.Records-1 > p.Last.Offset-p.First.Offset, p.Records == old.Records && p.Links == old.Links:
		return 0, fmt.Errorf("records went from %d to %d, offsets %d to %d", old.Records, p.Records, p.First.Offset, p.Last.Offset)
	case old.Records > 0 && p.Records > old.Records && (p.First != old.First || p.Last.Offset <= old.Last.Offset || p.Last.Time < old.Last.Time),
		p.Records == old.Records && (p.First != old.First || p.Last != old.Last):
		return 0, fmt.Errorf("from %v … %v to %v … %v", old.First, old.Last, p.First, p.Last)
	case p.Silent < old.Silent || p.Silent > p.Last.Time-p.First.Time:
		return 0, fmt.Errorf("silence went from %d to %d of %d µs", old.Silent, p.Silent, p.Last.Time-p.First.Time)
	case old.Start != nil && p.Start != old.Start, old.End != nil && p.End != old.End:
		return 0, fmt.Errorf("a start or an end was replaced")
	case p.Rows != old.Rows+uint64(len(ss.Rows)) || p.Rows > p.Records:
		return 0, fmt.Errorf("%d rows and %d more are not %d of %d records", old.Rows, len(ss.Rows), p.Rows, p.Records)
	case len(p.Agents) > MaxAgents:
		return 0, fmt.Errorf("%d agents", len(p.Agents))
	}
	for _, err := range [...]error{s.validLast(ss, old), validGroups(p, old), validState(ss, old), validNative(p, old)} {
		if err != nil {
			return 0, err
		}
	}
	return p.Records - old.Records, nil
}

func (s *Step) validRows(ss *SessionStep) error {
	next, time := s.Before.Next, s.Before.Time
	for _, r := range ss.Rows {
		if r.Rec.Offset < next || r.Rec.Offset > ss.Last || r.Time < time || r.Time > s.Frontier.Time {
			return fmt.Errorf("row at offset %d and time %d, expected from %d and %d on", r.Rec.Offset, r.Time, next, time)
		}
		next, time = r.Rec.Offset+1, r.Time
	}
	return nil
}

func (s *Step) validChanges() error {
	if n := uint64(len(s.Changes)); (n == 0) != (s.Frontier.Next == s.From) || s.Frontier.Seq != s.Before.Seq+n {
		return fmt.Errorf("%d change rows, seq from %d to %d", n, s.Before.Seq, s.Frontier.Seq)
	}
	left := s.Sessions
	for i := range s.Changes {
		c := &s.Changes[i]
		n := len(c.Sessions)
		if c.Seq != s.Before.Seq+1+uint64(i) || c.From != s.From || c.To != s.To ||
			n > wire.MaxChangeSessions || n > len(left) || n != len(c.Positions) || n == 0 && len(s.Sessions) > 0 ||
			len(c.Summaries) != 0 && len(c.Summaries) != n {
			return fmt.Errorf("change row %d of %d: seq %d, %d to %d, %d sessions, %d left", i, len(s.Changes), c.Seq, c.From, c.To, n, len(left))
		}
		for j, id := range c.Sessions {
			if id != left[j].ID || c.Positions[j].Offset != left[j].Last {
				return fmt.Errorf("change row %d names %s at %d, not %s at %d", i, id, c.Positions[j].Offset, left[j].ID, left[j].Last)
			}
		}
		left = left[n:]
	}
	if len(left) != 0 {
		return fmt.Errorf("%d sessions are in no change row", len(left))
	}
	return nil
}
