package wire

import "math"

// DeadLetter is the capsule of a dead-letter topic (spec agdx.md, section 3).
type DeadLetter struct {
	Source   []byte // locator of the dead record as received
	Reason   uint8
	Attempts uint32
	Detail   []byte // content: never kept; nil when absent
	Payload  []byte // the dead record's value, verbatim
}

// DecodeDeadLetter reads a capsule; an error means that it is undecodable.
func DecodeDeadLetter(b []byte) (d DeadLetter, err error) {
	const source, reason, attempts, detail, payload = 1, 2, 4, 8, 16
	r := cborReader{b: b}
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "source":
			if r.once(&seen, source) {
				d.Source = r.bytes()
			}
		case "reason":
			if r.once(&seen, reason) {
				d.Reason = uint8(r.uint(math.MaxUint8))
			}
		case "attempts":
			if r.once(&seen, attempts) {
				d.Attempts = uint32(r.uint(math.MaxUint32))
			}
		case "detail":
			if r.optional(&seen, detail) {
				d.Detail = r.text()
			}
		case "payload":
			if r.once(&seen, payload) {
				d.Payload = r.bytes()
			}
		default:
			r.skip()
		}
	}
	const all = source | reason | attempts | payload
	return d, r.endWith(seen&all == all)
}

// Marshal encodes a capsule.
func (d *DeadLetter) Marshal() []byte {
	b := appendHead(make([]byte, 0, 128+len(d.Payload)), majorMap, 4+count(d.Detail != nil))
	b = appendBytes(appendText(b, "source"), d.Source)
	b = appendUint(appendText(b, "reason"), uint64(d.Reason))
	b = appendUint(appendText(b, "attempts"), uint64(d.Attempts))
	if d.Detail != nil {
		b = appendText(appendText(b, "detail"), d.Detail)
	}
	return appendBytes(appendText(b, "payload"), d.Payload)
}
