package wire

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"strings"
)

// Role is what a topic is to its stream (spec session-index.md, section 1).
type Role uint8

// The roles. A topic of a foreign dialect has role lane.
const (
	RoleNone Role = iota
	RoleLane
	RoleChunks
	RoleControl
	RoleMemory
	RoleDeadLetters
	RoleAudit
	RoleJournal
	RoleWork
	RoleHeartbeats
)

var roleNames = [...]string{"none", "lane", "chunks", "control", "memory", "dead_letters", "audit", "journal", "work", "heartbeats"}

func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "none"
}

// Folded says that the records of such a topic are folded. Heartbeats are not:
// they are never a row and never a count (spec agdx.md, section 3).
func (r Role) Folded() bool { return r != RoleNone && r != RoleHeartbeats }

// roleByName maps the part of a topic name behind "<stream>." to its role
// (spec agdx.md, section 3).
var roleByName = map[string]Role{
	"agent.sessions":         RoleLane,
	"agent.streams":          RoleChunks,
	"agent.control":          RoleControl,
	"agent.memory":           RoleMemory,
	"agent.dlq":              RoleDeadLetters,
	"agent.audit":            RoleAudit,
	"agent.workflow_journal": RoleJournal,
	"agent.heartbeats":       RoleHeartbeats,
}

// TopicsOf lists the topic names of a stream with their roles, in the order of
// spec agdx.md, section 3.
func TopicsOf(stream string) []TopicRole {
	names := []string{"agent.sessions", "agent.streams", "agent.control", "agent.memory", "agent.dlq", "agent.audit", "agent.workflow_journal", "agent.heartbeats"}
	out := make([]TopicRole, len(names))
	for i, n := range names {
		out[i] = TopicRole{Topic: stream + "." + n, Role: roleByName[n]}
	}
	return out
}

// TopicRole is a topic name with its role.
type TopicRole struct {
	Topic string
	Role  Role
}

// RoleOf gives the role of a topic of the stream by its name; RoleNone when the
// name is none of the stream's.
func RoleOf(stream, topic string) Role {
	rest, ok := strings.CutPrefix(topic, stream+".")
	if !ok {
		return RoleNone
	}
	return roleByName[rest]
}

// Dialect is the event language of a stream; a stream has one.
type Dialect uint8

// The dialects.
const (
	DialectAGDX Dialect = iota
	DialectDeepStrike
	DialectEverruns
)

var dialectNames = [...]string{"agdx", "deepstrike", "everruns"}

func (d Dialect) String() string {
	if int(d) < len(dialectNames) {
		return dialectNames[d]
	}
	return "unknown"
}

// ParseDialect is the inverse of Dialect.String.
func ParseDialect[T string | []byte](word T) (Dialect, bool) {
	for i, n := range dialectNames {
		if n == string(word) {
			return Dialect(i), true
		}
	}
	return DialectAGDX, false
}

// DialectWords lists the words.
func DialectWords() []string { return append([]string(nil), dialectNames[:]...) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// NameID is the CRC-32C of a stream's or topic's name, its number in locators
// and read types (spec agdx.md, section 6).
func NameID(name string) uint32 { return crc32.Checksum([]byte(name), castagnoli) }

// Source is one partition of one topic in one generation: the unit that folds
// alone. Make it with NewSource, so that the numbers agree with the names.
type Source struct {
	Stream     string
	Topic      string
	StreamID   uint32 // NameID(Stream)
	TopicID    uint32 // NameID(Topic)
	Generation uint64 // first 8 bytes of the topic's UUID, big-endian
	Partition  uint32
	Role       Role
	Dialect    Dialect
}

// NewSource fills the derived numbers.
func NewSource(stream, topic string, generation uint64, partition uint32, role Role, d Dialect) *Source {
	return &Source{
		Stream: stream, Topic: topic, StreamID: NameID(stream), TopicID: NameID(topic),
		Generation: generation, Partition: partition, Role: role, Dialect: d,
	}
}

// SourceKey names a source in 16 bytes: topic id, generation, partition.
type SourceKey [16]byte

// Key is the source's name in stored keys.
func (s *Source) Key() SourceKey {
	var k SourceKey
	binary.BigEndian.PutUint32(k[0:], s.TopicID)
	binary.BigEndian.PutUint64(k[4:], s.Generation)
	binary.BigEndian.PutUint32(k[12:], s.Partition)
	return k
}

// String reads "topic[partition]"; the generation is left out for people.
func (s *Source) String() string {
	return s.Topic + "[" + strconv.FormatUint(uint64(s.Partition), 10) + "]"
}

// GenerationOf gives the generation of a topic from its 16-byte UUID.
func GenerationOf(topicUUID [16]byte) uint64 { return binary.BigEndian.Uint64(topicUUID[:8]) }

// Pos is the position of one record. Everything derived is named by positions,
// nothing by clock or counter.
type Pos struct {
	Stream     uint32
	Topic      uint32
	Generation uint64
	Partition  uint32
	Offset     uint64
}

// At is the position of an offset of the source.
func (s *Source) At(offset uint64) Pos {
	return Pos{Stream: s.StreamID, Topic: s.TopicID, Generation: s.Generation, Partition: s.Partition, Offset: offset}
}

// Locator is a position as it rides in envelopes: 20 bytes, big-endian: stream
// u32, topic u32, partition u32, offset u64. It has no generation.
type Locator [20]byte

// Locator drops the generation.
func (p Pos) Locator() Locator {
	var l Locator
	binary.BigEndian.PutUint32(l[0:], p.Stream)
	binary.BigEndian.PutUint32(l[4:], p.Topic)
	binary.BigEndian.PutUint32(l[8:], p.Partition)
	binary.BigEndian.PutUint64(l[12:], p.Offset)
	return l
}

// ParseLocator reads 20 bytes; the generation of the result is 0.
func ParseLocator(b []byte) (Pos, bool) {
	if len(b) != 20 {
		return Pos{}, false
	}
	return Pos{
		Stream: binary.BigEndian.Uint32(b[0:]), Topic: binary.BigEndian.Uint32(b[4:]),
		Partition: binary.BigEndian.Uint32(b[8:]), Offset: binary.BigEndian.Uint64(b[12:]),
	}, true
}

// Address is the one order across sources: broker time, topic name in bytes,
// partition, offset, generation (spec settled.md, "Address, time, text, numbers").
type Address struct {
	Time       uint64 // µs, as raised within the source
	Topic      string
	Partition  uint32
	Offset     uint64
	Generation uint64
}

// Address places an offset of the source in the stream-wide order.
func (s *Source) Address(time, offset uint64) Address {
	return Address{Time: time, Topic: s.Topic, Partition: s.Partition, Offset: offset, Generation: s.Generation}
}

// Compare gives -1, 0 or 1.
func (a Address) Compare(b Address) int {
	switch {
	case a.Time != b.Time:
		return less(a.Time < b.Time)
	case a.Topic != b.Topic:
		return less(a.Topic < b.Topic)
	case a.Partition != b.Partition:
		return less(a.Partition < b.Partition)
	case a.Offset != b.Offset:
		return less(a.Offset < b.Offset)
	case a.Generation != b.Generation:
		return less(a.Generation < b.Generation)
	}
	return 0
}

func less(b bool) int {
	if b {
		return -1
	}
	return 1
}
