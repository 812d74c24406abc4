package wire

import "strconv"

// memory decodes a record of a memory topic: no envelope, and its session comes
// from the header, else from the record, never from the key.
func (d *agdxDecoder) memory(raw *Raw, h *agdxHeaders, rec *Record) {
	if raw.Value == nil {
		undecodable(raw, h, rec, errTombstone, false)
		return
	}
	m, err := DecodeMemory(raw.Value)
	if err != nil {
		undecodable(raw, h, rec, err, false)
		return
	}
	rec.Kind = KindMemory
	rec.Agent = h.agent
	rec.Session, rec.HasSession = h.conversation, h.hasConversation
	switch {
	case !rec.HasSession:
		rec.Session, rec.HasSession = m.Conversation, m.HasConversation
	case m.HasConversation && m.Conversation != rec.Session:
		rec.Display, rec.Reason = DisplayInvalid, ReasonMemorySession
		return
	}
	if h.agent != nil {
		rec.Facts |= FactAuthor
	}
	d.list(SumRefs, m.ID)
	if rec.HasSession {
		l := Link{Session: rec.Session, Surface: SurfaceMemory, Relation: RelationTouched, Resource: h.space, Item: m.ID}
		if m.Op == MemoryItem {
			l.Relation = RelationWrote
		}
		d.link(rec, l)
	}
	switch m.Op {
	case MemoryItem:
		rec.Display = DisplayMemoryCreated
		d.text(SumMemoryKind, m.Kind)
		d.number(SumSize, m.Size)
	case MemoryForget:
		rec.Display = DisplayMemoryForgotten
	case MemoryFeedback:
		rec.Display = DisplayMemoryFeedback
		d.text(SumWeight, formatFloat(m.Weight))
	}
}

// formatFloat writes a weight or score as the shortest text that reads back to
// the same 32-bit value, the width in which AGDX defines them.
func formatFloat(f float64) []byte { return strconv.AppendFloat(nil, f, 'g', -1, 32) }

// deadLetter decodes a capsule. It belongs to the session of its payload when
// that is an envelope, else of the header, else of the key.
func (d *agdxDecoder) deadLetter(raw *Raw, h *agdxHeaders, rec *Record) {
	if raw.Value == nil {
		undecodable(raw, h, rec, errTombstone, true)
		return
	}
	c, err := DecodeDeadLetter(raw.Value)
	if err != nil {
		undecodable(raw, h, rec, err, true)
		return
	}
	rec.Kind, rec.Display, rec.Facts = KindDeadLetter, DisplayDeadLetter, FactError
	rec.Cause = c.Source // the dead record is what this one comes from
	d.inner.reset()
	switch {
	case d.inner.decode(c.Payload) == nil:
		rec.Session, rec.HasSession = d.inner.Conversation, true
	case h.hasConversation:
		rec.Session, rec.HasSession = h.conversation, true
	default:
		rec.Session, rec.HasSession = parseIDBytes(raw.Key)
	}
	d.number(SumAttempts, uint64(c.Attempts))
	d.number(SumCode, uint64(c.Reason))
	d.number(SumSize, uint64(len(c.Payload)))
}
