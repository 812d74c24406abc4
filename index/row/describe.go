package row

import "fmt"

// Describe gives a key in readable form, for messages to people.
func Describe(key []byte) string {
	if len(key) == 0 {
		return "empty key"
	}
	switch key[0] {
	case TagStore:
		return fmt.Sprintf("store %q", clip(key[1:]))
	case TagSource, TagLocal:
		if s, err := ParseSource(key); err == nil {
			what := "source meta"
			if key[0] == TagLocal {
				what = "local source state"
			}
			return what + " " + s.String()
		}
	case TagReset:
		if s, err := ParseReset(key); err == nil {
			return "reset of " + s.String()
		}
	case TagPartial:
		if k, err := ParsePartial(key); err == nil {
			return "partial " + k.String()
		}
	case TagBase, TagLog:
		if k, err := ParseSlot(key); err == nil {
			what := "base of the state document"
			if key[0] == TagLog {
				what = "state patch"
			}
			return fmt.Sprintf("%s %s, slot %d", what, k.PartialKey, k.Slot)
		}
	case TagHistory:
		if k, slot, err := ParseHistory(key); err == nil {
			return fmt.Sprintf("state outcome %s, slot %d", k, slot)
		}
	case TagLinks:
		if k, err := ParseLinks(key); err == nil {
			return "links " + k.String()
		}
	case TagChunk:
		if k, err := ParseChunk(key); err == nil {
			return fmt.Sprintf("chunk %s, list %d, slot %d", k.PartialKey, k.List, k.Slot)
		}
	case TagChild:
		if k, err := ParseChild(key); err == nil {
			return fmt.Sprintf("child entry %s of %s", PartialKey{Stream: k.Stream, Session: k.Child, Source: k.Source}, k.Parent)
		}
	case TagPack:
		if k, err := ParsePack(key); err == nil {
			return fmt.Sprintf("pack %s from offset %d", k.PartialKey, k.First)
		}
	case TagBatch:
		if k, err := ParseBatch(key); err == nil {
			return fmt.Sprintf("batch %s from offset %d", k.SourceID, k.From)
		}
	case TagList:
		if k, err := ParseList(key); err == nil {
			return fmt.Sprintf("list entry %s of %s at %d µs", k.Kind, PartialKey{Stream: k.Stream, Session: k.Session, Source: k.Source}, k.Time)
		}
	}
	return fmt.Sprintf("malformed key %x", clip(key))
}

// String reads "stream/topic/generation/partition", numbers in hexadecimal but
// for the partition.
func (s SourceID) String() string {
	return fmt.Sprintf("%08x/%08x/%016x/%d", s.Stream, s.TopicID(), s.Generation(), s.Partition())
}

// String reads "session in source".
func (k PartialKey) String() string {
	return fmt.Sprintf("%s in %s", k.Session, SourceID{Stream: k.Stream, Source: k.Source})
}

func (k EntryKind) String() string {
	switch k {
	case EntryStart:
		return "start"
	case EntryMention:
		return "mention"
	}
	return "first"
}
