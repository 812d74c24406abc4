package row

import (
	"encoding/binary"

	"sessionfold/fold/state"
)

// The tags of a session's state document in one source.
const (
	TagBase    byte = 'd' // pieces of a document's base
	TagLog     byte = 'u' // patches since the base
	TagHistory byte = 'h' // the last outcomes
)

const (
	slotKeyLen    = partialKeyLen + 4
	historyKeyLen = partialKeyLen + 2
)

// SlotKey names a piece of a base or a slot of the log.
type SlotKey struct {
	PartialKey
	Slot uint32
}

// AppendBase appends the key of a piece of a base.
func AppendBase(b []byte, k SlotKey) []byte {
	return binary.BigEndian.AppendUint32(appendPartialKey(b, TagBase, k.PartialKey), k.Slot)
}

// AppendLog appends the key of a log slot.
func AppendLog(b []byte, k SlotKey) []byte {
	return binary.BigEndian.AppendUint32(appendPartialKey(b, TagLog, k.PartialKey), k.Slot)
}

// AppendHistory appends the key of the slot of an outcome.
func AppendHistory(b []byte, k PartialKey, number uint64) []byte {
	return binary.BigEndian.AppendUint16(appendPartialKey(b, TagHistory, k), uint16(number%state.HistoryLen))
}

// ParseSlot reads the key of a piece of a base or of a log slot.
func ParseSlot(key []byte) (SlotKey, error) {
	if len(key) != slotKeyLen || key[0] != TagBase && key[0] != TagLog {
		return SlotKey{}, keyError("slot", slotKeyLen, key)
	}
	return SlotKey{PartialKey: parsePartialKey(key), Slot: binary.BigEndian.Uint32(key[partialKeyLen:])}, nil
}

// ParseHistory reads the key of an outcome.
func ParseHistory(key []byte) (k PartialKey, slot uint16, err error) {
	if len(key) != historyKeyLen || key[0] != TagHistory {
		return PartialKey{}, 0, keyError("history", historyKeyLen, key)
	}
	return parsePartialKey(key), binary.BigEndian.Uint16(key[partialKeyLen:]), nil
}

// DurableSource names the source that a durable row belongs to.
func DurableSource(key []byte) (SourceID, error) {
	var k PartialKey
	var err error
	switch {
	case len(key) > 0 && key[0] == TagSource:
		return ParseSource(key)
	case len(key) > 0 && (key[0] == TagBase || key[0] == TagLog):
		var s SlotKey
		s, err = ParseSlot(key)
		k = s.PartialKey
	case len(key) > 0 && key[0] == TagReset:
		return ParseReset(key)
	case len(key) > 0 && key[0] == TagHistory:
		k, _, err = ParseHistory(key)
	case len(key) > 0 && key[0] == TagLinks:
		k, err = ParseLinks(key)
	case len(key) > 0 && key[0] == TagChunk:
		var c ChunkKey
		c, err = ParseChunk(key)
		k = c.PartialKey
	default:
		k, err = ParsePartial(key)
	}
	return SourceID{Stream: k.Stream, Source: k.Source}, err
}
