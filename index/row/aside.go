package row

import (
	"encoding/binary"

	"sessionfold/fold"
)

// The parts of a control group.
const (
	controlPause = 1 << iota
	controlResume
	controlCancel
	controlKnown = 1<<iota - 1
)

// appendAside writes the groups that come before that of the state, or those
// behind it.
func appendAside(b []byte, base fold.Stamp, a *fold.Aside) []byte {
	if a.Control != nil {
		b = appendControl(append(b, groupControl), base, a.Control)
	}
	if len(a.Acks) > 0 {
		b = binary.AppendUvarint(append(b, groupAcks), uint64(len(a.Acks)))
		for i := range a.Acks {
			k := &a.Acks[i]
			b = appendText(b, k.Agent)
			b = binary.BigEndian.AppendUint32(b, k.Topic)
			b = binary.AppendUvarint(b, uint64(k.Partition))
			b = binary.AppendUvarint(b, k.Offset)
			b = append(b, bit(k.Paused))
		}
	}
	if h := a.Held; h != nil {
		b = binary.AppendUvarint(append(b, groupHeld), uint64(len(h.Open)))
		for i := range h.Open {
			b = appendStamp(append(b, h.Open[i].ID[:]...), base, h.Open[i].At)
		}
		b = binary.AppendUvarint(b, uint64(len(h.Done)))
		for i := range h.Done {
			b = append(b, h.Done[i][:]...)
		}
	}
	return b
}

func appendKin(b []byte, base fold.Stamp, kin []fold.Kin) []byte {
	b = binary.AppendUvarint(append(b, groupKin), uint64(len(kin)))
	for i := range kin {
		k := &kin[i]
		b = append(b, k.ID[:]...)
		b = appendStamp(appendStamp(b, base, k.First), k.First, k.Last)
	}
	return b
}

func bit(on bool) byte {
	if on {
		return 1
	}
	return 0
}

func appendControl(b []byte, base fold.Stamp, c *fold.Control) []byte {
	b = append(b, bit(c.HasPause)|bit(c.HasResume)<<1|bit(c.HasCancel)<<2)
	if c.HasPause {
		b = appendStamp(b, base, c.Pause)
		b = binary.AppendUvarint(b, uint64(len(c.Participants)))
		for _, p := range c.Participants {
			b = appendText(b, p)
		}
	}
	if c.HasResume {
		b = appendStamp(b, base, c.Resume)
	}
	if c.HasCancel {
		b = appendStamp(b, base, c.Cancel)
	}
	return b
}

// aside reads a group of those above into the partial; false for another tag.
func (r *reader) aside(p *fold.Partial, tag uint64) bool {
	if tag < groupControl || tag > groupMention {
		return false
	}
	if p.Aside == nil {
		p.Aside = &fold.Aside{}
	}
	a := p.Aside
	switch tag {
	case groupControl:
		a.Control = r.control(p.First)
	case groupAcks:
		a.Acks = make([]fold.Ack, r.some("acknowledgments", 1+4+1+1+1))
		for i := range a.Acks {
			a.Acks[i] = fold.Ack{Agent: r.text(), Topic: r.uint32(), Partition: r.number32(), Offset: r.uint(), Paused: r.mask(1) != 0}
		}
	case groupHeld:
		a.Held = r.held(p.First)
	case groupKin:
		a.Kin = make([]fold.Kin, r.some("parents", 16+4))
		for i := range a.Kin {
			k := fold.Kin{ID: r.id16(), First: r.stamp(p.First)}
			k.Last = r.stamp(k.First)
			a.Kin[i] = k
		}
	case groupMention:
		at := r.stamp(p.First)
		a.Mention = &at
	default:
		return false
	}
	return true
}

func (r *reader) control(base fold.Stamp) *fold.Control {
	c := &fold.Control{}
	m := r.mask(controlKnown)
	if m == 0 {
		r.fail("a control group without a request")
	}
	if c.HasPause = m&controlPause != 0; c.HasPause {
		c.Pause = r.stamp(base)
		if n := r.count(1); n > 0 {
			c.Participants = make([]string, n)
			for i := range c.Participants {
				c.Participants[i] = r.text()
			}
		}
	}
	if c.HasResume = m&controlResume != 0; c.HasResume {
		c.Resume = r.stamp(base)
	}
	if c.HasCancel = m&controlCancel != 0; c.HasCancel {
		c.Cancel = r.stamp(base)
	}
	return c
}

func (r *reader) held(base fold.Stamp) *fold.Held {
	h := &fold.Held{}
	if n := r.count(16 + 2); n > 0 {
		h.Open = make([]fold.Parked, n)
		for i := range h.Open {
			h.Open[i] = fold.Parked{ID: r.id16(), At: r.stamp(base)}
		}
	}
	if n := r.count(16); n > 0 {
		h.Done = make([]fold.ParkID, n)
		for i := range h.Done {
			h.Done[i] = r.id16()
		}
	}
	if len(h.Open)+len(h.Done) == 0 {
		r.fail("a held group without work")
	}
	return h
}

// some reads how many items a group has that is only written when it has some.
func (r *reader) some(what string, size int) int {
	n := r.count(size)
	if n == 0 {
		r.fail("a group of " + what + " without any")
	}
	return n
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// number32 reads a number below 2^32.
func (r *reader) number32() uint32 {
	n := r.uint()
	if n > 1<<32-1 {
		r.fail("number beyond 32 bits")
		return 0
	}
	return uint32(n)
}
