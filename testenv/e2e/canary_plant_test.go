package e2e

import (
	"strings"

	"github.com/fxamacker/cbor/v2"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

var canonical, _ = cbor.CanonicalEncOptions().EncMode()

type m map[string]any

// body is a value in CBOR.
func body(v any) []byte {
	b, err := canonical.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// over is a text of exactly n bytes with something behind it that is to be cut.
func over(text string, n int, beyond string) string {
	return text + strings.Repeat("~", n-len(text)) + beyond
}

// sender writes the records that hold canaries.
type sender struct {
	*aviary
	*agdxlog.Session
}

// envelope writes one with a body.
func (s sender) envelope(role wire.Role, kind wire.Kind, operation string, content uint8, body []byte, fill ...func(*wire.Envelope)) {
	e := s.Envelope(kind)
	if operation != "" {
		e.Operation = []byte(operation)
	}
	e.Body = body
	switch kind {
	case wire.KindCommand, wire.KindResponse, wire.KindError:
		e.SetCorrelation(agdxlog.NameID("call", operation))
	}
	for _, f := range fill {
		f(e)
	}
	s.Put(role, e, content)
}

func (s sender) status(operation string, t wire.TaskState, body []byte) {
	s.envelope(wire.RoleLane, wire.KindStatus, operation, agdxlog.CTCBOR, body, func(e *wire.Envelope) {
		if t != 0 {
			e.SetTaskState(t).SetCorrelation(agdxlog.NameID("task"))
			e.Last = operation == wire.OpSession && t.Terminal()
		}
	})
}

// plant writes a log with canaries in every place where content can be.
func (a *aviary) plant() {
	s := sender{a, a.log.Session("canary", a.keep("agent"))}
	s.lifecycle()
	s.work()
	s.tools()
	s.states()
	s.context()
	s.resources()
	s.memories()
	s.elsewhere()
	s.end()
	a.decorate() // what stands beside the body, in all of the above
	s.deadLetters()
	s.broken()
}

func (s sender) lifecycle() {
	tags := []string{over(s.keep("tag"), 64, s.secret("tag beyond 64 bytes"))}
	for range 15 {
		tags = append(tags, string(rune('a'+len(tags))))
	}
	start := m{
		"label":     over(s.keep("label"), 256, s.secret("label beyond 256 bytes")),
		"namespace": over(s.keep("namespace"), 128, s.secret("namespace beyond 128 bytes")),
		"agent":     s.Agent, "sdk": m{"language": s.keep("sdk language"), "version": over(s.keep("sdk version"), 256, s.secret("sdk version beyond 256 bytes")), "x": s.secret("unknown field of the sdk")},
		"tags":                               append(tags, s.secret("17th tag")),
		s.secret("unknown key of the start"): s.secret("unknown field of the start"),
	}
	s.status(wire.OpSession, wire.TaskWorking, body(start))
	start["label"] = s.secret("label of a later start")
	start["tags"] = []string{s.secret("tag of a later start")}
	s.status(wire.OpSession, wire.TaskSubmitted, body(start))
	s.status(wire.OpSession, wire.TaskInputRequired, body(m{"actor": s.Agent, "note": s.secret("unknown field of a transition")}))
	s.status(wire.OpTask, wire.TaskWorking, body(m{"message": s.secret("task status")}))
	for _, op := range []string{wire.OpProgress, wire.OpCard, wire.OpQuarantine} {
		s.status(op, 0, body(m{"name": s.secret("status " + op)}))
	}
}

func (s sender) end() {
	s.status(wire.OpSession, wire.TaskFailed, body(m{
		"reason": over(s.keep("reason of the end"), 256, s.secret("reason beyond 256 bytes")),
		"error":  m{"code": 3, "retryable": true, "message": s.secret("error message of the end"), "detail": m{"trace": s.secret("error detail of the end")}, "x": s.secret("unknown field of an error")},
		"goal":   s.secret("unknown field of the end"),
	}))
	forced := body(m{"reason": "forced", "error": m{"code": 1, "retryable": false, "message": s.secret("message of a forced cancel")}})
	s.envelope(wire.RoleControl, wire.KindStatus, wire.OpSession, agdxlog.CTCBOR, forced, func(e *wire.Envelope) {
		e.SetTaskState(wire.TaskCanceled)
		e.Last = true
	})
}

func (s sender) work() {
	meta := func(key, value string) func(*wire.Envelope) {
		return func(e *wire.Envelope) { e.AddMeta(key, value) }
	}
	s.User(s.secret("user turn"))
	s.Note(s.secret("note"))
	s.envelope(wire.RoleLane, wire.KindEvent, s.keep("operation"), agdxlog.CTRaw, []byte(s.secret("raw body")))
	s.envelope(wire.RoleLane, wire.KindEvent, "", 2, []byte(s.secret("msgpack body")))
	s.envelope(wire.RoleLane, wire.KindEvent, "", agdxlog.CTCBOR, body(m{"text": s.secret("cbor body"), "bytes": []byte(s.secret("bytes in a cbor body"))}))
	s.envelope(wire.RoleLane, wire.KindEvent, "", agdxlog.CTJSON, []byte(`{"text":"\u0022`+s.secret("escaped json body")+`\n"}`))
	for _, op := range []string{wire.OpChat, wire.OpTextCompletion, wire.OpGenerateContent} {
		s.envelope(wire.RoleLane, wire.KindCommand, op, agdxlog.CTJSON, []byte(`{"prompt":"`+s.secret("prompt of "+op)+`"}`),
			meta(wire.MetaRequestModel, s.keep("model")), meta(wire.MetaProvider, s.keep("provider")), meta(wire.MetaOnBehalfOf, s.secret("on_behalf_of")))
		s.envelope(wire.RoleLane, wire.KindResponse, op, agdxlog.CTJSON, []byte(`{"content":"`+s.secret("completion of "+op)+`"}`), func(e *wire.Envelope) {
			e.FinishReason = []byte(s.keep("finish reason"))
			e.SetUsage(wire.TokenCounts{Input: 1, Output: 2})
		})
	}
	s.envelope(wire.RoleLane, wire.KindError, wire.OpChat, agdxlog.CTCBOR, body(m{"code": 2, "retryable": false, "message": s.secret("error message"), "detail": m{"trace": s.secret("error detail")}}))
	s.envelope(wire.RoleLane, wire.KindError, "", agdxlog.CTRaw, []byte(s.secret("error that is plain text")))
	s.envelope(wire.RoleWork, wire.KindCommand, wire.OpInvokeAgent, agdxlog.CTJSON, []byte(`{"task":"`+s.secret("task in an inbox")+`"}`), func(e *wire.Envelope) {
		e.Target = []byte(s.keep("addressee"))
	})
	for _, op := range []string{wire.OpChat, wire.OpReasoning, wire.OpToolArgs} {
		for i := range 3 {
			e := s.Envelope(wire.KindChunk)
			e.SetCorrelation(agdxlog.NameID("stream", op)).SetChunk(agdxlog.NameID("channel", op), uint64(i))
			if i == 0 {
				e.Operation = []byte(op)
			}
			e.Last = i == 2
			e.Body = []byte(s.secret("chunk of " + op))
			s.Put(wire.RoleChunks, e, agdxlog.CTRaw)
		}
	}
}

func (s sender) tools() {
	tool := func(e *wire.Envelope) { e.Tool = []byte(s.keep("tool")) }
	call := func(content uint8, b []byte) {
		s.envelope(wire.RoleLane, wire.KindCommand, wire.OpExecuteTool, content, b, tool)
	}
	call(agdxlog.CTJSON, []byte(`{"`+s.keep("argument key")+`":"`+s.secret("argument")+`","in":{"`+s.secret("nested argument key")+`":["`+s.secret("nested argument")+`"]}}`))
	call(agdxlog.CTCBOR, body(m{s.keep("cbor argument key"): s.secret("cbor argument"), "in": m{s.secret("nested cbor argument key"): []byte(s.secret("nested cbor argument"))}}))
	call(agdxlog.CTRaw, []byte(s.secret("raw arguments")))
	call(agdxlog.CTJSON, []byte(`["`+s.secret("arguments that are a list")+`"]`))
	call(agdxlog.CTJSON, []byte(`{"`+s.secret("argument key of broken json")+`":"`+s.secret("argument of broken json")))
	call(agdxlog.CTCBOR, []byte(s.secret("arguments that are no cbor")))
	s.envelope(wire.RoleLane, wire.KindResponse, wire.OpExecuteTool, agdxlog.CTJSON, []byte(`{"out":"`+s.secret("tool result")+`"}`), tool)
	s.envelope(wire.RoleLane, wire.KindResponse, wire.OpExecuteTool, agdxlog.CTRaw, []byte(s.secret("raw tool result")), tool)
	s.envelope(wire.RoleLane, wire.KindError, wire.OpExecuteTool, agdxlog.CTCBOR, body(m{"code": 6, "retryable": true, "message": s.secret("tool error"), "detail": m{"trace": s.secret("tool error detail")}}), tool)
}

// states writes what a document takes and what it does not: only the first may
// be stored.
func (s sender) states() {
	s.Patch(0, s.keep("op id"), `[{"op":"add","path":"/plan","value":{"`+s.state("state key")+`":"`+s.state("state value")+`"}}]`)
	s.Patch(1, "tested", `[{"op":"add","path":"/x","value":1},{"op":"test","path":"/x","value":1},{"op":"replace","path":"/x","value":"`+s.state("replaced state value")+`"}]`)
	s.Patch(2, "fails", `[{"op":"add","path":"/no","value":"`+s.secret("value of a rejected patch")+`"},{"op":"test","path":"/x","value":"`+s.secret("value of a failed test")+`"}]`)
	s.Patch(2, "nowhere", `[{"op":"remove","path":"/`+s.secret("path of a failed operation")+`"}]`)
	s.Patch(2, "strange", `[{"op":"`+s.secret("unknown patch operation")+`","path":"/x"}]`)
	s.Patch(99, "stale", `[{"op":"add","path":"/no","value":"`+s.secret("value of a stale patch")+`"}]`)
	s.Patch(2, s.keep("op id"), `[{"op":"add","path":"/no","value":"`+s.secret("value of a duplicate")+`"}]`)
	s.Patch(2, "cut", `[{"op":"add","path":"/no","value":"`+s.secret("value of a patch that is cut off"))
	s.envelope(wire.RoleLane, wire.KindEvent, wire.OpStateDelta, agdxlog.CTCBOR, body(m{"base_revision": 2, "op_id": "cbor", "patch": []m{{"op": "add", "path": "/c", "value": s.state("cbor state value")}}, "why": s.secret("unknown field of a delta")}))
	s.envelope(wire.RoleLane, wire.KindEvent, wire.OpStateDelta, agdxlog.CTRaw, []byte(s.secret("delta of another type")))
	other := s.log.Session("snapshots", "planner")
	other.Snapshot(3, `{"yes":"`+s.state("snapshot value")+`"}`)
	other.Snapshot(99, `{"no":"`+s.secret("stale snapshot")+`"}`)
	s.envelope(wire.RoleAudit, wire.KindEvent, wire.OpStateDelta, agdxlog.CTJSON, []byte(`{"base_revision":3,"op_id":"aside","patch":[{"op":"add","path":"/a","value":"`+s.secret("delta on another role")+`"}]}`))
}

func (s sender) context() {
	for _, op := range []string{wire.OpContextAssembled, wire.OpContextCompacted, wire.OpContextRetrieved} {
		s.envelope(wire.RoleLane, wire.KindEvent, op, agdxlog.CTCBOR, body(m{
			"query": s.secret("query of " + op), "items": []any{[]any{s.keep("item of context_retrieved"), 0.5}},
			"summary": s.secret("summary of " + op), "text": s.secret("text of " + op), "reason": s.secret("reason of " + op), "strategy": s.secret("strategy of " + op),
		}))
	}
}

func (s sender) resources() {
	s.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: s.keep("linked resource"), Item: s.keep("linked item"), Relation: "wrote"})
	s.Link(wire.RoleLane, agdxlog.Resource{Surface: s.secret("unknown surface"), Resource: s.secret("resource of an unknown surface"), Item: s.secret("item of an unknown surface"), Relation: "wrote"})
	s.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: s.secret("resource of an unknown relation"), Item: s.secret("item of an unknown relation"), Relation: s.secret("unknown relation")})
	s.Link(wire.RoleAudit, agdxlog.Resource{Surface: "kv", Resource: s.secret("resource of a refused link"), Item: s.secret("item of a refused link"), Relation: "wrote", Session: &agdxlog.SessionRef{Stream: s.secret("another stream"), Session: s.ID}})
	s.envelope(wire.RoleJournal, wire.KindEvent, wire.OpResourceLink, agdxlog.CTJSON, []byte(`{"surface":"kv","resource":"r","item":"i","relation":"wrote","value":"`+s.secret("value beside a link")+`"}`))
}

