package row

import (
	"encoding/binary"
	"fmt"

	"sessionfold/wire"
)

// The tags: first byte of every key.
const (
	TagStore   byte = 'm'
	TagSource  byte = 's'
	TagLocal   byte = 'c'
	TagPartial byte = 'p'
	TagPack    byte = 't'
	TagBatch   byte = 'b'
	TagList    byte = 'l'
)

// The store's own keys.
var (
	KeyIdentity = []byte{TagStore, 'f'} // Identity
	KeyApplied  = []byte{TagStore, 'a'} // apply sequence, see AppendSeq
	KeyClean    = []byte{TagStore, 'c'} // empty; there only between a clean stop and the next start
)

// Lengths of the keys.
const (
	sourceKeyLen  = 1 + 4 + 16
	partialKeyLen = 1 + 4 + 16 + 16
	packKeyLen    = partialKeyLen + 8
	batchKeyLen   = sourceKeyLen + 8
	listKeyLen    = 1 + 4 + 8 + 16 + 16 + 1
)

// SourceID names a source within a store: its stream and its key.
type SourceID struct {
	Stream uint32
	Source wire.SourceKey
}

// IDOf names the source.
func IDOf(src *wire.Source) SourceID { return SourceID{Stream: src.StreamID, Source: src.Key()} }

// Generation is the topic generation inside the source key.
func (s SourceID) Generation() uint64 { return binary.BigEndian.Uint64(s.Source[4:]) }

// Partition is the partition inside the source key.
func (s SourceID) Partition() uint32 { return binary.BigEndian.Uint32(s.Source[12:]) }

// TopicID is the topic's number inside the source key.
func (s SourceID) TopicID() uint32 { return binary.BigEndian.Uint32(s.Source[0:]) }

// PartialKey names what one source knows about one session.
type PartialKey struct {
	Stream  uint32
	Session wire.ID
	Source  wire.SourceKey
}

// PackKey names packed rows: the first row's offset tells packs apart.
type PackKey struct {
	PartialKey
	First uint64
}

// BatchKey names the packs of one batch by the batch's first offset.
type BatchKey struct {
	SourceID
	From uint64
}

// EntryKind says which fact of a partial a list entry stands for.
type EntryKind byte

// The entry kinds. They order entries of one session, source and moment.
const (
	EntryStart EntryKind = 1 // the partial's start record
	EntryFirst EntryKind = 2 // the partial's first record, when that is not its start record
	// EntryMention is the link that brought the partial about, when it came
	// before any record of the session.
	EntryMention EntryKind = 3
)

// ListKey is one list entry: newest moment first.
type ListKey struct {
	Stream  uint32
	Time    uint64 // µs
	Session wire.ID
	Source  wire.SourceKey
	Kind    EntryKind
}

// AppendSource appends the key of a source's meta.
func AppendSource(b []byte, s SourceID) []byte { return appendSourceID(b, TagSource, s) }

// AppendLocal appends the key of a source's local state.
func AppendLocal(b []byte, s SourceID) []byte { return appendSourceID(b, TagLocal, s) }

func appendSourceID(b []byte, tag byte, s SourceID) []byte {
	b = append(b, tag)
	b = binary.BigEndian.AppendUint32(b, s.Stream)
	return append(b, s.Source[:]...)
}

// AppendPartial appends the key of a partial.
func AppendPartial(b []byte, k PartialKey) []byte { return appendPartialKey(b, TagPartial, k) }

func appendPartialKey(b []byte, tag byte, k PartialKey) []byte {
	b = append(b, tag)
	b = binary.BigEndian.AppendUint32(b, k.Stream)
	b = append(b, k.Session[:]...)
	return append(b, k.Source[:]...)
}

// AppendPack appends the key of packed rows.
func AppendPack(b []byte, k PackKey) []byte {
	b = appendPartialKey(b, TagPack, k.PartialKey)
	return binary.BigEndian.AppendUint64(b, k.First)
}

// AppendBatch appends the key of a batch's packs.
func AppendBatch(b []byte, k BatchKey) []byte {
	b = appendSourceID(b, TagBatch, k.SourceID)
	return binary.BigEndian.AppendUint64(b, k.From)
}

