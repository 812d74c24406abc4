package nativegen

import "fmt"

// play tells the session's story.
func (d *deep) play() {
	if d.lines && d.depth == 0 && one(d.rng, 12) { // an older log begins with records of the kernel
		for _, kind := range []string{"kernel_genesis", "kernel_delta"} {
			d.put(appendJSON(nil, fields{"seq", d.seq, "record_type", kind, "payload", fields{"version", 3}}))
			d.seq++
		}
	}
	switch n := d.rng.IntN(100); {
	case d.depth > 0:
		d.errand()
	case n < 45:
		d.task()
	case n < 60:
		d.asking()
	case n < 70:
		d.reopened()
	case n < 78:
		d.sleeping()
	case n < 85:
		d.failing()
	case n < 90:
		d.stopped()
	case n < 95:
		d.overBudget()
	default:
		d.milestones()
	}
}

func (d *deep) work(turns int) {
	for range turns {
		d.think()
		if !one(d.rng, 4) {
			d.act()
		}
		d.aside()
	}
}

// errand is what a child does.
func (d *deep) errand() {
	d.begin()
	d.work(1 + d.rng.IntN(3))
	if one(d.rng, 6) {
		d.end("max_turns")
		return
	}
	d.end("completed")
}

func (d *deep) task() {
	d.begin()
	d.work(2 + d.rng.IntN(5))
	d.delegate()
	d.work(1 + d.rng.IntN(3))
	d.end("completed")
	if one(d.rng, 10) {
		d.here("memory_written", "record_id", "mem-"+hexOf(d.rng)[:8], "scope", "user", "memory_kind", "fact", "name", "late note", "size_bytes", 120)
	}
}

// asking waits for people: an approval, an answer.
func (d *deep) asking() {
	d.begin()
	d.work(1 + d.rng.IntN(2))
	tool := pick(d.rng, tools)
	if one(d.rng, 2) {
		d.here("permission_requested", "tool", tool, "arguments", `{"path":"/etc/hosts"}`, "reason", "outside the workspace")
		approved := !one(d.rng, 4)
		d.here("permission_resolved", "approved", approved, "responder", "user")
		if !approved {
			d.here("tool_denied", "call_id", "call-0", "tool_name", tool, "reason", "the user said no")
		}
	} else {
		d.here("tool_gated", "call_id", "call-0", "tool", tool, "reason", "approval")
		d.here("suspended", "reason", "approval", "pending_calls", []string{"call-0"})
		if one(d.rng, 5) {
			return // nobody answers
		}
		d.here("resumed", "approved", []string{"call-0"})
	}
	d.work(1 + d.rng.IntN(3))
	d.end("completed")
}

// reopened is a session of several runs.
func (d *deep) reopened() {
	for i := range 2 + d.rng.IntN(3) {
		d.begin()
		d.work(1 + d.rng.IntN(3))
		if i == 0 && one(d.rng, 2) {
			d.end("error")
			continue
		}
		d.end("completed")
	}
}

func (d *deep) sleeping() {
	d.begin()
	d.work(1)
	for range 1 + d.rng.IntN(3) {
		d.here("round_paced", "action", "sleep", "wake_at_ms", d.g.o.Epoch.Add(d.g.now()).UnixMilli()+60_000, "reason", "nothing to do")
		d.here("round_paced", "action", "continue", "reason", "the time came")
		d.work(1)
	}
	if one(d.rng, 3) {
		d.here("round_paced", "action", "sleep", "wake_at_ms", d.g.o.Epoch.Add(d.g.now()).UnixMilli()+3_600_000, "reason", "until tomorrow")
		return
	}
	d.end("completed")
}

func (d *deep) failing() {
	d.begin()
	d.work(1 + d.rng.IntN(3))
	d.here("rollbacked", "checkpoint_history_len", 2*d.turn, "reason", fields{"kind", "provider_failure", "error", "overloaded"})
	d.here("entropy_alert", "score", 0.91, "threshold", 0.8)
	d.end(pick(d.rng, []string{"error", "max_turns", "entropy", "no_progress"}))
}

func (d *deep) stopped() {
	d.begin()
	d.work(1 + d.rng.IntN(3))
	d.here("operation_cancelled", "operation_id", "op-"+hexOf(d.rng)[:8], "reason", fields{"kind", "user"}, "pending_call_ids", []string{"call-1"})
	d.end(pick(d.rng, []string{"user_abort", "user", "cancelled", "host_shutdown", "lease_lost"}))
}

