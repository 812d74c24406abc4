package e2e

// deepStrike plants a session of DeepStrike: every kind of record with content.
func (f *foreigner) deepStrike(id string) {
	seq := 0
	say := func(kind string, v m) {
		v["kind"] = kind
		if seq++; seq%2 == 0 { // both forms of a record
			f.object(id, v)
			return
		}
		f.object(id, m{"seq": seq, "event": v})
	}
	args := func(what string) string {
		return string(inJSON(m{f.keep("argument key"): f.secret("argument of " + what), "in": m{f.secret("nested argument key of " + what): []string{f.secret("nested argument of " + what)}}}))
	}
	say("run_started", m{
		"run_id": "r", "goal": f.shown("goal"), "criteria": []string{f.secret("criterion")}, "agent_id": f.keep("agent"),
		"system_prompt": f.secret("system prompt"), "attachments": []m{{"text": f.secret("attachment")}},
	})
	say("llm_completed", m{"turn": 1, "content": f.secret("agent message"), "token_count": 1, "provider_replay": m{"reasoning_content": f.secret("thought")}, "tool_calls": []m{{"id": "1", "name": "t", "arguments": args("a flat call")}}})
	say("llm_completed", m{"turn": 2, "message": m{"role": "assistant", "content": []m{{"type": "text", "text": f.secret("nested agent message")}}, "tool_calls": []m{{"arguments": m{"k": f.secret("argument of a nested call")}}}}})
	say("llm_completed", m{"turn": 3, "message": f.secret("message that is a text")})
	say("provider_attempt", m{"effect_id": f.secret("effect id"), "attempt_seq": 1, "status": "failed", "error": f.secret("error of a provider"), "route": m{"provider": f.keep("provider"), "model": f.keep("model"), "key": f.secret("unknown field of a route")}})
	say("tool_requested", m{"turn": 3, "calls": []m{
		{"id": f.secret("call id"), "name": f.keep("tool"), "arguments": args("a call")},
		{"id": "2", "name": "u", "arguments": m{f.keep("key of an object of arguments"): m{f.secret("nested key of an object"): f.secret("argument in an object")}}},
	}})
	say("tool_requested", m{"turn": 3, "calls": []m{
		{"id": "3", "name": "v", "arguments": f.secret("arguments that are plain text")},
		{"id": "4", "name": "w", "arguments": []string{f.secret("arguments that are a list")}},
		{"id": "5", "name": "x", "arguments": `{"` + f.secret("argument key of broken json") + `":"` + f.secret("argument of broken json")},
	}})
	say("tool_completed", m{"turn": 3, "results": []m{
		{"call_id": "1", "output": f.secret("tool result")}, {"call_id": "2", "output": m{f.secret("key in a tool result"): f.secret("value in a tool result")}, "is_error": true},
		{"call_id": "3", "content": f.secret("content of a tool result"), "error": f.secret("tool error"), "is_fatal": true},
	}})
	say("tool_argument_repaired", m{"tool": "t", "original_arguments": args("what was repaired"), "repaired_arguments": m{"k": f.secret("repaired argument")}, "error": f.secret("why it was repaired")})
	say("permission_requested", m{"tool": "t", "arguments": args("what is asked for"), "reason": f.secret("why it is asked for")})
	say("permission_resolved", m{"approved": false, "comment": f.secret("comment of an approval"), "reason": f.secret("reason of an approval")})
	say("tool_denied", m{"call_id": "c", "tool_name": "t", "reason": f.secret("why it was denied")})
	say("tool_gated", m{"call_id": "c", "tool": "t", "reason": "policy", "arguments": args("a gated call")})
	say("rollbacked", m{"reason": m{"kind": "fatal_tool_error", "error": f.secret("error of a rollback")}})
	say("rollbacked", m{"reason": "It failed: " + f.secret("reason that is a sentence")})
	say("suspended", m{"reason": f.keep("reason of a suspension"), "pending_calls": []string{f.keep("pending call")}, "message": f.secret("message of a suspension")})
	say("resumed", m{"input": f.secret("input of a resume")})
	for _, kind := range []string{
		"compressed", "context_renewed", "page_out", "page_in", "capability_changed", "checkpoint_taken", "entropy_alert", "milestone_blocked", "summary_upgraded", "round_started",
		"memory_queried", "memory_validation_failed", "memory_write_failed", "memory_query_failed", "workflow_node_completed", "group_message", "signal_delivered", "signal_disposed",
		"budget_exceeded", "operation_cancelled", "agent_spawned", "agent_process_changed", f.keep("unknown kind"),
	} {
		v := m{"agent_id": f.keep("child")}
		for _, field := range []string{"goal", "summary", "content", "query", "error", "output", "text", "prompt", "message", "payload", "note", "name", "criteria", "arguments"} {
			v[field] = f.secret(field + " of " + kind)
		}
		say(kind, v)
	}
	say("memory_written", m{"record_id": f.keep("memory id"), "scope": f.keep("memory scope"), "name": f.secret("memory name"), "content": f.secret("memory")})
	say("memory_retrieval_result", m{"hits": []m{{"record": m{"id": f.keep("recalled id"), "content": f.secret("recalled memory")}}}})
	f.object(id, m{"record_type": "kernel", "goal": f.secret("goal of a kernel record"), "payload": f.secret("payload of a kernel record")})
	say("run_terminal", m{"reason": f.keep("reason of the end"), "turns_used": 1, "total_tokens": 9, "error": f.secret("error of the end"), "output": f.secret("output of the end")})
	f.record(f.keep("another session id"), []byte(`{"kind":"run_started","goal":"\u0022`+f.shown("escaped goal")+`\n"}`))
}