func (s sender) memories() {
	put := func(v any, headers ...wire.Header) {
		s.log.Add(agdxlog.Record{
			Role: wire.RoleMemory, Session: s.ID, Key: []byte(s.secret("key of a memory record")), Value: body(v),
			Headers: append(headers, wire.Header{Key: wire.HeaderConversation, Value: agdxlog.Key(s.ID)}, wire.Header{Key: wire.HeaderAgent, Value: []byte(s.Agent)},
				wire.Header{Key: wire.HeaderMemorySpace, Value: []byte(s.keep("memory namespace"))}, wire.Header{Key: s.secret("unknown header of memory"), Value: []byte(s.secret("value of an unknown header of memory"))}),
		})
	}
	put(m{"Item": m{"id": "m0", "kind": "fact", "body": s.secret("memory body that is text and so unreadable")}})
	put(m{"Item": m{"id": s.keep("memory id"), "kind": s.keep("memory kind"), "body": []byte(s.secret("memory body")), "origin": m{"quote": s.secret("memory origin")}, "producer": s.secret("memory producer")}})
	put(m{"Feedback": m{"target": "m1", "weight": 0.5, "comment": s.secret("memory feedback")}})
	put(m{"Forget": m{"target": "m1", "why": s.secret("why it was forgotten")}})
}

