package wire

import (
	"encoding/json"
	"errors"
	"strconv"
)

// SourceFrontier says how far one source is folded. Offsets of different
// sources are never compared.
type SourceFrontier struct {
	TopicID         uint32  `json:"topic_id" cbor:"topic_id"`
	TopicGeneration uint64  `json:"topic_generation" cbor:"topic_generation"`
	PartitionID     uint32  `json:"partition_id" cbor:"partition_id"`
	Folded          *uint64 `json:"folded,omitempty" cbor:"folded,omitempty"`               // last folded offset; none before the first record
	Head            *uint64 `json:"head,omitempty" cbor:"head,omitempty"`                   // live head when the read probed it
	RetainedFrom    *uint64 `json:"retained_from,omitempty" cbor:"retained_from,omitempty"` // first offset the source still holds

	// Additive.
	Topic               string `json:"topic,omitempty" cbor:"-"`
	TopicGenerationText string `json:"topic_generation_text,omitempty" cbor:"-"` // for readers whose numbers end at 2^53
}

// NewSourceFrontier names the source; the offsets are the caller's.
func NewSourceFrontier(s *Source) SourceFrontier {
	return SourceFrontier{
		TopicID: s.TopicID, TopicGeneration: s.Generation, PartitionID: s.Partition,
		Topic: s.Topic, TopicGenerationText: GenerationText(s.Generation),
	}
}

// GenerationText is a topic generation as decimal text.
func GenerationText(g uint64) string { return strconv.FormatUint(g, 10) }

// PositionText is a position for people: "agents.agent.sessions[3]@42".
func (s *Source) PositionText(offset uint64) string {
	return s.String() + "@" + strconv.FormatUint(offset, 10)
}

// SourceGap is a missing inclusive range of offsets of one source. Reason is
// one of the words of spec session-index.md, section 9.
type SourceGap struct {
	TopicID         uint32 `json:"topic_id" cbor:"topic_id"`
	TopicGeneration uint64 `json:"topic_generation" cbor:"topic_generation"`
	PartitionID     uint32 `json:"partition_id" cbor:"partition_id"`
	From            uint64 `json:"from" cbor:"from"`
	To              uint64 `json:"to" cbor:"to"`
	Reason          string `json:"reason" cbor:"reason"`

	// Additive.
	Topic               string `json:"topic,omitempty" cbor:"-"`
	TopicGenerationText string `json:"topic_generation_text,omitempty" cbor:"-"`
}

// NewSourceGap is the gap [from, to] of the source.
func NewSourceGap(s *Source, from, to uint64, reason string) SourceGap {
	return SourceGap{
		TopicID: s.TopicID, TopicGeneration: s.Generation, PartitionID: s.Partition,
		From: from, To: to, Reason: reason,
		Topic: s.Topic, TopicGenerationText: GenerationText(s.Generation),
	}
}

// PayloadRange is the inclusive range of offsets of one source that holds the
// payloads of a timeline page: a hint for bounded fetches, other sessions'
// records lie in it too.
type PayloadRange struct {
	TopicID         uint32 `json:"topic_id" cbor:"topic_id"`
	TopicGeneration uint64 `json:"topic_generation" cbor:"topic_generation"`
	PartitionID     uint32 `json:"partition_id" cbor:"partition_id"`
	First           uint64 `json:"first" cbor:"first"`
	Last            uint64 `json:"last" cbor:"last"`

	// Additive.
	Topic               string `json:"topic,omitempty" cbor:"-"`
	TopicGenerationText string `json:"topic_generation_text,omitempty" cbor:"-"`
}

// NewPayloadRange is the range [first, last] of the source.
func NewPayloadRange(s *Source, first, last uint64) PayloadRange {
	return PayloadRange{
		TopicID: s.TopicID, TopicGeneration: s.Generation, PartitionID: s.Partition, First: first, Last: last,
		Topic: s.Topic, TopicGenerationText: GenerationText(s.Generation),
	}
}

// SessionSources are the sources that hold records of one session.
type SessionSources struct {
	Sources List[SourceFrontier] `json:"sources" cbor:"sources"`
	Lane    *Lane                `json:"lane,omitempty" cbor:"lane,omitempty"`

	LaneTopic string `json:"lane_topic,omitempty" cbor:"-"` // additive: the lane topic's name
}

// Lane is the lane topic of a stream. On the wire it is an array of the three.
type Lane struct {
	_               struct{} `cbor:",toarray"`
	TopicID         uint32
	TopicGeneration uint64
	Partitions      uint32
}

// MarshalJSON writes [topic_id, topic_generation, partitions].
func (l Lane) MarshalJSON() ([]byte, error) {
	b := append([]byte{}, '[')
	b = strconv.AppendUint(b, uint64(l.TopicID), 10)
	b = strconv.AppendUint(append(b, ','), l.TopicGeneration, 10)
	b = strconv.AppendUint(append(b, ','), uint64(l.Partitions), 10)
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Lane) UnmarshalJSON(b []byte) error {
	var a []json.Number
	if err := json.Unmarshal(b, &a); err != nil {
		return err
	}
	if len(a) != 3 {
		return errors.New("wire: lane is an array of three numbers")
	}
	topic, err1 := strconv.ParseUint(a[0].String(), 10, 32)
	gen, err2 := strconv.ParseUint(a[1].String(), 10, 64)
	parts, err3 := strconv.ParseUint(a[2].String(), 10, 32)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	*l = Lane{TopicID: uint32(topic), TopicGeneration: gen, Partitions: uint32(parts)}
	return nil
}
