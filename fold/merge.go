package fold

import (
	"cmp"
	"slices"

	"sessionfold/wire"
)

// Keyed is one source's knowledge of a session: the partial with the source it
// came from and how far that source was folded.
type Keyed struct {
	Source  *wire.Source
	Partial *Partial
	Next    uint64 // of the source's Frontier
}

func (k *Keyed) address(at Stamp) wire.Address { return k.Source.Address(at.Time, at.Offset) }

// Session is the merge of a session's partials over its sources (spec
// session-index.md, section 4). It shares memory with them and is not changed.
type Session struct {
	ID      wire.ID
	Sources []Keyed // each source once, ascending by topic, partition, generation

	Start   *Start       // of the smallest address; nil: an implicit session
	StartAt wire.Address // set with Start
	Parent  *wire.ID
	Root    *wire.ID
	Status  wire.Status  // never StatusNone
	End     *End         // the terminal of the smallest address, nil when there is none
	EndAt   wire.Address // set with End

	First, Last wire.Address
	Records     uint64
	Counters    Counters
	Agents      []string // ascending
	Flags       Flag     // FlagLabelTruncated is the winning start's, FlagLane that of any source

	LaneConflict bool // lifecycle or state records in more than one lane source
	Truncated    bool // a source reached its cap

	State *Keyed // the source whose state document shows; nil: none has one

	Pause     *Pause // the pause request that holds, nil when none does
	Canceling bool   // a cancel was asked for
	Held      uint64 // work that waits

	NativeID          string // of a foreign dialect, like the numbers behind it
	Runs, Redelivered uint64
	active            wire.Activity

	startKey wire.SourceKey
	firstKey wire.SourceKey

	mention    wire.Address // the first link to a session without records
	mentionKey wire.SourceKey
	mentioned  bool
}

// Merge gives the session of the partials; their order does not matter, and of
// two copies of one source only the one that knows more counts. Merging a
// session's Sources with further ones is the same as merging all at once. No
// partial that has seen a record of the session, or a link to it, means no
// session: nil.
func Merge(id wire.ID, ks []Keyed) *Session {
	sources := distinct(ks)
	if len(sources) == 0 {
		return nil
	}
	s := &Session{ID: id, Sources: sources}
	var parent, root named
	var status newest
	var ask asked
	lanes, rare := 0, false
	for i := range sources {
		k := &sources[i]
		p := k.Partial
		s.mergeTimes(k)
		s.mergeStart(k)
		s.mergeEnd(k)
		s.mergeState(k)
		parent.take(k, &p.Parent)
		root.take(k, &p.Root)
		status.take(k)
		if over := s.Counters.sum(&p.Counters); over {
			s.Flags |= FlagOverflow
		}
		s.Flags |= p.Flags &^ FlagLabelTruncated
		s.Truncated = s.Truncated || p.Truncated
		if p.Flags&FlagLane != 0 {
			lanes++
		}
		if p.Aside != nil {
			ask.take(k)
			rare = true
		}
	}
	s.LaneConflict = lanes > 1
	s.Agents = unionAgents(sources)
	if rare {
		s.mergeHeld()
		s.mergeControl(&ask)
	}
	s.Parent, s.Root = parent.id, root.id
	if s.Start != nil {
		s.Parent, s.Root = nil, nil
		if s.Start.HasParent {
			s.Parent = &s.Start.Parent
		}
		if s.Start.HasRoot {
			s.Root = &s.Start.Root
		}
	}
	switch {
	case s.End != nil:
		s.Status = s.End.Status
	case status.set:
		s.Status = status.status
	default:
		s.Status = wire.StatusActive
	}
	if s.foreign() {
		s.mergeNative(&parent, &root)
	}
	return s
}

func (s *Session) mergeTimes(k *Keyed) {
	if k.Partial.Records == 0 {
		s.mergeMention(k)
		return
	}
	first, last := k.address(k.Partial.First), k.address(k.Partial.Last)
	if s.Records == 0 || first.Compare(s.First) < 0 {
		s.First, s.firstKey = first, k.Source.Key()
	}
	if s.Records == 0 || last.Compare(s.Last) > 0 {
		s.Last = last
	}
	var over bool
	sat(&s.Records, k.Partial.Records, &over)
	if over {
		s.Flags |= FlagOverflow
	}
}

