package agdxlog

import (
	"crypto/ed25519"

	"sessionfold/wire"
)

// Session writes one conversation of a Log.
type Session struct {
	ID           wire.ID
	Agent        string
	Parent, Root *wire.ID

	log *Log
	n   uint64 // ids drawn
	buf []byte

	key   ed25519.PrivateKey // nil: signs nothing
	bound bool
}

// Session is the conversation named by a word, with its agent.
func (l *Log) Session(name, agent string) *Session {
	return l.SessionID(NameID(l.Stream, name), agent)
}

// SessionID is the conversation with an id, with its agent.
func (l *Log) SessionID(id wire.ID, agent string) *Session {
	return &Session{ID: id, Agent: agent, log: l}
}

// Child is a session that this one spawned: its parent is this session, its
// root this session's root, or this session itself.
func (s *Session) Child(id wire.ID, agent string) *Session {
	parent, root := s.ID, s.ID
	if s.Root != nil {
		root = *s.Root
	}
	return &Session{ID: id, Agent: agent, Parent: &parent, Root: &root, log: s.log}
}

// By is the same conversation written by another agent. Ids go on together as
// long as only one of the two writes at a time.
func (s *Session) By(agent string) *Session {
	o := *s
	o.Agent, o.n = agent, s.n+1<<32
	return &o
}

// id draws the next id of the session.
func (s *Session) id() wire.ID {
	s.n++
	return next(s.ID, s.n)
}

// Envelope is a valid frame to fill: kind, conversation, author, parent and
// root, and a record id where the kind wants one.
func (s *Session) Envelope(kind wire.Kind) *wire.Envelope {
	e := &wire.Envelope{Kind: kind, Conversation: s.ID, Source: []byte(s.Agent)}
	if kind != wire.KindChunk {
		e.SetRecord(s.id())
	}
	if s.Parent != nil {
		e.SetParent(*s.Parent)
	}
	if s.Root != nil {
		e.SetRoot(*s.Root)
	}
	return e
}

// Put writes an envelope on the topic of a role.
func (s *Session) Put(role wire.Role, e *wire.Envelope, contentType uint8) {
	s.sign(e, contentType)
	s.log.Add(Record{
		Role: role, Session: s.ID, Key: Key(s.ID),
		Headers: Headers(e, contentType), Value: e.Marshal(),
	})
}

func (s *Session) event(operation string, body []byte) *wire.Envelope {
	e := s.Envelope(wire.KindEvent)
	if operation != "" {
		e.Operation = []byte(operation)
	}
	e.Body = body
	return e
}

func (s *Session) command(operation, role string, body []byte) *wire.Envelope {
	e := s.Envelope(wire.KindCommand)
	e.Operation = []byte(operation)
	e.SetCorrelation(s.id())
	if role != "" {
		e.AddMeta(wire.MetaRole, role)
	}
	e.Body = body
	return e
}

func (s *Session) status(t wire.TaskState, body any) {
	e := s.Envelope(wire.KindStatus)
	e.Operation = []byte(wire.OpSession)
	e.SetTaskState(t)
	e.Last = t.Terminal()
	e.Body = encode(body)
	s.Put(wire.RoleLane, e, CTCBOR)
}
