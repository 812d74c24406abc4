package wire

import "bytes"

// Reasons why a record of a foreign dialect is undecodable or invalid.
const (
	reasonJSON      = "no JSON value"
	reasonNoEvent   = "neither event nor object"
	reasonTombstone = "null value"
)

// HeaderSessionID names the session of a record without a key (spec
// deepstrike.md, section 1).
const HeaderSessionID = "session_id"

// nativeDecoder is what the decoders of foreign dialects share: the memory of a
// batch, which the next one uses again. Growing a slab leaves what was handed
// out where it is.
type nativeDecoder struct {
	shapes
	src     *Source
	in      jsonTokens
	recs    []Record
	usages  []Usage
	lives   []Lifecycle
	starts  []Start
	rares   []Rare
	natives []Native
	says    []Say
	links   []Link
	kids    []NativeChild
	audits  []AuditEvent

	rec      *Record // at hand
	n        *Native // of rec
	saysFrom int
	linkFrom int

	lastText []byte // of the session id that was read last, and what it is
	lastID   ID
}

// batch decodes record by record.
func (d *nativeDecoder) batch(src *Source, raw []Raw, one func(*Raw)) []Record {
	if d.src != src {
		d.src, d.lastText = src, d.lastText[:0]
	}
	if cap(d.recs) < len(raw) {
		d.recs = make([]Record, len(raw))
	}
	d.recs = d.recs[:len(raw)]
	// Every record has one of these and some of the others: grown one by one they
	// would be copied again and again.
	d.natives, d.rares = room(d.natives, len(raw)), room(d.rares, len(raw))
	d.says, d.items = room(d.says, len(raw)), room(d.items, 4*len(raw))
	d.shapes.reset()
	d.usages, d.lives, d.starts = d.usages[:0], d.lives[:0], d.starts[:0]
	d.rares, d.natives, d.says, d.links = d.rares[:0], d.natives[:0], d.says[:0], d.links[:0]
	d.kids, d.audits = d.kids[:0], d.audits[:0]
	if cap(d.links) > maxKeptLinks {
		d.links = nil
	}
	for i := range raw {
		d.begin(&raw[i], &d.recs[i])
		one(&raw[i])
		d.finish()
	}
	return d.recs
}

// room gives a slab with space for n entries; what it holds is not kept.
func room[T any](slab []T, n int) []T {
	if cap(slab) < n {
		return make([]T, 0, n)
	}
	return slab
}

func (d *nativeDecoder) begin(raw *Raw, rec *Record) {
	*rec = Record{Offset: raw.Offset, Time: brokerTime(raw.Timestamp), Kind: KindForeignEvent}
	d.natives = append(d.natives, Native{})
	d.n = &d.natives[len(d.natives)-1]
	d.rares = append(d.rares, Rare{Native: d.n})
	rec.Rare = &d.rares[len(d.rares)-1]
	d.rec = rec
	d.from, d.saysFrom, d.linkFrom = len(d.items), len(d.says), len(d.links)
}

func (d *nativeDecoder) finish() {
	if n := len(d.says); n > d.saysFrom {
		d.n.Says = d.says[d.saysFrom:n:n]
	}
	if n := len(d.links); n > d.linkFrom {
		d.rec.Rare.Links = d.links[d.linkFrom:n:n]
	}
	d.rec.Summary = d.summary()
}

// session gives the record to a session by the id's text; an empty text names
// none.
func (d *nativeDecoder) session(text []byte) {
	if len(text) == 0 {
		return
	}
	if !bytes.Equal(text, d.lastText) {
		d.lastID = NativeID(d.src.Dialect, d.src.Stream, text)
		d.lastText = append(d.lastText[:0], text...)
	}
	d.n.ID = text
	d.rec.Session, d.rec.HasSession = d.lastID, true
}

// outside gives the id beside the value: the key, else the header.
func outside(raw *Raw) []byte {
	if len(raw.Key) > 0 {
		return raw.Key
	}
	for i := range raw.Headers {
		if raw.Headers[i].Key == HeaderSessionID {
			return raw.Headers[i].Value
		}
	}
	return nil
}

// refuse marks a record that cannot be read, or is nothing of the dialect. It
// belongs to the session that the record names beside its value.
func (d *nativeDecoder) refuse(raw *Raw, display Display, reason string) {
	d.rec.Display, d.rec.Reason = display, reason
	if display == DisplayUndecodable {
		d.rec.Kind = KindUndecodable
	}
	if !d.rec.HasSession {
		d.session(outside(raw))
	}
}

func (d *nativeDecoder) say(s Say) { d.says = append(d.says, s) }

// sayText says a text that was given.
func (d *nativeDecoder) sayText(k SayKey, text []byte) {
	if len(text) > 0 {
		d.say(Say{Key: k, Text: text})
	}
}

func (d *nativeDecoder) start(s Start) {
	d.starts = append(d.starts, s)
	d.lives = append(d.lives, Lifecycle{Start: &d.starts[len(d.starts)-1]})
	d.rec.Lifecycle = &d.lives[len(d.lives)-1]
}

func (d *nativeDecoder) usage(u *Usage, l UsageLevel) {
	d.usages = append(d.usages, *u)
	d.rec.Usage = &d.usages[len(d.usages)-1]
	d.n.Level = l
}

func (d *nativeDecoder) link(l Link) {
	if d.rec.HasSession && len(l.Item) > 0 {
		l.Session = d.rec.Session
		d.links = append(d.links, l)
	}
}

// child keeps a child with its link.
func (d *nativeDecoder) child(c NativeChild) {
	if len(c.Item) == 0 {
		return
	}
	d.kids = append(d.kids, c)
	d.n.Child = &d.kids[len(d.kids)-1]
	d.link(Link{Surface: SurfaceChild, Relation: RelationWrote, Item: c.Item})
}

func (d *nativeDecoder) audit(a AuditEvent) {
	d.audits = append(d.audits, a)
	d.n.Audit = &d.audits[len(d.audits)-1]
}

// finalState says that a state word of a child is an end.
func finalState(word []byte) bool {
	switch string(word) {
	case "completed", "succeeded", "failed", "cancelled", "canceled", "sealed", "joined", "killed", "timed_out", "max_iterations_reached", "expired":
		return true
	}
	return false
}
