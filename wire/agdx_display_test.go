package wire

import (
	"fmt"
	"testing"
)

// topicOf gives a source with the role.
func topicOf(role Role) *Source {
	return NewSource("agents", "agents."+role.String(), 9, 1, role, DialectAGDX)
}

// one decodes one value.
func one(role Role, value []byte, hs ...Header) *Record {
	d := NewAGDXDecoder()
	return &d.Decode(topicOf(role), []Raw{{Offset: 5, Timestamp: 1000, Value: value, Headers: hs}})[0]
}

func op(e *Envelope, operation string) *Envelope { e.Operation = []byte(operation); return e }

func user(e *Envelope) *Envelope { return e.AddMeta(MetaRole, "user") }

func link(surface string) []byte {
	return mp(tx("surface"), tx(surface), tx("resource"), tx("r"), tx("item"), tx("i"), tx("relation"), tx("wrote"))
}

func body(e *Envelope, b []byte) *Envelope { e.Body = b; return e }

// TestDisplayWords has every display word of AGDX and every rule of the
// first-match list (spec settled.md, "AGDX fold").
func TestDisplayWords(t *testing.T) {
	seen := map[Display]bool{}
	for _, c := range []struct {
		role  Role
		name  string
		value []byte
		want  Display
	}{
		{RoleLane, "null value", nil, DisplayUndecodable},
		{RoleLane, "garbage", []byte("garbage"), DisplayUndecodable},
		{RoleLane, "an empty value", []byte{}, DisplayUndecodable},
		{RoleLane, "a broken rule", with(event(), func(e *Envelope) { e.Body = nil }).Marshal(), DisplayInvalid},
		{RoleJournal, "a broken rule on the journal", with(event(), func(e *Envelope) { e.Body = nil }).Marshal(), DisplayInvalid},

		{RoleLane, "submitted", session(TaskSubmitted, startBody().Marshal()).Marshal(), DisplaySessionSubmitted},
		{RoleLane, "working with start", session(TaskWorking, startBody().Marshal()).Marshal(), DisplaySessionStarted},
		{RoleLane, "working", session(TaskWorking, empty).Marshal(), DisplaySessionResumed},
		{RoleLane, "paused", session(TaskPaused, empty).Marshal(), DisplaySessionPaused},
		{RoleLane, "completed", session(TaskCompleted, empty).Marshal(), DisplaySessionCompleted},
		{RoleLane, "failed", session(TaskFailed, empty).Marshal(), DisplaySessionFailed},
		{RoleLane, "rejected", session(TaskRejected, empty).Marshal(), DisplaySessionFailed},
		{RoleLane, "canceled", session(TaskCanceled, empty).Marshal(), DisplaySessionCanceled},
		{RoleLane, "input required", session(TaskInputRequired, empty).Marshal(), DisplayTaskStatus},
		{RoleLane, "auth required", session(TaskAuthRequired, empty).Marshal(), DisplayTaskStatus},
		{RoleLane, "session state unknown", session(TaskUnknown, empty).Marshal(), DisplayTaskStatus},
		{RoleLane, "session state of no known code", session(99, empty).Marshal(), DisplayTaskStatus},
		{RoleChunks, "a session word on another topic", session(TaskCompleted, empty).Marshal(), DisplaySessionCompleted},
		{RoleControl, "a session word on control", session(TaskCanceled, (&SessionEnd{Reason: []byte("forced")}).Marshal()).Marshal(), DisplaySessionCanceled},
		{RoleLane, "task", task().Marshal(), DisplayTaskStatus},
		{RoleLane, "card", status(OpCard).Marshal(), DisplayAgentMessage},
		{RoleLane, "progress off the heartbeats topic", status(OpProgress).Marshal(), DisplayAgentMessage},
		{RoleJournal, "card on the journal", status(OpCard).Marshal(), DisplayAgentMessage},

		{RoleControl, "pause", op(command(), OpSessionPause).Marshal(), DisplaySessionControl},
		{RoleControl, "resume", op(command(), OpSessionResume).Marshal(), DisplaySessionControl},
		{RoleControl, "cancel", op(command(), OpSessionCancel).Marshal(), DisplaySessionControl},
		{RoleControl, "force", op(command(), OpForceCancel).Marshal(), DisplaySessionControl},
		{RoleLane, "pause on the lane", op(command(), OpSessionPause).Marshal(), DisplayUnauthorizedControl},
		{RoleWork, "force in an inbox", op(command(), OpForceCancel).Marshal(), DisplayUnauthorizedControl},
		{RoleLane, "control before role user", user(op(command(), OpSessionCancel)).Marshal(), DisplayUnauthorizedControl},
		{RoleLane, "a control word on an event", op(event(), OpSessionPause).Marshal(), DisplayAgentMessage},

		{RoleLane, "user command", user(command()).Marshal(), DisplayUserMessage},
		{RoleLane, "user before model", user(op(command(), OpChat)).Marshal(), DisplayUserMessage},
		{RoleLane, "user before tool", user(op(command(), OpExecuteTool)).Marshal(), DisplayUserMessage},
		{RoleLane, "user event", user(event()).Marshal(), DisplayUserMessage},
		{RoleLane, "user before state", user(op(event(), OpStateDelta)).Marshal(), DisplayUserMessage},
		{RoleLane, "user on a response", user(response()).Marshal(), DisplayAgentMessage},
		{RoleLane, "role assistant", event().AddMeta(MetaRole, "assistant").Marshal(), DisplayAgentMessage},

		{RoleLane, "chat", op(command(), OpChat).Marshal(), DisplayModelRequest},
		{RoleLane, "text completion", op(command(), OpTextCompletion).Marshal(), DisplayModelRequest},
		{RoleWork, "generate content", op(command(), OpGenerateContent).Marshal(), DisplayModelRequest},
		{RoleLane, "tool call", op(command(), OpExecuteTool).Marshal(), DisplayToolCall},
		{RoleLane, "handoff", op(command(), OpInvokeAgent).Marshal(), DisplayAgentHandoff},
		{RoleLane, "another command", op(command(), "plan").Marshal(), DisplayAgentMessage},
		{RoleJournal, "another command on the journal", op(command(), "plan").Marshal(), DisplayWorkflowStep},
		{RoleJournal, "tool call on the journal", op(command(), OpExecuteTool).Marshal(), DisplayToolCall},

		{RoleLane, "state delta", op(event(), OpStateDelta).Marshal(), DisplayStateUpdated},
		{RoleLane, "state snapshot", op(event(), OpStateSnapshot).Marshal(), DisplayStateUpdated},
		{RoleLane, "context assembled", op(event(), OpContextAssembled).Marshal(), DisplayContextAssembled},
		{RoleLane, "context compacted", op(event(), OpContextCompacted).Marshal(), DisplayContextCompacted},
		{RoleLane, "context retrieved", op(event(), OpContextRetrieved).Marshal(), DisplayContextRetrieved},
		{RoleAudit, "policy decision", op(event(), OpPolicyDecision).Marshal(), DisplayPolicyDecision},
		{RoleLane, "parked", body(op(event(), OpSessionParked), parking().Marshal()).Marshal(), DisplaySessionParked},
		{RoleLane, "unparked", body(op(event(), OpSessionUnparked), parking().Marshal()).Marshal(), DisplaySessionUnparked},
		{RoleLane, "kv link", body(op(event(), OpResourceLink), link("kv")).Marshal(), DisplayKVSet},
		{RoleLane, "node link", body(op(event(), OpResourceLink), link("graph_node")).Marshal(), DisplayGraphUpsert},
		{RoleAudit, "edge link in JSON", body(op(event(), OpResourceLink), []byte(`{"surface":"graph_edge","resource":"g"}`)).Marshal(), DisplayGraphUpsert},
		{RoleLane, "memory link", body(op(event(), OpResourceLink), link("memory")).Marshal(), DisplayAgentMessage},
		{RoleLane, "unreadable link", body(op(event(), OpResourceLink), []byte(`{"surface":"kv"`)).Marshal(), DisplayAgentMessage},
		{RoleLane, "another event", event().Marshal(), DisplayAgentMessage},
		{RoleJournal, "another event on the journal", event().Marshal(), DisplayWorkflowStep},

		{RoleLane, "model response", op(response(), OpChat).Marshal(), DisplayModelResponse},
		{RoleLane, "tool result", op(response(), OpExecuteTool).Marshal(), DisplayToolResult},
		{RoleLane, "another response", response().Marshal(), DisplayAgentMessage},
		{RoleJournal, "another response on the journal", response().Marshal(), DisplayWorkflowStep},
		{RoleLane, "tool error", op(failure(), OpExecuteTool).Marshal(), DisplayToolResult},
		{RoleLane, "error", failure().Marshal(), DisplayError},
		{RoleLane, "model error", op(failure(), OpChat).Marshal(), DisplayError},
		{RoleJournal, "error on the journal", failure().Marshal(), DisplayError},

		{RoleChunks, "chat stream", firstChunk().Marshal(), DisplayModelStream},
		{RoleChunks, "reasoning stream", op(firstChunk(), OpReasoning).Marshal(), DisplayModelStream},
		{RoleChunks, "argument stream", op(firstChunk(), OpToolArgs).Marshal(), DisplayAgentMessage},
		{RoleChunks, "later chunk", laterChunk().Marshal(), DisplayAgentMessage},

		{RoleMemory, "memory item", (&MemoryRecord{Op: MemoryItem, ID: []byte("m"), Kind: []byte("fact")}).Marshal(nil), DisplayMemoryCreated},
		{RoleMemory, "memory forget", (&MemoryRecord{Op: MemoryForget, ID: []byte("m")}).Marshal(nil), DisplayMemoryForgotten},
		{RoleMemory, "memory feedback", (&MemoryRecord{Op: MemoryFeedback, ID: []byte("m")}).Marshal(nil), DisplayMemoryFeedback},
		{RoleMemory, "an envelope on the memory topic", event().Marshal(), DisplayUndecodable},
		{RoleDeadLetters, "capsule", (&DeadLetter{Source: make([]byte, 20), Payload: []byte("?")}).Marshal(), DisplayDeadLetter},
		{RoleDeadLetters, "an envelope among the dead letters", event().Marshal(), DisplayUndecodable},
	} {
		t.Run(fmt.Sprintf("%s/%s", c.role, c.name), func(t *testing.T) {
			rec := one(c.role, c.value)
			if rec.Display != c.want {
				t.Errorf("shows %s (%s), want %s", rec.Display, rec.Reason, c.want)
			}
			bad := c.want == DisplayUndecodable || c.want == DisplayInvalid
			if bad != (rec.Reason != "") {
				t.Errorf("reason is %q", rec.Reason)
			}
			if bad && (rec.Facts != 0 || rec.Usage != nil || rec.Lifecycle != nil) {
				t.Errorf("an unusable record says %+v", rec)
			}
		})
		seen[c.want] = true
	}
	for d := range displayEnd {
		if !seen[d] {
			t.Errorf("no record of the table shows %s", d)
		}
	}
}

func TestDisplayWordsParse(t *testing.T) {
	for d := range displayEnd {
		if back, ok := ParseDisplay(d.String()); !ok || back != d {
			t.Errorf("%s reads back as %s, %v", d, back, ok)
		}
	}
	if _, ok := ParseDisplay("no.such"); ok {
		t.Error("an unknown word was read")
	}
}
