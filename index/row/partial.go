package row

import (
	"encoding/binary"

	"sessionfold/fold"
	"sessionfold/wire"
)

// The optional groups of a partial. Numbers are stored: only append.
const (
	groupStart     = 1
	groupParent    = 2
	groupRoot      = 3
	groupStatus    = 4
	groupEnd       = 5
	groupCounters  = 6
	groupAgents    = 7
	groupTruncated = 8
	groupControl   = 9
	groupAcks      = 10
	groupHeld      = 11
	groupState     = 12
	groupLinks     = 13
	groupLast      = 14 // the last record that names the parent, when that is not the first
	groupKin       = 15
	groupMention   = 16
	groupNative    = 17
	groupSilent    = 18
)

// AppendPartialValue appends a partial, of its links and of its lists in chunks
// only how many there are; see AppendLinksValue and AppendChunkValue. Stamps but the first are written as differences to it,
// which wrap, so any partial can be written.
func AppendPartialValue(b []byte, p *fold.Partial) []byte {
	b = append(b, Version)
	b = binary.AppendUvarint(b, p.First.Time)
	b = binary.AppendUvarint(b, p.First.Offset)
	b = appendStamp(b, p.First, p.Last)
	b = binary.AppendUvarint(b, p.Records)
	b = binary.AppendUvarint(b, p.Rows)
	b = binary.AppendUvarint(b, uint64(p.Flags))
	if p.Start != nil {
		b = appendStart(append(b, groupStart), p.First, p.Start)
	}
	if p.Parent.Set {
		b = appendNamed(append(b, groupParent), p.First, p.Parent)
	}
	if p.Root.Set {
		b = appendNamed(append(b, groupRoot), p.First, p.Root)
	}
	if p.Status != wire.StatusNone {
		b = append(b, groupStatus, byte(p.Status))
		b = appendStamp(b, p.First, p.StatusAt)
	}
	if p.End != nil {
		b = appendEnd(append(b, groupEnd), p.First, p.End)
	}
	b = appendCounters(b, &p.Counters)
	if len(p.Agents) > 0 {
		b = binary.AppendUvarint(append(b, groupAgents), uint64(len(p.Agents)))
		for _, a := range p.Agents {
			b = appendText(b, a)
		}
	}
	if p.Truncated {
		b = append(b, groupTruncated)
		b = binary.AppendUvarint(b, p.TruncatedFrom-p.First.Offset)
	}
	if p.Aside != nil {
		b = appendAside(b, p.First, p.Aside)
	}
	if p.State != nil {
		b = appendState(append(b, groupState), p.First, p.State)
	}
	if p.Links != nil {
		b = binary.AppendUvarint(append(b, groupLinks), p.Links.N)
		b = append(b, bit(p.Links.Over))
	}
	if p.Parent.Set && p.ParentLast != p.Parent.At {
		b = appendStamp(append(b, groupLast), p.First, p.ParentLast)
	}
	if a := p.Aside; a != nil {
		if len(a.Kin) > 0 {
			b = appendKin(b, p.First, a.Kin)
		}
		if a.Mention != nil {
			b = appendStamp(append(b, groupMention), p.First, *a.Mention)
		}
	}
	if p.Native != nil {
		b = appendNative(append(b, groupNative), p.First, p.Native)
	}
	if p.Silent > 0 {
		b = binary.AppendUvarint(append(b, groupSilent), p.Silent)
	}
	return b
}

// DecodePartial reads a partial. The result shares nothing with b.
func DecodePartial(b []byte) (*fold.Partial, error) {
	r := newReader("partial", b)
	p := &fold.Partial{}
	p.First = fold.Stamp{Time: r.uint(), Offset: r.uint()}
	p.Last = r.stamp(p.First)
	p.Records = r.uint()
	p.Rows = r.uint()
	p.Flags = fold.Flag(r.mask(uint64(^fold.Flag(0))))
	r.groups(func(tag uint64) bool {
		switch tag {
		case groupStart:
			p.Start = r.start(p.First)
		case groupParent:
			p.Parent = r.named(p.First)
			p.ParentLast = p.Parent.At
		case groupRoot:
			p.Root = r.named(p.First)
		case groupStatus:
			if p.Status = wire.Status(r.byte()); p.Status == wire.StatusNone {
				r.fail("a status group without a status")
			}
			p.StatusAt = r.stamp(p.First)
		case groupEnd:
			p.End = r.sessionEnd(p.First)
		case groupCounters:
			r.counters(&p.Counters)
		case groupAgents:
			n := r.count(1)
			if n == 0 {
				r.fail("an agents group without agents")
			}
			p.Agents = make([]string, n)
			for i := range p.Agents {
				p.Agents[i] = r.text()
			}
		case groupTruncated:
			p.Truncated, p.TruncatedFrom = true, p.First.Offset+r.uint()
		case groupState:
			p.State = r.state(p.First)
		case groupLinks:
			p.Links = &fold.Links{N: r.uint(), Over: r.mask(1) != 0}
		case groupNative:
			p.Native = r.native(p.First)
		case groupSilent:
			if p.Silent = r.uint(); p.Silent == 0 {
				r.fail("a silence group without silence")
			}
		case groupLast:
			if p.ParentLast = r.stamp(p.First); !p.Parent.Set || p.ParentLast == p.Parent.At {
				r.fail("a last naming of no parent, or of its first record")
			}
		default:
			return r.aside(p, tag)
		}
		return true
	})
	if err := r.end(); err != nil {
		return nil, err
	}
	return p, nil
}

func appendStamp(b []byte, base, s fold.Stamp) []byte {
	b = binary.AppendUvarint(b, s.Time-base.Time)
	return binary.AppendUvarint(b, s.Offset-base.Offset)
}

func (r *reader) stamp(base fold.Stamp) fold.Stamp {
	return fold.Stamp{Time: base.Time + r.uint(), Offset: base.Offset + r.uint()}
}

func appendNamed(b []byte, base fold.Stamp, n fold.Named) []byte {
	b = append(b, n.ID[:]...)
	return appendStamp(b, base, n.At)
}

func (r *reader) named(base fold.Stamp) fold.Named {
	return fold.Named{ID: r.id16(), At: r.stamp(base), Set: true}
}

// counterList gives the counters in their stored order. Only append.
func counterList(c *fold.Counters) [12]*uint64 {
	return [...]*uint64{
		&c.ModelCalls, &c.ToolCalls, &c.TokensIn, &c.TokensOut, &c.CacheRead, &c.CacheWrite,
		&c.Reasoning, &c.CostNano, &c.Unpriced, &c.Errors, &c.Issues, &c.Turns,
	}
}

// appendCounters writes which counters are not zero, then those.
func appendCounters(b []byte, c *fold.Counters) []byte {
	if *c == (fold.Counters{}) {
		return b
	}
	list := counterList(c)
	var mask uint64
	for i, n := range list {
		if *n != 0 {
			mask |= 1 << i
		}
	}
	b = binary.AppendUvarint(append(b, groupCounters), mask)
	for _, n := range list {
		if *n != 0 {
			b = binary.AppendUvarint(b, *n)
		}
	}
	return b
}

func (r *reader) counters(c *fold.Counters) {
	list := counterList(c)
	mask := r.mask(1<<len(list) - 1)
	if mask == 0 {
		r.fail("a counters group without counters")
	}
	for i, n := range list {
		if mask&(1<<i) == 0 {
			continue
		}
		if *n = r.uint(); *n == 0 {
			r.fail("a counter of 0 written out")
		}
	}
}
