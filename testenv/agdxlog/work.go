package agdxlog

import "sessionfold/wire"

// Tokens is the usage of one model call; CostMicros < 0 leaves the cost out,
// which makes the call unpriced.
type Tokens struct {
	In, Out, CacheRead, Reasoning uint64
	CostMicros                    int64
}

func (t Tokens) counts() wire.TokenCounts {
	c := wire.TokenCounts{Input: t.In, Output: t.Out}
	if t.CacheRead > 0 {
		c.CacheRead, c.Has = t.CacheRead, c.Has|wire.HasCacheRead
	}
	if t.Reasoning > 0 {
		c.Reasoning, c.Has = t.Reasoning, c.Has|wire.HasReasoning
	}
	if t.CostMicros >= 0 {
		c.Cost, c.Has = uint64(t.CostMicros), c.Has|wire.HasCost
	}
	return c
}

// Note is an agent's message.
func (s *Session) Note(text string) {
	s.buf = append(append(append(s.buf[:0], `{"text":"`...), text...), `"}`...)
	s.Put(wire.RoleLane, s.event("", s.buf), CTJSON)
}

// User is a person's turn.
func (s *Session) User(text string) {
	e := s.event("", []byte(`{"text":"`+text+`"}`))
	e.AddMeta(wire.MetaRole, "user")
	s.Put(wire.RoleLane, e, CTJSON)
}

// Model is a model call: a request and, correlated with it, a response with the
// call's usage.
func (s *Session) Model(model string, t Tokens) {
	req := s.ModelRequest(model)
	s.ModelResponse(req, model, t)
}

// ModelRequest is the first half of Model.
func (s *Session) ModelRequest(model string) *wire.Envelope {
	e := s.command(wire.OpChat, "", []byte(`{"messages":[{"role":"system","content":"you are a careful agent"},{"role":"user","content":"go on"}],"max_tokens":4096}`))
	e.AddMeta(wire.MetaRequestModel, model)
	e.AddMeta(wire.MetaProvider, "example")
	s.Put(wire.RoleLane, e, CTJSON)
	return e
}

// ModelResponse is the second half of Model.
func (s *Session) ModelResponse(req *wire.Envelope, model string, t Tokens) {
	e := s.reply(wire.KindResponse, req)
	e.FinishReason = []byte("stop")
	e.SetUsage(t.counts())
	e.AddMeta(wire.MetaResponseModel, model)
	e.AddMetaUint(wire.MetaDuration, 400_000+t.Out*9_000)
	e.Body = []byte(`{"content":"I will look at the configuration first and then at the logs of the last hour."}`)
	s.Put(wire.RoleLane, e, CTJSON)
}

// Tool is a tool call with its result; arguments and result are JSON.
func (s *Session) Tool(name, args, result string) {
	e := s.reply(wire.KindResponse, s.ToolCall(name, args))
	e.Tool = []byte(name)
	e.AddMetaUint(wire.MetaDuration, 12_000+uint64(len(args))*1_000)
	e.Body = []byte(result)
	s.Put(wire.RoleLane, e, CTJSON)
}

// ToolFails is a tool call that ends in an error record.
func (s *Session) ToolFails(name, args, message string) {
	e := s.reply(wire.KindError, s.ToolCall(name, args))
	e.Tool = []byte(name)
	e.Body = encode(failure{Code: 6, Message: message, Retryable: true})
	s.Put(wire.RoleLane, e, CTCBOR)
}

// ToolCall is a tool call without its result.
func (s *Session) ToolCall(name, args string) *wire.Envelope {
	e := s.command(wire.OpExecuteTool, "", []byte(args))
	e.Tool = []byte(name)
	s.Put(wire.RoleLane, e, CTJSON)
	return e
}

// Handoff asks another agent for work, on the inbox topic when the log has one,
// else on the lane.
func (s *Session) Handoff(target, task string) *wire.Envelope {
	e := s.command(wire.OpInvokeAgent, "", []byte(`{"task":"`+task+`"}`))
	e.Target = []byte(target)
	role := wire.RoleLane
	if s.log.Topic(wire.RoleWork) != "" {
		role = wire.RoleWork
	}
	s.Put(role, e, CTJSON)
	return e
}

// Error is an error record that no tool caused.
func (s *Session) Error(message string) {
	e := s.Envelope(wire.KindError)
	e.SetCorrelation(s.id())
	e.Body = encode(failure{Code: 1, Message: message})
	s.Put(wire.RoleLane, e, CTCBOR)
}

// Stream is a chunk stream: an opening chunk, n more and a last one. operation
// is chat, reasoning or tool_args.
func (s *Session) Stream(operation string, n int) {
	channel, correlation := s.id(), s.id()
	for i := range n + 2 {
		s.Chunk(channel, correlation, uint64(i), operation, i == n+1)
	}
}

// Chunk is one chunk of a stream; the operation rides on the first only.
func (s *Session) Chunk(channel, correlation wire.ID, sequence uint64, operation string, last bool) {
	e := s.Envelope(wire.KindChunk)
	e.SetCorrelation(correlation).SetChunk(channel, sequence)
	if sequence == 0 {
		e.Operation = []byte(operation)
	}
	if last {
		e.Last, e.FinishReason = true, []byte("stop")
	} else {
		e.Body = []byte(" token")
	}
	s.Put(wire.RoleChunks, e, CTRaw)
}

func (s *Session) reply(kind wire.Kind, to *wire.Envelope) *wire.Envelope {
	e := s.Envelope(kind)
	e.Operation = to.Operation
	e.SetCorrelation(to.Correlation).SetCause(to.Record)
	return e
}
