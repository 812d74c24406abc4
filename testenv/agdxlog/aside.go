package agdxlog

import "sessionfold/wire"

// StateDelta is a state delta of one adding operation.
func (s *Session) StateDelta(base uint64, opID, path, value string) {
	d := stateDelta{Base: base, OpID: opID, Patch: []patchOp{{"add", path, value}}}
	s.Put(wire.RoleLane, s.event(wire.OpStateDelta, encode(d)), CTCBOR)
}

// Retrieved is a context record that names what was recalled.
func (s *Session) Retrieved(query string, ids ...string) {
	c := retrieved{Query: query}
	for i, id := range ids {
		c.Items = append(c.Items, [2]any{id, 1 - float64(i)/16})
	}
	s.Put(wire.RoleLane, s.event(wire.OpContextRetrieved, encode(c)), CTCBOR)
}

// Remember writes a memory item of the session.
func (s *Session) Remember(id, kind, text string) {
	body := make([]uint, len(text))
	for i := range body {
		body[i] = uint(text[i])
	}
	s.memory("Item", memoryItem{ID: id, Kind: kind, Body: body})
}

// Forget removes a memory item.
func (s *Session) Forget(id string) {
	s.memory("Forget", memoryForget{Target: id, Conversation: bytesOf(s.ID)})
}

// Feedback weighs a memory item.
func (s *Session) Feedback(id string, weight float32) {
	s.memory("Feedback", memoryFeedback{Target: id, Weight: weight, Conversation: bytesOf(s.ID)})
}

func (s *Session) memory(variant string, v any) {
	s.log.Add(Record{
		Role: wire.RoleMemory, Session: s.ID, Key: Key(s.ID), Value: encode(map[string]any{variant: v}),
		Headers: []wire.Header{
			{Key: wire.HeaderVersion, Value: avOne},
			{Key: wire.HeaderContentType, Value: ctHeader[CTCBOR]},
			{Key: wire.HeaderConversation, Value: Key(s.ID)},
			{Key: wire.HeaderAgent, Value: []byte(s.Agent)},
			{Key: wire.HeaderMemorySpace, Value: []byte("notes")},
		},
	})
}

// Policy is a decision of the policy layer, on the audit topic.
func (s *Session) Policy(rule string, allowed bool) {
	word := "deny"
	if allowed {
		word = "allow"
	}
	s.Put(wire.RoleAudit, s.event(wire.OpPolicyDecision, []byte(`{"rule":"`+rule+`","outcome":"`+word+`"}`)), CTJSON)
}

// Step is the outcome of a workflow step, on the journal.
func (s *Session) Step(name string) {
	s.Put(wire.RoleJournal, s.event("", []byte(`{"step":"`+name+`","outcome":"done"}`)), CTJSON)
}

// DeadLetter is a capsule around a command of the session that was given up.
func (s *Session) DeadLetter(attempts uint32) {
	e := s.command(wire.OpInvokeAgent, "", []byte(`{"task":"poison"}`))
	at := wire.Pos{Stream: wire.NameID(s.log.Stream), Topic: wire.NameID(s.log.Topic(wire.RoleLane))}.Locator()
	s.log.Add(Record{
		Role: wire.RoleDeadLetters, Session: s.ID, Key: Key(s.ID), Headers: Headers(e, CTCBOR),
		Value: encode(capsule{Source: at[:], Reason: 1, Attempts: attempts, Detail: "handler kept failing", Payload: e.Marshal()}),
	})
}

// Heartbeat says that a process of the stream still works on the sessions.
func (l *Log) Heartbeat(process string, sessions ...wire.ID) {
	ids := make([][16]byte, len(sessions))
	for i, id := range sessions {
		ids[i] = id
	}
	e := &wire.Envelope{Kind: wire.KindStatus, Conversation: NameID(l.Stream, "process", process), Source: []byte(process)}
	e.Operation = []byte(wire.OpProgress)
	e.SetRecord(NameID(l.Stream, "heartbeat", process))
	e.Body = encode(heartbeat{Process: process, Stream: l.Stream, Sessions: ids})
	l.Add(Record{Role: wire.RoleHeartbeats, Key: []byte(process), Headers: Headers(e, CTCBOR), Value: e.Marshal()})
}
