package wire

import "math"

// SessionParking is the body of session_parked and session_unparked (spec
// agdx.md, section 5). Source position, role and request are its identity.
type SessionParking struct {
	Source          Pos // of the parked record
	HasConversation bool
	Conversation    ID
	Role            []byte // agent id
	Request         []byte // locator of the pause request as received
}

// DecodeSessionParking reads a parking body. One without source with
// generation, role and request does not fit.
func DecodeSessionParking(b []byte) (p SessionParking, err error) {
	const source, role, request = 1, 2, 4
	r := cborReader{b: b}
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "source":
			if r.once(&seen, source) {
				p.readSource(&r)
			}
		case "role":
			if r.once(&seen, role) {
				p.Role = r.agent()
			}
		case "request":
			if r.once(&seen, request) {
				p.Request = r.bytes()
			}
		default:
			r.skip()
		}
	}
	return p, r.endWith(seen == source|role|request)
}

// readSource reads {"Message": {…}}: a parked record is a log record, so the
// other references do not fit.
func (p *SessionParking) readSource(r *cborReader) {
	const message = 1
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		if string(r.key()) != "Message" {
			r.fail(errCBORType)
			return
		}
		if r.once(&seen, message) && !p.readMessage(r) {
			r.fail(errCBORMissing)
		}
	}
	if seen != message {
		r.fail(errCBORMissing)
	}
}

// readMessage reads a message reference; full says that it has a generation.
func (p *SessionParking) readMessage(r *cborReader) (full bool) {
	const stream, topic, partition, offset, generation, conversation = 1, 2, 4, 8, 16, 32
	var seen, has int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "stream":
			if r.once(&seen, stream) {
				p.Source.Stream = uint32(r.uint(math.MaxUint32))
			}
		case "topic":
			if r.once(&seen, topic) {
				p.Source.Topic = uint32(r.uint(math.MaxUint32))
			}
		case "partition":
			if r.once(&seen, partition) {
				p.Source.Partition = uint32(r.uint(math.MaxUint32))
			}
		case "offset":
			if r.once(&seen, offset) {
				p.Source.Offset = r.uint(math.MaxUint64)
			}
		case "generation":
			if r.optional(&seen, generation) {
				p.Source.Generation = r.uint(math.MaxUint64)
				has |= generation
			}
		case "conversation":
			if r.optional(&seen, conversation) {
				p.HasConversation = true
				r.id(&p.Conversation)
			}
		default:
			r.skip()
		}
	}
	const all = stream | topic | partition | offset
	return seen&all == all && has&generation != 0
}

// Marshal encodes a parking body.
func (p *SessionParking) Marshal() []byte {
	b := appendHead(nil, majorMap, 3)
	b = appendHead(appendText(b, "source"), majorMap, 1)
	b = appendHead(appendText(b, "Message"), majorMap, 5+count(p.HasConversation))
	b = appendUint(appendText(b, "stream"), uint64(p.Source.Stream))
	b = appendUint(appendText(b, "topic"), uint64(p.Source.Topic))
	b = appendUint(appendText(b, "partition"), uint64(p.Source.Partition))
	b = appendUint(appendText(b, "offset"), p.Source.Offset)
	if p.HasConversation {
		b = appendBytes(appendText(b, "conversation"), p.Conversation[:])
	}
	b = appendUint(appendText(b, "generation"), p.Source.Generation)
	b = appendText(appendText(b, "role"), p.Role)
	return appendBytes(appendText(b, "request"), p.Request)
}
