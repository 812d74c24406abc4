package wire

import "errors"

// MaxHeartbeatSessions is the most sessions one heartbeat names.
const MaxHeartbeatSessions = 2048

// ErrHeartbeat is returned for a record that is no heartbeat: not a valid
// status(progress) envelope, or with a body that is none.
var ErrHeartbeat = errors.New("wire: the record is no heartbeat")

// Heartbeat is the body of a heartbeat (spec agdx.md, section 7): the sessions
// that a process works on.
type Heartbeat struct {
	Process  []byte
	Stream   []byte
	Sessions []ID
}

// DecodeHeartbeat reads a heartbeat body.
func DecodeHeartbeat(b []byte) (h Heartbeat, err error) {
	const process, stream, sessions = 1, 2, 4
	r := cborReader{b: b}
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "process":
			if r.once(&seen, process) {
				h.Process = r.text()
			}
		case "stream":
			if r.once(&seen, stream) {
				h.Stream = r.text()
			}
		case "sessions":
			if r.once(&seen, sessions) {
				h.readSessions(&r)
			}
		default:
			r.skip()
		}
	}
	return h, r.endWith(seen == process|stream|sessions)
}

func (h *Heartbeat) readSessions(r *cborReader) {
	for l := r.open(majorArray); r.more(&l); {
		if len(h.Sessions) == MaxHeartbeatSessions {
			r.fail(errCBORType)
			return
		}
		var id ID
		r.id(&id)
		h.Sessions = append(h.Sessions, id)
	}
}

// Marshal encodes a heartbeat body.
func (h *Heartbeat) Marshal() []byte {
	b := appendHead(nil, majorMap, 3)
	b = appendText(appendText(b, "process"), h.Process)
	b = appendText(appendText(b, "stream"), h.Stream)
	b = appendHead(appendText(b, "sessions"), majorArray, uint64(len(h.Sessions)))
	for i := range h.Sessions {
		b = appendBytes(b, h.Sessions[i][:])
	}
	return b
}

// ReadHeartbeat reads a record of a heartbeats topic. The caller compares
// Stream with its own: a body that names another stream is ignored and counted.
func ReadHeartbeat(raw *Raw) (Heartbeat, error) {
	e, err := DecodeEnvelope(raw.Value)
	if err != nil || e.invalid() != "" || e.Kind != KindStatus || string(e.Operation) != OpProgress {
		return Heartbeat{}, ErrHeartbeat
	}
	if head := readHeaders(raw.Headers); head.disagree(&e) != "" {
		return Heartbeat{}, ErrHeartbeat
	}
	h, err := DecodeHeartbeat(e.Body)
	if err != nil {
		return Heartbeat{}, ErrHeartbeat
	}
	return h, nil
}
