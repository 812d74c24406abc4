package e2e

import (
	"bytes"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// decorate puts canaries beside the bodies of all envelopes: metadata that nobody
// knows, identifiers that are not kept, unknown fields, keys and headers.
func (a *aviary) decorate() {
	for i := range a.log.Records {
		r := &a.log.Records[i]
		e, err := wire.DecodeEnvelope(r.Value)
		if err != nil || r.Role == wire.RoleMemory {
			continue
		}
		e.AddMeta(a.secret("unknown metadata key"), a.secret("metadata value"))
		e.Metadata = append(e.Metadata, wire.Meta{Key: []byte("prompts"), Value: wire.MetaValue{Type: wire.MetaList, List: []wire.MetaValue{{Text: []byte(a.secret("metadata list"))}}}})
		e.CauseAt = []byte(a.secret("cause that is no locator"))
		if e.Kind == wire.KindCommand || e.Kind == wire.KindResponse || e.Kind == wire.KindEvent {
			e.IdempotencyKey = []byte(a.secret("idempotency key"))
		}
		v := e.Marshal()
		if v[0] >= 0xb7 {
			panic("too many fields for a head of one byte")
		}
		v[0]++
		key, value := a.secret("unknown field of an envelope"), a.secret("value of an unknown field of an envelope")
		r.Value = append(append(v, body(key)...), body(m{"deep": value})...)
		r.Headers = append(r.Headers,
			wire.Header{Key: a.secret("unknown header"), Value: []byte(a.secret("value of an unknown header"))},
			wire.Header{Key: "traceparent", Value: []byte(a.secret("traceparent"))},
			wire.Header{Key: wire.HeaderConversation, Value: []byte(a.secret("conversation header that is no id"))})
		if r.Role != wire.RoleHeartbeats {
			r.Key = []byte(a.secret("record key"))
		}
	}
}

func (s sender) deadLetters() {
	at := wire.Locator{}
	capsule := func(payload []byte) {
		s.log.Add(agdxlog.Record{
			Role: wire.RoleDeadLetters, Session: s.ID, Key: agdxlog.Key(s.ID),
			Headers: []wire.Header{{Key: wire.HeaderConversation, Value: agdxlog.Key(s.ID)}, {Key: "x-error", Value: []byte(s.secret("error header of a dead letter"))}},
			Value: body(m{
				"source": at[:], "reason": 1, "attempts": 3, "detail": s.secret("detail of a dead letter"), "payload": payload,
				"stack": s.secret("unknown field of a dead letter"),
			}),
		})
	}
	e := s.Envelope(wire.KindCommand)
	e.Operation, e.Tool, e.Body = []byte(s.secret("operation of a dead payload")), []byte(s.secret("tool of a dead payload")), []byte(s.secret("body of a dead payload"))
	e.SetCorrelation(agdxlog.NameID("dead")).AddMeta("note", s.secret("metadata of a dead payload"))
	capsule(e.Marshal())
	capsule([]byte(s.secret("dead payload that does not decode")))
	capsule(append([]byte{0xff}, s.secret("dead payload of strange bytes")...))
}

// broken are values that cannot be read, or break a rule, on every role.
func (s sender) broken() {
	roles := []wire.Role{
		wire.RoleLane, wire.RoleChunks, wire.RoleControl, wire.RoleMemory, wire.RoleDeadLetters,
		wire.RoleAudit, wire.RoleJournal, wire.RoleWork, wire.RoleHeartbeats,
	}
	for _, role := range roles {
		at := " on " + role.String()
		add := func(session wire.ID, key string, value []byte, headers ...wire.Header) {
			s.log.Add(agdxlog.Record{Role: role, Session: session, Key: []byte(key), Value: value, Headers: headers})
		}
		mine := wire.Header{Key: wire.HeaderConversation, Value: agdxlog.Key(s.ID)}
		add(s.ID, s.secret("key of strange bytes"+at), append([]byte{0xff, 0x9f}, s.secret("strange bytes"+at)...), mine)
		add(s.ID, s.secret("key of plain text"+at), []byte(s.secret("plain text"+at)), mine)
		add(s.ID, s.secret("key of a tombstone"+at), nil, mine, wire.Header{Key: "why", Value: []byte(s.secret("header of a tombstone" + at))})
		add(wire.ID{}, s.secret("key of nobody"+at), []byte(s.secret("bytes of nobody"+at)), wire.Header{Key: wire.HeaderConversation, Value: []byte(s.secret("no id" + at))})
		if role == wire.RoleMemory || role == wire.RoleDeadLetters {
			continue
		}
		e := s.Envelope(wire.KindEvent)
		e.Body = []byte(`{"text":"` + s.secret("envelope that is cut"+at) + `","more":"more and more and more"}`)
		whole := e.Marshal()
		add(s.ID, "k", whole[:len(whole)-10], mine)
		strange := bytes.Replace(whole, []byte("\x65event"), append([]byte{0x78, 24}, s.secret("unknown kind"+at)...), 1)
		add(s.ID, "k", strange, mine)
		e.Body = []byte(s.secret("body that breaks a rule" + at))
		e.SetTaskState(wire.TaskWorking)
		e.AddMeta("note", s.secret("metadata that breaks a rule"+at))
		s.Put(role, e, agdxlog.CTJSON)
		e = s.Envelope(wire.KindEvent)
		e.Body = []byte(s.secret("body under another author" + at))
		s.log.Add(agdxlog.Record{Role: role, Session: s.ID, Key: agdxlog.Key(s.ID), Value: e.Marshal(), Headers: []wire.Header{{Key: wire.HeaderAgent, Value: []byte(s.secret("another author" + at))}}})
	}
}
