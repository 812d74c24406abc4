package fold

import (
	"cmp"
	"slices"
	"strings"

	"sessionfold/wire"
)

// Control is what the control topic asked of a session (spec session-index.md,
// section 3): of each request the newest, in the source's order.
type Control struct {
	HasPause, HasResume, HasCancel bool
	Pause, Resume, Cancel          Stamp
	Participants                   []string // of the newest pause: ascending, each once, at most MaxSet
}

// Ack is the newest acknowledgment by one participant of requests of one control
// source. An acknowledgment names a position without a generation, so the source
// is a topic's number and a partition.
type Ack struct {
	Agent     string
	Topic     uint32
	Partition uint32
	Offset    uint64 // greatest
	Paused    bool   // a `paused` status named it, not only a `working` one
}

func (a *Ack) compare(b *Ack) int {
	return cmp.Or(strings.Compare(a.Agent, b.Agent), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// control folds a request of the control topic. The newest of a source is the
// last one, whatever the producers' clocks say.
func (p *Partial) control(c *wire.Control, at Stamp) {
	n := Control{}
	if old := p.groups().Control; old != nil {
		n = *old
	}
	switch c.Op {
	case wire.ControlPause:
		n.HasPause, n.Pause = true, at
		n.Participants = p.participants(c.Participants)
	case wire.ControlResume:
		n.HasResume, n.Resume = true, at
	case wire.ControlCancel:
		n.HasCancel, n.Cancel = true, at
	}
	p.aside().Control = &n
}

func (p *Partial) participants(ids [][]byte) []string {
	if len(ids) == 0 {
		return nil
	}
	out := make([]string, 0, min(len(ids), MaxSet))
	for _, id := range ids {
		name, _ := wire.Clean(id, maxText)
		at, known := slices.BinarySearch(out, name)
		switch {
		case known:
		case len(out) == MaxSet:
			p.Flags |= FlagOverflow
		default:
			out = slices.Insert(out, at, name)
		}
	}
	return out
}

// ack folds the acknowledgment of a control request: the author's, of a paused
// or working status of the lane. A position in another stream matches nothing.
// The list is shared with earlier steps, so a change means a new list.
func (b *batch) ack(p *Partial, rec *wire.Record) {
	l := rec.Lifecycle
	if l.Acknowledge.Stream != b.src.StreamID {
		return
	}
	a := Ack{
		Agent: p.addAgent(rec.Agent), Topic: l.Acknowledge.Topic, Partition: l.Acknowledge.Partition,
		Offset: l.Acknowledge.Offset, Paused: l.Status == wire.StatusPaused,
	}
	acks := p.groups().Acks
	at, known := slices.BinarySearchFunc(acks, a, func(x, y Ack) int { return x.compare(&y) })
	switch {
	case known:
		if newer := newerAck(acks[at], a); newer != acks[at] {
			acks = slices.Clone(acks)
			acks[at] = newer
			p.aside().Acks = acks
		}
	case len(acks) >= MaxSet:
		p.Flags |= FlagOverflow
	default:
		p.aside().Acks = slices.Insert(slices.Clone(acks), at, a)
	}
}

// newerAck joins two acknowledgments of one participant and control source. It
// does not depend on their order, so partials merge.
func newerAck(a, b Ack) Ack {
	switch {
	case a.Offset > b.Offset:
		return a
	case a.Offset < b.Offset:
		return b
	}
	a.Paused = a.Paused || b.Paused
	return a
}

// Pause is a pause request that holds: no resume is newer and the session has
// not ended.
type Pause struct {
	At           wire.Address
	Source       *wire.Source // of the control topic
	Participants []string     // ascending
	Acknowledged []string     // who acknowledged exactly this request; ascending
}

// asked is the newest of each request over the sources.
type asked struct {
	pause, resume       wire.Address
	hasPause, hasResume bool
	cancel              bool
	by                  *Keyed // of pause
}

func (a *asked) take(k *Keyed) {
	c := k.Partial.groups().Control
	if c == nil {
		return
	}
	a.cancel = a.cancel || c.HasCancel
	if at := k.address(c.Pause); c.HasPause && (!a.hasPause || at.Compare(a.pause) > 0) {
		a.pause, a.hasPause, a.by = at, true, k
	}
	if at := k.address(c.Resume); c.HasResume && (!a.hasResume || at.Compare(a.resume) > 0) {
		a.resume, a.hasResume = at, true
	}
}

// mergeControl: a pause is asked for while it is newer than the newest resume
// and the session goes on. A cancel once asked for stays asked for.
func (s *Session) mergeControl(a *asked) {
	s.Canceling = a.cancel
	if !a.hasPause || a.hasResume && a.resume.Compare(a.pause) > 0 || s.End != nil {
		return
	}
	src := a.by.Source
	s.Pause = &Pause{At: a.pause, Source: src, Participants: a.by.Partial.groups().Control.Participants}
	var newest []Ack
	for i := range s.Sources {
		for _, k := range s.Sources[i].Partial.groups().Acks {
			if k.Topic == src.TopicID && k.Partition == src.Partition {
				newest = append(newest, k)
			}
		}
	}
	slices.SortFunc(newest, func(x, y Ack) int { return x.compare(&y) })
	for i := 0; i < len(newest); {
		k := newest[i]
		for i++; i < len(newest) && newest[i].compare(&k) == 0; i++ {
			k = newerAck(k, newest[i])
		}
		if k.Paused && k.Offset == a.pause.Offset {
			s.Pause.Acknowledged = append(s.Pause.Acknowledged, k.Agent)
		}
	}
}

// viewControl shows what was asked for.
func (s *Session) viewControl(v *wire.SessionInfo) {
	v.CancelRequested = s.Canceling
	v.Held = s.Held
	if s.Pause == nil {
		return
	}
	src, offset := s.Pause.Source, s.Pause.At.Offset
	v.PauseRequested = true
	v.Pause = &wire.Pause{
		At: s.Pause.At.Time, Position: src.At(offset).Locator(), PositionText: src.PositionText(offset),
		Participants: append([]string{}, s.Pause.Participants...), Acknowledged: append([]string{}, s.Pause.Acknowledged...),
	}
}
