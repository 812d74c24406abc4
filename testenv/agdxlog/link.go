package agdxlog

import "sessionfold/wire"

// Resource is a resource that a session has to do with, in the words of the
// protocol. Session, when set, is whom the link is of: another session, which
// may be of another stream.
type Resource struct {
	Surface  string      `cbor:"surface"`
	Resource string      `cbor:"resource"`
	Item     string      `cbor:"item"`
	Relation string      `cbor:"relation"`
	Session  *SessionRef `cbor:"session,omitempty"`
}

// SessionRef names a session of a stream.
type SessionRef struct {
	Stream  string   `cbor:"stream"`
	Session [16]byte `cbor:"session"`
}

// Link is a resource link on the topic of a role.
func (s *Session) Link(role wire.Role, r Resource) {
	s.Put(role, s.event(wire.OpResourceLink, encode(r)), CTCBOR)
}

// Park says that the session's agent put the work at a position aside because of
// a pause request; Unpark that it took the work up.
func (s *Session) Park(work, request wire.Pos) { s.parking(wire.OpSessionParked, work, request) }

// Unpark is the counterpart of Park.
func (s *Session) Unpark(work, request wire.Pos) { s.parking(wire.OpSessionUnparked, work, request) }

func (s *Session) parking(operation string, work, request wire.Pos) {
	l := request.Locator()
	p := wire.SessionParking{Source: work, Role: []byte(s.Agent), Request: l[:]}
	s.Put(wire.RoleLane, s.event(operation, p.Marshal()), CTCBOR)
}
