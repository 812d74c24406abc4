package wire

// SessionEvent is one timeline row. Its summary holds shapes, never prompt text
// or argument values (spec session-index.md, section 6).
type SessionEvent struct {
	At            SourceRef   `json:"at" cbor:"at"`
	Session       ID          `json:"session" cbor:"session"`
	BrokerTS      uint64      `json:"broker_ts" cbor:"broker_ts"` // µs, as raised within the source
	Kind          string      `json:"kind" cbor:"kind"`
	Operation     *string     `json:"operation,omitempty" cbor:"operation,omitempty"`
	Display       string      `json:"display" cbor:"display"`
	Agent         string      `json:"agent,omitempty" cbor:"agent,omitempty"`
	Addressee     *string     `json:"addressee,omitempty" cbor:"addressee,omitempty"`
	Correlation   *ID         `json:"correlation,omitempty" cbor:"correlation,omitempty"`
	Cause         *Locator    `json:"cause,omitempty" cbor:"cause,omitempty"` // only a locator of 20 bytes
	Tool          *string     `json:"tool,omitempty" cbor:"tool,omitempty"`
	Usage         *TokenUsage `json:"usage,omitempty" cbor:"usage,omitempty"`
	AfterEnd      bool        `json:"after_end,omitempty" cbor:"after_end,omitempty"`
	VerifiedActor string      `json:"verified_actor,omitempty" cbor:"verified_actor,omitempty"`
	Summary       Summary     `json:"summary,omitempty" cbor:"summary,omitempty"`

	// Additive.
	AtText              string `json:"at_text,omitempty" cbor:"-"`
	Topic               string `json:"topic,omitempty" cbor:"-"`
	TopicGenerationText string `json:"topic_generation_text,omitempty" cbor:"-"`
}

// SourceRef points at a log record, a key-value entry or a memory item; exactly
// one field is set. Externally tagged on the wire.
type SourceRef struct {
	Message *MessageRef `json:"Message,omitempty" cbor:"Message,omitempty"`
	KV      *KVRef      `json:"Kv,omitempty" cbor:"Kv,omitempty"`
	Memory  *MemoryRef  `json:"Memory,omitempty" cbor:"Memory,omitempty"`
}

// MessageRef is the position of a log record. Stream and Topic are name ids
// (NameID).
type MessageRef struct {
	Stream       uint32  `json:"stream" cbor:"stream"`
	Topic        uint32  `json:"topic" cbor:"topic"`
	Partition    uint32  `json:"partition" cbor:"partition"`
	Offset       uint64  `json:"offset" cbor:"offset"`
	Conversation *ID     `json:"conversation,omitempty" cbor:"conversation,omitempty"`
	Generation   *uint64 `json:"generation,omitempty" cbor:"generation,omitempty"`
}

// KVRef names a key-value entry.
type KVRef struct {
	Namespace string `json:"namespace" cbor:"namespace"`
	Key       string `json:"key" cbor:"key"`
}

// MemoryRef names a memory item.
type MemoryRef struct {
	ID string `json:"id" cbor:"id"`
}

// Ref is the position as a timeline row shows it.
func (p Pos) Ref(conversation ID) SourceRef {
	g := p.Generation
	return SourceRef{Message: &MessageRef{
		Stream: p.Stream, Topic: p.Topic, Partition: p.Partition, Offset: p.Offset,
		Conversation: &conversation, Generation: &g,
	}}
}

// TokenUsage is the usage of one call as its producer wrote it.
type TokenUsage struct {
	InputTokens              uint64  `json:"input_tokens" cbor:"input_tokens"`
	OutputTokens             uint64  `json:"output_tokens" cbor:"output_tokens"`
	ReasoningOutputTokens    *uint64 `json:"reasoning_output_tokens,omitempty" cbor:"reasoning_output_tokens,omitempty"`
	CacheReadInputTokens     *uint64 `json:"cache_read_input_tokens,omitempty" cbor:"cache_read_input_tokens,omitempty"`
	CacheCreationInputTokens *uint64 `json:"cache_creation_input_tokens,omitempty" cbor:"cache_creation_input_tokens,omitempty"`
	CostMicros               *uint64 `json:"cost_micros,omitempty" cbor:"cost_micros,omitempty"`
}

// View gives the read type. Cost is nano-units inside, micro-units outside,
// rounded down.
func (u *Usage) View() *TokenUsage {
	t := &TokenUsage{InputTokens: u.In, OutputTokens: u.Out}
	opt := func(has UsageHas, v uint64) *uint64 {
		if u.Has&has == 0 {
			return nil
		}
		return &v
	}
	t.ReasoningOutputTokens = opt(HasReasoning, u.Reasoning)
	t.CacheReadInputTokens = opt(HasCacheRead, u.CacheRead)
	t.CacheCreationInputTokens = opt(HasCacheWrite, u.CacheWrite)
	t.CostMicros = opt(HasCost, u.CostNano/1000)
	return t
}

// SessionEventsPage is one page of a timeline, in address order.
type SessionEventsPage struct {
	Items         List[SessionEvent] `json:"items" cbor:"items"`
	Cursor        string             `json:"cursor,omitempty" cbor:"cursor,omitempty"`
	Ranges        []PayloadRange     `json:"ranges,omitempty" cbor:"ranges,omitempty"`
	Frontier      []SourceFrontier   `json:"frontier,omitempty" cbor:"frontier,omitempty"`
	FixedFrontier bool               `json:"fixed_frontier" cbor:"fixed_frontier"`
	Gaps          []SourceGap        `json:"gaps,omitempty" cbor:"gaps,omitempty"`

	Collapsed  uint64      `json:"collapsed,omitempty" cbor:"-"`   // additive: chunk rows that were left out since the page before
	NativeGaps []NativeGap `json:"native_gaps,omitempty" cbor:"-"` // additive: missing sequence numbers of a foreign dialect
}

// NativeGap is an inclusive range of missing native sequence numbers.
type NativeGap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}
