package main

import (
	"crypto/rand"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// session makes the records of one conversation.
type session struct {
	id, parent wire.ID // parent is zero for a session that nobody spawned
	agent      string
	revision   uint64 // of the state document
	records    []*kgo.Record
}

func newSession(agent string) *session { return &session{id: newID(), agent: agent} }

// child is a session that this one spawned.
func (s *session) child(agent string) *session {
	c := newSession(agent)
	c.parent = s.id
	return c
}

func newID() (id wire.ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// envelope is what every record has: its kind, its own id, the session, who
// wrote it, and where the session belongs.
func (s *session) envelope(kind wire.Kind, operation string) *wire.Envelope {
	e := &wire.Envelope{Kind: kind, Conversation: s.id, Source: []byte(s.agent), Operation: text(operation)}
	e.SetRecord(newID())
	if !s.parent.IsZero() {
		e.SetParent(s.parent).SetRoot(s.parent) // of a tree of two levels the parent is the root
	}
	return e
}

// add appends a record. Its key is the session, and the headers say again what a
// reader may want to know before it decodes the value.
func (s *session) add(e *wire.Envelope, content wire.ContentType) {
	r := &kgo.Record{Key: wire.SessionKey(s.id), Value: e.Marshal()}
	for _, h := range e.Headers(content) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	s.records = append(s.records, r)
}

// take gives the records made so far and begins a new part.
func (s *session) take(name string) part {
	p := part{name: name, session: s.id, records: s.records}
	s.records = nil
	return p
}

// start says that the session's agent works on it.
func (s *session) start(label string) {
	b := &wire.Start{
		Label: []byte(label), HasLabel: true, Agent: []byte(s.agent), Tags: [][]byte{[]byte("example")},
		HasSDK: true, SDKLanguage: []byte("go"), SDKVersion: []byte("1.0.0"),
	}
	if !s.parent.IsZero() { // exactly as the envelope says
		b.Parent, b.HasParent, b.Root, b.HasRoot = s.parent, true, s.parent, true
	}
	e := s.envelope(wire.KindStatus, wire.OpSession)
	e.SetTaskState(wire.TaskWorking)
	e.Body = b.Marshal()
	s.add(e, wire.ContentCBOR)
}

// end completes the session. Only terminal states are the last of their kind.
func (s *session) end(reason string) {
	e := s.envelope(wire.KindStatus, wire.OpSession)
	e.SetTaskState(wire.TaskCompleted)
	e.Last = true
	e.Body = (&wire.SessionEnd{Reason: []byte(reason)}).Marshal()
	s.add(e, wire.ContentCBOR)
}

// user is a person's turn.
func (s *session) user(text string) {
	e := s.envelope(wire.KindEvent, "")
	e.AddMeta(wire.MetaRole, "user")
	e.Body = encode(map[string]string{"text": text})
	s.add(e, wire.ContentJSON)
}

// call is a request and its reply; the correlation pairs them. finish adds what
// only the reply has.
func (s *session) call(operation, tool string, request, reply any, finish func(*wire.Envelope)) {
	req := s.envelope(wire.KindCommand, operation)
	req.SetCorrelation(newID())
	req.Tool, req.Body = text(tool), encode(request)
	s.add(req, wire.ContentJSON)

	res := s.envelope(wire.KindResponse, operation)
	res.SetCorrelation(req.Correlation).SetCause(req.Record)
	res.Tool, res.Body = text(tool), encode(reply)
	if finish != nil {
		finish(res)
	}
	s.add(res, wire.ContentJSON)
}

// model is a model call. Usage stands once per call, on its result; the cost is
// in millionths.
func (s *session) model(name, prompt, answer string, in, out, cost uint64) {
	s.call(wire.OpChat, "", map[string]string{"prompt": prompt}, map[string]string{"content": answer}, func(e *wire.Envelope) {
		e.AddMeta(wire.MetaResponseModel, name)
		e.SetUsage(wire.TokenCounts{Input: in, Output: out, Cost: cost, Has: wire.HasCost})
		e.FinishReason = []byte("stop")
	})
}

// tool is a tool call.
func (s *session) tool(name string, arguments, result any) {
	s.call(wire.OpExecuteTool, name, arguments, result, nil)
}

// snapshot is the whole state document. It is a checkpoint: the revision stays.
func (s *session) snapshot(document any) {
	e := s.envelope(wire.KindEvent, wire.OpStateSnapshot)
	e.Body = encode(map[string]any{"base_revision": s.revision, "document": document})
	s.add(e, wire.ContentJSON)
}

// op is an operation of a JSON patch (RFC 6902).
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// delta patches the state document. It applies as a whole, to the revision that
// it names and to no other; its id makes a repeat harmless.
func (s *session) delta(ops ...op) {
	e := s.envelope(wire.KindEvent, wire.OpStateDelta)
	e.Body = encode(map[string]any{"base_revision": s.revision, "op_id": newID().String(), "patch": ops})
	s.add(e, wire.ContentJSON)
	s.revision++
}

// text is an optional text: nil when it is empty.
func text(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and structs of texts and numbers
	}
	return b
}