// everruns plants sessions of Everruns: every type of event with content, and a
// session object.
func (f *foreigner) everruns(id string) {
	seq := 0
	say := func(kind string, data any, more ...any) {
		seq++
		v := m{
			"id": f.secret("event id") + string(rune('a'+seq%26)) + string(rune('a'+seq/26)), "type": kind, "session_id": id, "sequence": seq, "data": data, "tags": []string{f.secret("tag of an event")},
			"ts": f.secret("time that is none"), "context": m{"turn_id": f.secret("turn that is no id"), "trace_id": f.secret("trace"), "note": f.secret("unknown field of a context")},
		}
		if len(more) > 0 {
			v["metadata"] = more[0]
		}
		f.object(f.secret("key of an event"), v)
	}
	parts := func(texts ...string) m {
		var out []m
		for _, t := range texts {
			out = append(out, m{"type": "text", "text": t, "x": f.secret("unknown field of a message part")})
		}
		return m{"message": m{"role": "r", "content": out, "metadata": m{"x": f.secret("metadata of a message")}}}
	}
	f.object(f.secret("key of a session object"), m{
		"id": f.keep("id of a session object"), "organization_id": f.secret("organization"), "status": f.keep("native status"), "title": f.keep("title"), "agent_id": f.keep("agent of an object"),
		"model_id": f.keep("model of an object"), "tags": []string{f.keep("tag of a session")}, "source": f.secret("source of an object that is none"),
		"goal": f.shown("goal"), "preview": f.shown("preview"), "output_preview": f.shown("output preview"), "system_prompt": f.secret("system prompt"),
		"tools": []m{{"description": f.secret("description of a tool")}}, "initial_files": []m{{"path": "p", "content": f.secret("initial file")}}, "hints": m{"h": f.secret("hint")},
		"usage": m{"note": f.secret("unknown field of usage")}, "activity": f.secret("activity"),
	})
	say("session.started", m{"agent_id": f.keep("agent"), "model_id": "m", "prompt": f.secret("prompt of a start")})
	say("input.message", parts(f.shown("first user message"), f.secret("second part of a user message")))
	say("input.message", parts(f.secret("second user message")))
	say("message.user", m{"content": f.secret("third user message"), "tags": []string{f.secret("tag in data")}})
	say("output.message.completed", parts(over("an earlier answer", 256, f.secret("earlier agent message beyond 256 bytes")), f.secret("second part of an earlier message")))
	say("output.message.started", m{"text": f.secret("start of an agent message")})
	for _, kind := range []string{"output.message.delta", "reason.thinking.delta", "tool.output.delta", "voice.audio.delta"} {
		say(kind, m{"delta": f.secret(kind), "content": f.secret("content of " + kind)})
	}
	say("llm.generation", m{
		"messages": []m{{"content": f.secret("message to a model")}}, "output": m{"text": f.secret("answer of a model"), "tool_calls": []m{{"arguments": m{"k": f.secret("argument of a model")}}}},
		"metadata": m{"model": f.keep("model"), "provider": f.keep("provider"), "finish_reasons": []string{f.keep("finish reason")}, "success": false, "error": f.secret("error of a model"), "usage": m{"input_tokens": 1, "x": f.secret("unknown field of a usage")}},
	})
	for _, kind := range []string{"tool.started", "tool.call_started", "tool.call_requested"} {
		say(kind, m{"tool_call": m{"id": f.secret("call id"), "name": f.keep("tool"), "arguments": m{f.secret("argument key of " + kind): f.secret("argument of " + kind)}}, "tool_calls": []m{{"arguments": f.secret("arguments of " + kind)}}})
	}
	say("tool.completed", m{"tool_name": f.keep("completed tool"), "success": false, "status": f.secret("status of a tool"), "result": []m{{"text": f.secret("tool result")}}, "error": f.secret("tool error"), "content": f.secret("content of a tool result")})
	say("tool.call_completed", m{"tool_name": "t", "success": true, "result": f.secret("tool result that is a text"), "message": m{"content": f.secret("message of a tool")}})
	say("reason.completed", m{"success": false, "text_preview": f.secret("preview of reasoning"), "error": f.secret("error of reasoning")})
	for _, kind := range []string{
		"turn.started", "turn.completed", "turn.failed", "turn.cancelled", "session.activated", "session.idled", "reason.started", "schedule.triggered", "timer.set", "budget.paused", "budget.resumed",
		"context.compacted", "voice.started", f.keep("unknown type"),
	} {
		v := m{}
		for _, field := range []string{"goal", "summary", "content", "query", "error", "output", "text", "prompt", "message", "payload", "note", "result", "input", "preview", "output_preview", "title"} {
			v[field] = f.secret(field + " of " + kind)
		}
		say(kind, v)
	}
	say("file.written", m{"path": f.keep("path"), "content": f.secret("file"), "diff": f.secret("diff")})
	say("subagent.spawned", m{"child_session_id": f.keep("child"), "task": f.secret("task of a child"), "prompt": f.secret("prompt of a child")})
	say("subagent.failed", m{"child_session_id": f.keep("child"), "error": f.secret("error of a child"), "result": f.secret("result of a child")})
	say("task.created", m{"id": f.keep("task"), "prompt": f.secret("prompt of a task"), "title": f.secret("title of a task"), "state": f.keep("state of a task")})
	say("session.title.updated", m{"title": f.keep("later title"), "previous": f.secret("field beside a title")})
	say("data that is a text", f.secret("data that is a text"))
	say("data that is a list", []any{f.secret("data that is a list"), m{"content": f.secret("object in a list of data")}})
	say("metadata of an event", m{}, m{"source": "chat", f.secret("key beside a source"): f.secret("value beside a source")})
	say("output.message.completed", parts(f.shown("last agent message"), f.secret("second part of the last message")))
	say("turn.sealed", m{"reason": f.keep("reason of a sealed turn"), "error": f.secret("error of a sealed turn"), "message": f.secret("message of a sealed turn")})

	older := f.keep("id of an older session")
	f.object(older, m{"id": "1", "type": "message.user", "session_id": older, "data": m{"content": f.shown("older user message")}})
	f.object(older, m{"id": "2", "type": "message.agent", "session_id": older, "data": m{"content": f.shown("older agent message")}})
}
