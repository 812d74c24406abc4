package agdxlog

import "sessionfold/wire"

// Undecodable is a value that is no CBOR item, under the session's key.
func (s *Session) Undecodable(role wire.Role) {
	s.log.Add(Record{Role: role, Session: s.ID, Key: Key(s.ID), Headers: s.onlyHeader(role), Value: []byte{0xff, 0x00, 0x9f, 'x'}})
}

// onlyHeader names the session of a record without a readable value where the
// key does not: on a memory topic.
func (s *Session) onlyHeader(role wire.Role) []wire.Header {
	if role != wire.RoleMemory {
		return nil
	}
	return []wire.Header{{Key: wire.HeaderConversation, Value: Key(s.ID)}}
}

// Cut is an envelope that ends in its middle.
func (s *Session) Cut(role wire.Role) {
	e := s.event("", []byte(`{"text":"never whole"}`))
	v := e.Marshal()
	s.log.Add(Record{Role: role, Session: s.ID, Key: Key(s.ID), Headers: Headers(e, CTJSON), Value: v[:len(v)/2]})
}

// Invalid is an envelope that decodes and breaks a rule: an event with a task
// state. On the memory topic it is a record whose header names another session
// than its body. A capsule on the dead-letter topic has no rule to break beside
// its form: there it is one whose payload does not decode, a dead letter of the
// session that its key names.
func (s *Session) Invalid(role wire.Role) {
	switch role {
	case wire.RoleMemory:
		s.log.Add(Record{
			Role: role, Session: s.ID, Key: Key(s.ID), Headers: s.onlyHeader(role),
			Value: encode(map[string]any{"Forget": memoryForget{Target: "m-1", Conversation: bytesOf(NameID("another"))}}),
		})
	case wire.RoleDeadLetters:
		at := wire.Locator{}
		s.log.Add(Record{
			Role: role, Session: s.ID, Key: Key(s.ID),
			Value: encode(capsule{Source: at[:], Reason: 1, Attempts: 1, Payload: []byte("poison")}),
		})
	default:
		e := s.event("", []byte(`{"text":"states its state"}`))
		e.SetTaskState(wire.TaskWorking)
		s.Put(role, e, CTJSON)
	}
}

// Huge is a valid note of n bytes.
func (s *Session) Huge(role wire.Role, n int) {
	body := make([]byte, n)
	for i := range body {
		body[i] = 'a' + byte(i%26)
	}
	copy(body, `{"text":"`)
	copy(body[n-2:], `"}`)
	switch role {
	case wire.RoleMemory:
		s.Remember("m-huge", "fact", string(body[:n/2])) // two bytes of CBOR each
	case wire.RoleDeadLetters:
		e := s.event("", body)
		at := wire.Locator{}
		s.log.Add(Record{
			Role: role, Session: s.ID, Key: Key(s.ID), Headers: Headers(e, CTCBOR),
			Value: encode(capsule{Source: at[:], Reason: 2, Attempts: 1, Payload: e.Marshal()}),
		})
	default:
		s.Put(role, s.event("", body), CTJSON)
	}
}

// Tombstone is a null value under the session's key.
func (s *Session) Tombstone(role wire.Role) {
	s.log.Add(Record{Role: role, Session: s.ID, Key: Key(s.ID), Headers: s.onlyHeader(role)})
}

// NoSession is a record of which nothing tells the session: no key, no header,
// no envelope.
func (l *Log) NoSession(role wire.Role) {
	l.Add(Record{Role: role, Value: []byte("not an envelope")})
}