// AppendList appends the key of a list entry.
func AppendList(b []byte, k ListKey) []byte {
	b = append(b, TagList)
	b = binary.BigEndian.AppendUint32(b, k.Stream)
	b = binary.BigEndian.AppendUint64(b, ^k.Time)
	b = append(b, k.Session[:]...)
	b = append(b, k.Source[:]...)
	return append(b, byte(k.Kind))
}

// AppendStream appends the common beginning of a stream's keys of one tag.
func AppendStream(b []byte, tag byte, stream uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, tag), stream)
}

// AppendSession appends the common beginning of a session's keys of one tag,
// TagPartial or TagPack.
func AppendSession(b []byte, tag byte, stream uint32, id wire.ID) []byte {
	return append(AppendStream(b, tag, stream), id[:]...)
}

// SessionSource gives the source inside a key of a session in one source: of
// all tags whose keys begin like a partial's.
func SessionSource(key []byte) (SourceID, error) {
	if len(key) < partialKeyLen {
		return SourceID{}, keyError("session", partialKeyLen, key)
	}
	return SourceID{Stream: binary.BigEndian.Uint32(key[1:]), Source: wire.SourceKey(key[21:partialKeyLen])}, nil
}

// AppendSessionSource appends the common beginning of a session's packs in one
// source.
func AppendSessionSource(b []byte, k PartialKey) []byte { return appendPartialKey(b, TagPack, k) }

// PrefixEnd gives the first key behind all keys that begin with prefix, nil
// when there is none. It reuses nothing of prefix.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// ParseSource reads the key of a source's meta (TagSource) or of its local
// state (TagLocal).
func ParseSource(key []byte) (SourceID, error) {
	if len(key) != sourceKeyLen || key[0] != TagSource && key[0] != TagLocal {
		return SourceID{}, keyError("source", sourceKeyLen, key)
	}
	return parseSourceID(key), nil
}

func parseSourceID(key []byte) SourceID {
	return SourceID{Stream: binary.BigEndian.Uint32(key[1:]), Source: wire.SourceKey(key[5:21])}
}

// ParsePartial reads the key of a partial.
func ParsePartial(key []byte) (PartialKey, error) {
	if len(key) != partialKeyLen || key[0] != TagPartial {
		return PartialKey{}, keyError("partial", partialKeyLen, key)
	}
	return parsePartialKey(key), nil
}

func parsePartialKey(key []byte) PartialKey {
	return PartialKey{Stream: binary.BigEndian.Uint32(key[1:]), Session: wire.ID(key[5:21]), Source: wire.SourceKey(key[21:37])}
}

// ParsePack reads the key of packed rows.
func ParsePack(key []byte) (PackKey, error) {
	if len(key) != packKeyLen || key[0] != TagPack {
		return PackKey{}, keyError("pack", packKeyLen, key)
	}
	return PackKey{PartialKey: parsePartialKey(key), First: binary.BigEndian.Uint64(key[37:])}, nil
}

// ParseBatch reads the key of a batch's packs.
func ParseBatch(key []byte) (BatchKey, error) {
	if len(key) != batchKeyLen || key[0] != TagBatch {
		return BatchKey{}, keyError("batch", batchKeyLen, key)
	}
	return BatchKey{SourceID: parseSourceID(key), From: binary.BigEndian.Uint64(key[21:])}, nil
}

// ParseList reads the key of a list entry.
func ParseList(key []byte) (ListKey, error) {
	if len(key) != listKeyLen || key[0] != TagList {
		return ListKey{}, keyError("list", listKeyLen, key)
	}
	k := ListKey{
		Stream: binary.BigEndian.Uint32(key[1:]), Time: ^binary.BigEndian.Uint64(key[5:]),
		Session: wire.ID(key[13:29]), Source: wire.SourceKey(key[29:45]), Kind: EntryKind(key[45]),
	}
	if k.Kind < EntryStart || k.Kind > EntryMention {
		return ListKey{}, fmt.Errorf("row: list key %x has the unknown entry kind %d", key, key[45])
	}
	return k, nil
}

func keyError(what string, want int, key []byte) error {
	return fmt.Errorf("row: %x is no %s key (%d bytes, want %d with the right tag)", clip(key), what, len(key), want)
}

// clip bounds what an error shows of a strange key.
func clip(key []byte) []byte {
	if len(key) > 64 {
		return key[:64]
	}
	return key
}
