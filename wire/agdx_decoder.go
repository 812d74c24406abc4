package wire

import "math"

// NewAGDXDecoder gives a decoder of AGDX records, for every role (spec agdx.md,
// sections 2 to 7, as spec settled.md settles them). It is not safe for
// concurrent use; each source has its own.
//
// Ordinary records are decoded without allocating: what hangs behind pointers
// and in slices lies in slabs that the next Decode reuses.
func NewAGDXDecoder() Decoder { return &agdxDecoder{} }

type agdxDecoder struct {
	src   *Source
	recs  []Record
	env   Envelope // of the record at hand
	inner Envelope // of a dead letter's payload

	// The slabs. Growing one leaves the entries that were handed out where they
	// are, so pointers into it stay good until the slab is reused.
	shapes
	usages []Usage
	lives  []Lifecycle
	starts []Start
	acks   []Pos
	rares  []Rare
	asked  []Control
	parked []Parking
	links  []Link

	names names // of the batch at hand

	keys     func() *Keys // nil: no keys
	enrolled *Keys        // of the batch at hand
	signed   []byte       // memory for signed bytes

	refs     refs         // of the context record at hand
	resource resourceLink // of the resource link at hand
}

// Decode implements Decoder.
func (d *agdxDecoder) Decode(src *Source, raw []Raw) []Record {
	d.src = src
	if d.keys != nil {
		d.enrolled = d.keys()
	}
	if cap(d.recs) < len(raw) {
		d.recs = make([]Record, len(raw))
	}
	d.recs = d.recs[:len(raw)]
	d.shapes.reset()
	d.names = names{}
	d.usages, d.lives, d.starts, d.acks = d.usages[:0], d.lives[:0], d.starts[:0], d.acks[:0]
	d.rares, d.asked, d.parked, d.links = d.rares[:0], d.asked[:0], d.parked[:0], d.links[:0]
	if cap(d.links) > maxKeptLinks {
		d.links = nil
	}
	for i := range raw {
		d.record(&raw[i], &d.recs[i])
	}
	return d.recs
}

func (d *agdxDecoder) record(raw *Raw, rec *Record) {
	*rec = Record{Offset: raw.Offset, Time: brokerTime(raw.Timestamp)}
	h := readHeaders(raw.Headers)
	d.from = len(d.items)
	switch d.src.Role {
	case RoleMemory:
		d.memory(raw, &h, rec)
	case RoleDeadLetters:
		d.deadLetter(raw, &h, rec)
	case RoleHeartbeats:
		d.envelope(raw, &h, rec)
		// Liveness only: the record says nothing of any session.
		d.items = d.items[:d.from]
		*rec = Record{Offset: rec.Offset, Time: rec.Time, Kind: rec.Kind, Display: rec.Display, Reason: rec.Reason, Facts: FactHeartbeat}
	default:
		d.envelope(raw, &h, rec)
	}
	rec.Summary = d.summary()
}

// brokerTime turns the broker's milliseconds into µs; a negative one is 0.
func brokerTime(ms int64) uint64 {
	if ms <= 0 {
		return 0
	}
	return mulSaturating(uint64(ms), 1000)
}

func mulSaturating(a, b uint64) uint64 {
	if a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

// undecodable marks a record whose value cannot be read: it belongs to the
// session of its header, else of its key when that names a session.
func undecodable(raw *Raw, h *agdxHeaders, rec *Record, err error, keyed bool) {
	rec.Kind, rec.Display = KindUndecodable, DisplayUndecodable
	if u, ok := err.(Undecodable); ok {
		rec.Reason = string(u)
	}
	rec.Session, rec.HasSession = h.conversation, h.hasConversation
	if !rec.HasSession && keyed {
		rec.Session, rec.HasSession = parseIDBytes(raw.Key)
	}
}

// envelope decodes a record of a role whose values are envelopes.
func (d *agdxDecoder) envelope(raw *Raw, h *agdxHeaders, rec *Record) {
	e := &d.env
	e.reset()
	if raw.Value == nil {
		undecodable(raw, h, rec, errTombstone, true)
		return
	}
	if err := e.decode(raw.Value); err != nil {
		undecodable(raw, h, rec, err, true)
		return
	}
	rec.Session, rec.HasSession = e.Conversation, true
	rec.Kind = e.Kind
	rec.Operation, rec.Agent, rec.Addressee, rec.Tool = d.names.known(e.Operation), d.names.known(e.Source), d.names.known(e.Target), d.names.known(e.Tool)
	var body sessionBody
	if rec.Reason = d.broken(h, &body); rec.Reason != "" {
		rec.Display = DisplayInvalid
		return
	}
	rec.HasParent, rec.Parent = e.Has&FieldParent != 0, e.Parent
	rec.HasRoot, rec.Root = e.Has&FieldRoot != 0, e.Root
	rec.HasCorrelation, rec.Correlation = e.Has&FieldCorrelation != 0, e.Correlation
	rec.Cause = e.CauseAt
	rec.Facts = FactAuthor
	d.usage(rec)
	if e.Has&FieldSignature != 0 {
		d.signature(raw, h, rec)
	}
	switch e.Kind {
	case KindCommand:
		d.command(h, rec)
	case KindResponse:
		d.response(rec)
	case KindEvent:
		d.event(h, rec)
	case KindChunk:
		d.chunk(rec)
	case KindStatus:
		d.status(rec, &body)
	case KindError:
		d.failure(rec)
	}
}

// broken gives the first rule that a decoded envelope and its headers break.
func (d *agdxDecoder) broken(h *agdxHeaders, body *sessionBody) string {
	e := &d.env
	if reason := h.disagree(e); reason != "" {
		return reason
	}
	if reason := e.invalid(); reason != "" {
		return reason
	}
	if e.Kind == KindStatus && string(e.Operation) == OpSession {
		d.starts = append(d.starts, Start{})
		body.start = &d.starts[len(d.starts)-1]
	}
	return e.checkBody(body)
}

// usage keeps the envelope's token usage. Input counts include what the cache
// served and output counts the reasoning already, as AGDX defines them.
func (d *agdxDecoder) usage(rec *Record) {
	if d.env.Has&FieldUsage == 0 {
		return
	}
	u := &d.env.Usage
	d.usages = append(d.usages, Usage{
		In: u.Input, Out: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheCreation, Reasoning: u.Reasoning,
		CostNano: mulSaturating(u.Cost, 1000), Has: u.Has,
	})
	rec.Usage = &d.usages[len(d.usages)-1]
	rec.Facts |= FactUsage
	if u.Has&HasCost == 0 {
		rec.Facts |= FactUnpriced
	}
}

// plain is the display of a record that no rule names.
func (d *agdxDecoder) plain() Display {
	if d.src.Role == RoleJournal {
		return DisplayWorkflowStep
	}
	return DisplayAgentMessage
}
