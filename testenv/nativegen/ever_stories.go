package nativegen

import "fmt"

// play tells the session's story.
func (e *ever) play(parent *ever) {
	if e.from != nil {
		e.fork()
		return
	}
	if parent != nil || !one(e.rng, 5) { // else nobody exported the session itself
		e.object("started", parent)
	}
	e.say("session.started", fields{"agent_id", e.agent, "model_id", models[e.model].model, "harness_id", "harness_1"})
	if parent != nil {
		e.turns(1)
		return
	}
	switch n := e.rng.IntN(100); {
	case n < 45:
		e.turns(1 + e.rng.IntN(4))
	case n < 55:
		e.scheduled()
	case n < 63:
		e.paused()
	case n < 71:
		e.waiting()
	case n < 79:
		e.renamed()
	case n < 90:
		e.delegating()
	default:
		e.background()
	}
	if one(e.rng, 3) {
		e.object("idle", nil)
	}
}

// fork begins with the origin's events, under ids of its own.
func (e *ever) fork() {
	n := 1 + e.rng.IntN(len(e.from.told))
	e.object("started", nil, "forked_from_session_id", e.from.id, "forked_from_sequence", n)
	for _, t := range e.from.told[:n] {
		e.event(t.kind, t.turn, t.data)
	}
	e.turns(1 + e.rng.IntN(2))
}

// begin starts a turn with what a person or a trigger said.
func (e *ever) begin() {
	e.say("input.message", fields{"message", fields{"role", "user", "content", []fields{{"type", "text", "text", "please " + e.title}}}})
	e.turn = "turn_" + hexOf(e.rng)
	e.say("session.activated", fields{"turn_id", e.turn})
	e.say("turn.started", fields{"turn_id", e.turn})
}

// end ends the turn; its usage and the session's so far are told once more.
func (e *ever) end(word string, of usage, more ...any) {
	e.say("turn."+word, append(fields{"turn_id", e.turn, "iterations", 2, "usage", of.fields()}, more...))
	e.turn = ""
	e.say("session.idled", fields{"usage", e.total.fields()})
}

// turns are the ordinary course; some go wrong, and the session goes on.
func (e *ever) turns(n int) {
	for range n {
		e.begin()
		var sum usage
		good := true
		for range 1 + e.rng.IntN(3) {
			u, ok := e.think()
			sum.add(u)
			if good = ok; !ok {
				break
			}
			if !one(e.rng, 4) {
				e.act()
			}
		}
		if one(e.rng, 12) {
			e.say("context.compacted", fields{"tokens_before", 9_000, "tokens_after", 2_000})
		}
		switch {
		case !good:
			e.end("failed", sum, "error", "the provider is overloaded", "error_code", "provider_error")
		case one(e.rng, 15):
			e.end("cancelled", sum)
		case one(e.rng, 25):
			e.end("sealed", sum, "reason", "no_progress")
		default:
			e.end("completed", sum)
		}
	}
}

func (e *ever) scheduled() {
	e.say("schedule.triggered", fields{"schedule_id", "sched_" + hexOf(e.rng)[:8]})
	e.turns(1)
	timer := "timer_" + hexOf(e.rng)[:8]
	e.say("timer.set", fields{"timer_id", timer, "fire_at", later})
	if one(e.rng, 3) {
		return // still waiting when the log ends
	}
	e.say(pick(e.rng, []string{"timer.fired", "timer.cancelled"}), fields{"timer_id", timer})
	e.turns(1)
}

func (e *ever) paused() {
	e.turns(1)
	e.say("budget.warning", fields{"budget_id", "b1", "used", 0.8})
	e.say(pick(e.rng, []string{"budget.paused", "budget.exhausted"}), fields{"budget_id", "b1"})
	if one(e.rng, 3) {
		return
	}
	e.say("budget.resumed", fields{"budget_id", "b1"})
	e.turns(1)
}

// waiting is a turn whose tools run at the client.
func (e *ever) waiting() {
	e.begin()
	u, _ := e.think()
	e.say("tool.call_requested", fields{"tool_name", "browser", "tool_calls", []fields{{"id", "c1", "name", "browser", "arguments", fields{"url", "https://example.org"}}}})
	if one(e.rng, 4) {
		return // the client never answers
	}
	e.say("tool.completed", fields{"tool_name", "browser", "success", true, "status", "success"})
	e.say("session.activated", fields{"turn_id", e.turn})
	e.end("completed", u)
}

func (e *ever) renamed() {
	e.turns(1)
	e.title = pick(e.rng, goals)
	e.say("session.title.updated", fields{"title", e.title})
	e.model = (e.model + 1) % len(models)
	e.say("session.model.changed", fields{"new_model_id", models[e.model].model})
	e.turns(1 + e.rng.IntN(2))
}

// delegating hands work to child sessions and waits for the first.
func (e *ever) delegating() {
	e.begin()
	u, _ := e.think()
	for i := range 1 + e.rng.IntN(2) {
		if e.depth >= 2 || !e.g.mayStart() {
			break
		}
		w := e.g.newEver(e, e.depth+1)
		child := fmt.Sprintf("session_%x", w.ID[:])
		e.say("subagent.spawned", fields{"subagent_session_id", child, "name", "helper", "attempt", 1})
		e.w.Start(w)
		if i == 0 {
			e.w.Await(w)
			e.say(pick(e.rng, []string{"subagent.completed", "subagent.completed", "subagent.failed", "subagent.cancelled"}), fields{"child_session_id", child, "attempt", 1})
		}
	}
	e.end("completed", u)
	e.turns(1)
}

// background is work that is told as tasks, and what comes after tomorrow.
func (e *ever) background() {
	e.turns(1)
	task := "task_" + hexOf(e.rng)[:12]
	e.say("task.created", fields{"id", task, "kind", "background_tool", "state", "running", "attempt", 1})
	e.say("task.updated", fields{"id", task, "state", pick(e.rng, []string{"succeeded", "failed", "running"}), "attempt", 1})
	e.say("a.type.of.tomorrow", fields{"value", 3})
	e.turns(1)
}
