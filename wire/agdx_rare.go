package wire

import "math"

// maxKeptLinks is how many links of the decoder's slab stay for the next batch:
// one record that names very many must not hold their memory for ever.
const maxKeptLinks = 1 << 14

// rare gives the record's place for rare facts.
func (d *agdxDecoder) rare(rec *Record) *Rare {
	if rec.Rare == nil {
		d.rares = append(d.rares, Rare{})
		rec.Rare = &d.rares[len(d.rares)-1]
	}
	return rec.Rare
}

// control keeps a request of the control topic.
func (d *agdxDecoder) control(rec *Record) {
	c := Control{Op: ControlCancel} // session_cancel, force_cancel
	switch string(d.env.Operation) {
	case OpSessionPause:
		c.Op = ControlPause
		c.Participants = participants(d.env.Body)
	case OpSessionResume:
		c.Op = ControlResume
	}
	d.asked = append(d.asked, c)
	d.rare(rec).Control = &d.asked[len(d.asked)-1]
}

// participants reads the body of a pause, {"participants": [agent]} in JSON.
// One that cannot be read names nobody; the pause counts all the same.
func participants(body []byte) (ids [][]byte) {
	b, ok := cborOf(body)
	if !ok {
		return nil
	}
	r := cborReader{b: b, depth: maxCBORNesting - maxJSONNesting}
	for m := r.open(majorMap); r.more(&m); {
		if string(r.key()) != "participants" {
			r.skip()
			continue
		}
		ids = ids[:0]
		for l := r.open(majorArray); r.more(&l); {
			ids = append(ids, r.agent())
		}
	}
	if r.end() != nil {
		return nil
	}
	return ids
}

// linkEvent keeps what an event does beside its display: work parked on a lane,
// memory recalled, resources linked.
func (d *agdxDecoder) linkEvent(h *agdxHeaders, rec *Record) {
	d.refs, d.resource = refs{}, resourceLink{}
	switch string(d.env.Operation) {
	case OpSessionParked:
		d.parking(rec, false)
	case OpSessionUnparked:
		d.parking(rec, true)
	case OpContextRetrieved:
		d.refs.whole = true
		if !d.readContext(h, readRetrieved) {
			return
		}
		for _, id := range d.refs.ids {
			d.link(rec, Link{Session: rec.Session, Surface: SurfaceMemory, Relation: RelationRecalled, Resource: h.space, Item: id})
		}
	case OpResourceLink:
		d.readResource(h)
		d.linkResource(rec)
	}
}

// parking keeps work that was put aside or taken up: on a lane only. That the
// body can be read was seen when the record was found valid.
func (d *agdxDecoder) parking(rec *Record, unparked bool) {
	if d.src.Role != RoleLane {
		return
	}
	p, err := DecodeSessionParking(d.env.Body)
	if err != nil {
		return
	}
	d.parked = append(d.parked, Parking{SessionParking: p, Unparked: unparked})
	d.rare(rec).Parking = &d.parked[len(d.parked)-1]
}

// link adds a link to the record. Links of one record lie side by side.
func (d *agdxDecoder) link(rec *Record, l Link) {
	r := d.rare(rec)
	d.links = append(d.links, l)
	n := len(d.links)
	r.Links = d.links[n-len(r.Links)-1 : n : n]
}

// resourceLink is the body of a resource_link event.
type resourceLink struct {
	readable       bool
	surface        LinkSurface // 0: no surface of the protocol
	relation       LinkRelation
	resource, item []byte
	complete       bool // surface, resource, item and relation are there
	named          bool // a session is named
	foreign        bool // it is of another stream
	session        ID
}

// readResource reads {surface, resource, item, relation, session?: {stream,
// session}} in CBOR or JSON (spec settled.md, "Resource links on Kafka").
func (d *agdxDecoder) readResource(h *agdxHeaders) {
	const surface, resource, item, relation, session = 1, 2, 4, 8, 16
	r, ok := d.openBody(h)
	if !ok {
		return
	}
	l := &d.resource
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "surface":
			l.surface, _ = ParseSurface(r.text())
			seen |= surface
		case "resource":
			l.resource = r.text()
			seen |= resource
		case "item":
			l.item = r.memoryID()
			seen |= item
		case "relation":
			l.relation, _ = ParseRelation(r.text())
			seen |= relation
		case "session":
			if r.optional(&seen, session) {
				l.named = true
				d.readSessionRef(&r)
			}
		default:
			r.skip()
		}
	}
	l.readable = r.end() == nil
	l.complete = seen&(surface|resource|item|relation) == surface|resource|item|relation
}

// readSessionRef reads {stream, session}; the stream by its name or number.
func (d *agdxDecoder) readSessionRef(r *cborReader) {
	const stream, session = 1, 2
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "stream":
			if !r.once(&seen, stream) {
				return
			}
			if r.peek()>>5 == majorText {
				d.resource.foreign = string(r.text()) != d.src.Stream
			} else {
				d.resource.foreign = r.uint(math.MaxUint64) != uint64(d.src.StreamID)
			}
		case "session":
			if r.once(&seen, session) {
				d.resource.session = r.anyID()
			}
		default:
			r.skip()
		}
	}
	if seen != stream|session {
		r.fail(errCBORMissing)
	}
}

// linkResource keeps the link. Words that the protocol does not know give none.
func (d *agdxDecoder) linkResource(rec *Record) {
	l := &d.resource
	switch {
	case !l.readable || !l.complete || l.surface == 0 || l.relation == 0:
	case l.named && l.foreign:
		d.rare(rec).LinkRefused = true
	default:
		id := rec.Session
		if l.named {
			id = l.session
		}
		d.link(rec, Link{Session: id, Surface: l.surface, Relation: l.relation, Resource: l.resource, Item: l.item})
	}
}

// linked gives the display of a resource link by its surface. A surface or
// relation that the protocol does not know is not kept.
func (d *agdxDecoder) linked() Display {
	l := &d.resource
	if !l.readable || l.surface == 0 {
		return d.plain()
	}
	d.word(SumSurface, l.surface.String())
	if l.relation != 0 {
		d.word(SumRelation, l.relation.String())
	}
	switch l.surface {
	case SurfaceKV:
		return DisplayKVSet
	case SurfaceGraphNode, SurfaceGraphEdge:
		return DisplayGraphUpsert
	}
	return d.plain()
}