func (d *deep) overBudget() {
	d.begin()
	d.work(2)
	op := "op-" + hexOf(d.rng)[:8]
	d.here("budget_usage_reported", "operation_id", op, "reservation_id", "res-1", "tokens", d.tokens, "subagents", 1, "rounds", d.turn)
	d.here("budget_exceeded", "operation_id", op, "reservation_id", "res-1", "budget", "tokens")
	d.end("budget_exhausted")
	if one(d.rng, 2) { // somebody gave more
		d.begin()
		d.work(2)
		d.end("completed")
	}
}

func (d *deep) milestones() {
	d.begin()
	for i := range 2 {
		d.work(1 + d.rng.IntN(2))
		d.here("milestone_advanced", "phase_id", fmt.Sprintf("phase-%d", i))
	}
	d.here("milestone_blocked", "phase_id", "phase-2", "reason", "a review is missing")
	d.end("milestone_pending")
	if !one(d.rng, 3) {
		d.here("resumed", "approved", []string{})
		d.work(1)
		d.end("completed")
	}
}

// delegate hands work to a child session and waits for it.
func (d *deep) delegate() {
	if d.depth >= 2 || !d.g.mayStart() || one(d.rng, 2) {
		return
	}
	child, role := "sub-"+hexOf(d.rng)[:16], pick(d.rng, agents)
	process := func(state string, more ...any) {
		d.here("agent_process_changed", append([]any{
			"agent_id", child, "parent_session_id", d.key, "role", role, "isolation", "shared", "context_inheritance", "none", "state", state,
			"permitted_capability_ids", []string{},
		}, more...)...)
	}
	process("running")
	w := d.g.newDeep(child, role, d.depth+1)
	d.w.Start(w)
	d.w.Await(w)
	process("joined", "result_termination", "completed")
}

// aside is what the kernel does beside the work.
func (d *deep) aside() {
	id := func() string { return "mem-" + hexOf(d.rng)[:8] }
	switch d.rng.IntN(28) {
	case 0:
		d.here("compressed", "archived_seq_range", []int{0, 4}, "action", "summarize", "summary_tokens", 300)
	case 1:
		d.here("page_out", "action", "evict", "message_count", 6)
	case 2:
		d.here("page_in", "entry_count", 2)
	case 3:
		d.here("memory_written", "record_id", id(), "scope", "project", "memory_kind", "fact", "name", "a fact", "size_bytes", 240)
	case 4:
		d.here("memory_queried", "scope", "project", "query", "what do we know of timeouts", "requested_k", 3, "requires_async_response", true)
		d.say("memory_retrieval_result", "hits", []fields{{"record_id", id(), "score", 0.8}, {"record", fields{"id", id()}, "score", 0.5}})
	case 5:
		d.here("signal_delivery_disposed", "operation_id", "op-1", "delivery_id", id(), "attempt", 1, "signal_id", "sig-"+id(), "disposition", "queue", "queue_depth", 1)
	case 6:
		d.here("signal_disposed", "signal_id", "sig-"+id(), "disposition", "ignore", "queue_depth", 0) // the older form
	case 7:
		d.here("capability_changed", "added", []string{"web"}, "change_kind", "mounted", "capability_id", "web")
	case 8:
		d.here("context_renewed", "sprint", 2, "handoff_ref", "ref-"+id())
	case 9:
		d.here("tool_argument_repaired", "tool", pick(d.rng, tools), "original_arguments", `{"a":1,}`, "repaired_arguments", `{"a":1}`)
	case 10:
		d.here("memory_validation_failed", "record_id", id(), "error", "the name is empty")
	case 11:
		d.say("workflow_node_completed", "node_id", "n-1", "outcome", "ok")
	case 12:
		d.say("group_budget_settled", "group_id", "g-1", "tokens", 1_000_000) // of a group, not of this session
	case 13:
		d.here("a_kind_of_tomorrow", "value", 3)
	default:
		d.here("entropy_sample", "score", 0.2, "score_version", 1, "rho", 0.1, "repeat_pressure", 0, "failure_rate", 0, "rollbacks_in_window", 0, "window_turns", 8)
	}
}