func (s *Session) mergeStart(k *Keyed) {
	p := k.Partial
	if p.Start == nil {
		return
	}
	if at := k.address(p.Start.At); s.Start == nil || at.Compare(s.StartAt) < 0 {
		s.Start, s.StartAt, s.startKey = p.Start, at, k.Source.Key()
		s.Flags = s.Flags&^FlagLabelTruncated | p.Flags&FlagLabelTruncated
	}
}

// mergeEnd compares terminals by address, never by arrival: a forced cancel of
// the control topic may win over a lane's terminal, or lose to one that a slower
// source delivers later.
func (s *Session) mergeEnd(k *Keyed) {
	p := k.Partial
	if p.End == nil {
		return
	}
	if at := k.address(p.End.At); s.End == nil || at.Compare(s.EndAt) < 0 {
		s.End, s.EndAt = p.End, at
	}
}

// named is the id that the smallest address names.
type named struct {
	id *wire.ID
	at wire.Address
}

func (n *named) take(k *Keyed, p *Named) {
	if !p.Set {
		return
	}
	if at := k.address(p.At); n.id == nil || at.Compare(n.at) < 0 {
		n.id, n.at = &p.ID, at
	}
}

// newest is the non-terminal status of the greatest address.
type newest struct {
	status wire.Status
	at     wire.Address
	set    bool
}

func (n *newest) take(k *Keyed) {
	p := k.Partial
	if p.Status == wire.StatusNone {
		return
	}
	if at := k.address(p.StatusAt); !n.set || at.Compare(n.at) > 0 {
		n.status, n.at, n.set = p.Status, at, true
	}
}

// distinct sorts the sources and keeps one copy of each. Of two copies the one
// with the higher frontier counts, then the one with the smaller first offset
// (spec settled.md, "Address, time, text, numbers").
func distinct(ks []Keyed) []Keyed {
	out := make([]Keyed, 0, len(ks))
	for _, k := range ks {
		if k.Partial != nil && (k.Partial.Records > 0 || k.Partial.groups().Mention != nil) {
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out, func(a, b Keyed) int {
		return cmp.Or(
			bySource(a, b),
			cmp.Compare(b.Next, a.Next),
			cmp.Compare(a.Partial.First.Offset, b.Partial.First.Offset),
		)
	})
	return slices.CompactFunc(out, func(a, b Keyed) bool { return bySource(a, b) == 0 })
}

func bySource(a, b Keyed) int {
	x, y := a.Source, b.Source
	if x == y {
		return 0
	}
	return cmp.Or(cmp.Compare(x.Topic, y.Topic), cmp.Compare(x.Partition, y.Partition), cmp.Compare(x.Generation, y.Generation))
}

func unionAgents(sources []Keyed) []string {
	if len(sources) == 1 {
		return sources[0].Partial.Agents
	}
	n := 0
	for i := range sources {
		n += len(sources[i].Partial.Agents)
	}
	if n == 0 {
		return nil
	}
	all := make([]string, 0, n)
	for i := range sources {
		all = append(all, sources[i].Partial.Agents...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ListPosition is where the session list shows a session: at the start with the
// smallest address, without one at the first record, without any at the first
// link to it (docs/decisions, list entries).
type ListPosition struct {
	Time   uint64 // broker time, µs
	Source wire.SourceKey
	Start  bool // at a start; else at the first record, or at a link
}

// ListPosition gives the session's place in the list.
func (s *Session) ListPosition() ListPosition {
	if s.Start != nil {
		return ListPosition{Time: s.StartAt.Time, Source: s.startKey, Start: true}
	}
	if s.Records == 0 {
		return ListPosition{Time: s.mention.Time, Source: s.mentionKey}
	}
	return ListPosition{Time: s.First.Time, Source: s.firstKey}
}