// elsewhere are the other roles.
func (s sender) elsewhere() {
	s.Policy(s.secret("policy rule"), false)
	s.Step(s.secret("workflow step"))
	s.envelope(wire.RoleControl, wire.KindCommand, wire.OpSessionPause, agdxlog.CTJSON, []byte(`{"participants":["`+s.Agent+`"],"why":"`+s.secret("why it was paused")+`"}`))
	s.envelope(wire.RoleControl, wire.KindCommand, wire.OpSessionResume, agdxlog.CTRaw, []byte(s.secret("body of a resume")))
	s.envelope(wire.RoleControl, wire.KindCommand, wire.OpSessionCancel, agdxlog.CTJSON, []byte(`{"why":"`+s.secret("why it was canceled")+`"}`))
	s.envelope(wire.RoleLane, wire.KindCommand, wire.OpSessionPause, agdxlog.CTJSON, []byte(`{"participants":["`+s.secret("participant of a pause without right")+`"]}`))
	s.Park(wire.Pos{Offset: 1}, wire.Pos{Offset: 2})
	for stream, what := range map[string]string{s.log.Stream: "heartbeat", s.secret("stream of a foreign heartbeat"): "foreign heartbeat"} {
		e := &wire.Envelope{Kind: wire.KindStatus, Conversation: agdxlog.NameID(what), Source: []byte(s.secret("author of a " + what)), Operation: []byte(wire.OpProgress)}
		e.SetRecord(agdxlog.NameID("record", what))
		e.Body = body(m{"process": s.secret("process of a " + what), "stream": stream, "sessions": [][]byte{s.ID[:]}, "host": s.secret("unknown field of a " + what)})
		s.log.Add(agdxlog.Record{Role: wire.RoleHeartbeats, Key: []byte(s.secret("key of a " + what)), Value: e.Marshal(), Headers: agdxlog.Headers(e, agdxlog.CTCBOR)})
	}
}
