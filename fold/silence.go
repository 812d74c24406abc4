package fold

// silence notes a gap between two records of the session.
func (p *Partial) silence(cfg *Config, gap uint64) {
	idle := cfg.idleTimeout()
	if p.Start != nil && p.Start.IdleTimeout > 0 {
		idle = p.Start.IdleTimeout
	}
	if gap > idle {
		p.Silent += gap - idle // never more than Last is behind First
	}
}

// activeTime is the time that the session was at work, µs (spec
// session-index.md, section 5): from the first to the last record of its lane
// source, or of the only one it has, where a gap longer than the idle timeout
// counts as the idle timeout. Unknown where several sources could tell.
func (s *Session) activeTime() (uint64, bool) {
	var of *Partial
	lanes := 0
	for i := range s.Sources {
		if p := s.Sources[i].Partial; p.Flags&FlagLane != 0 {
			of = p
			lanes++
		}
	}
	if lanes == 0 && len(s.Sources) == 1 {
		of, lanes = s.Sources[0].Partial, 1
	}
	if lanes != 1 || of.Records == 0 {
		return 0, false
	}
	return of.Last.Time - of.First.Time - of.Silent, true
}
