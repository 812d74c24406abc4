package agdxlog

import (
	"crypto/sha256"
	"encoding/binary"

	"sessionfold/wire"
)

// Record is one Kafka record to produce. Its topic is the stream's topic of the
// role, unless a layout says otherwise.
type Record struct {
	Role    wire.Role
	Topic   string
	Session wire.ID // the conversation of the envelope; zero for records without one
	Key     []byte
	Headers []wire.Header
	Value   []byte // nil is a tombstone
}

// Log is one stream being written.
type Log struct {
	Stream  string
	Records []Record
	// Emit, when set, gets each record instead of Records.
	Emit func(Record)

	topics map[wire.Role]string
}

// New starts an empty log.
func New(stream string) *Log {
	l := &Log{Stream: stream, topics: map[wire.Role]string{}}
	for _, t := range wire.TopicsOf(stream) {
		l.topics[t.Role] = t.Topic
	}
	return l
}

// Inbox sets the topic of role work, which has no name of its own.
func (l *Log) Inbox(topic string) { l.topics[wire.RoleWork] = topic }

// Topic is the stream's topic of a role.
func (l *Log) Topic(role wire.Role) string { return l.topics[role] }

// Add appends a record as it stands, under the topic of its role.
func (l *Log) Add(r Record) {
	if r.Topic == "" {
		r.Topic = l.topics[r.Role]
	}
	if l.Emit != nil {
		l.Emit(r)
		return
	}
	l.Records = append(l.Records, r)
}

// NameID derives an id from words, so that tests can say which session, call or
// record they mean.
func NameID(words ...string) wire.ID {
	h := sha256.New()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	return wire.ID(h.Sum(nil)[:16])
}

// avOne is header agdx.av: envelope version 1, four bytes big-endian.
var avOne = []byte{0, 0, 0, 1}

// Content types of bodies, header agdx.ct.
const (
	CTRaw  = 0
	CTJSON = 1
	CTCBOR = 3
)

var ctHeader = [16][]byte{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}}

// Headers are the headers that producers put beside an envelope (spec agdx.md,
// section 3).
func Headers(e *wire.Envelope, contentType uint8) []wire.Header {
	h := make([]wire.Header, 0, 7)
	h = append(h,
		wire.Header{Key: wire.HeaderVersion, Value: avOne},
		wire.Header{Key: wire.HeaderContentType, Value: ctHeader[contentType]},
		wire.Header{Key: wire.HeaderConversation, Value: Key(e.Conversation)},
		wire.Header{Key: wire.HeaderAgent, Value: e.Source})
	if e.Target != nil {
		h = append(h, wire.Header{Key: wire.HeaderTarget, Value: e.Target})
	}
	if e.Has&wire.FieldParent != 0 {
		h = append(h, wire.Header{Key: wire.HeaderParent, Value: Key(e.Parent)})
	}
	if e.Has&wire.FieldRoot != 0 {
		h = append(h, wire.Header{Key: wire.HeaderRoot, Value: Key(e.Root)})
	}
	return h
}

// Key is a conversation as a record key: its text form.
func Key(id wire.ID) []byte {
	b, _ := id.MarshalText()
	return b
}

// mix spreads a counter over 64 bits (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// next derives the n-th id of a session.
func next(session wire.ID, n uint64) wire.ID {
	id := session
	binary.BigEndian.PutUint64(id[8:], mix(binary.BigEndian.Uint64(session[8:])+n*0x9e3779b97f4a7c15))
	return id
}
