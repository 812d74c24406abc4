// Package row declares every stored byte: the keys, the encodings of their
// values, the format version, and how a fold.Step becomes writes. It is pure.
// The changelog topics carry the same keys and values.
//
// Keys, big-endian, the first byte is the tag; docs/format.md draws each:
//
//	m name                                             store: "f" identity, "a" apply sequence, "c" clean stop
//	s stream u32, source 16                            source meta         durable
//	c stream u32, source 16                            local source state
//	r stream u32, source 16                            the source was begun anew  durable
//	p stream u32, session 16, source 16                partial             durable
//	d stream u32, session 16, source 16, piece u32     base of a state document   durable
//	u stream u32, session 16, source 16, slot u32      patches since the base     durable
//	h stream u32, session 16, source 16, slot u16      outcome of a state record  durable
//	k stream u32, session 16, source 16                links               durable
//	q stream u32, session 16, source 16, list u8, slot u8  chunk of a list that grows with a foreign session   durable
//	t stream u32, session 16, source 16, offset u64    packed timeline rows
//	b stream u32, source 16, offset u64                packs of one batch
//	l stream u32, ^time u64, session 16, source 16, kind u8   list entry
//	n stream u32, parent 16, child 16, source 16       child entry
//
// Durable rows go to the changelog topic and to Pebble; the others only to
// Pebble, because they follow from the durable ones or from the source.
//
// Every value begins with one byte, the format version. Optional parts are
// groups with ascending tags; a group that this version does not know is
// refused, never skipped. But for packs an encoding is canonical: decoding
// accepts only bytes that encoding the result gives again.
package row

// Version is the format version of keys and values. A change to any stored byte
// needs another one (and new golden files); a store or changelog of another
// version is refused.
const Version = 2
