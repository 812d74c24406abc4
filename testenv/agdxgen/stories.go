package agdxgen

import (
	"fmt"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// errand is what a child does.
func (st *story) errand() {
	st.begin("errand")
	for range 1 + st.rng.IntN(3) {
		st.think()
		st.act()
	}
	if st.rng.IntN(5) == 0 {
		st.delegate(true)
	}
	switch st.rng.IntN(8) {
	case 0:
		st.Error("nothing found")
		st.End(wire.TaskFailed, "not found")
	case 1:
		st.End(wire.TaskRejected, "out of scope")
	default:
		st.Note("done, see the summary")
		st.End(wire.TaskCompleted, "")
	}
}

func (st *story) research() {
	st.begin("research")
	st.User("what do we know about " + st.topic + "?")
	st.Retrieved(st.topic, st.item(), st.item(), st.item())
	for range 2 + st.rng.IntN(6) {
		st.think()
		for range st.rng.IntN(3) {
			st.act()
		}
		if st.rng.IntN(4) == 0 {
			st.delegate(st.rng.IntN(2) == 0)
		}
	}
	id := st.item()
	st.Remember(id, "fact", "a fact about "+st.topic)
	st.Link(wire.RoleLane, agdxlog.Resource{Surface: "graph_node", Resource: "topics", Item: st.topic, Relation: "wrote"})
	if st.rng.IntN(3) == 0 {
		st.Feedback(id, 0.5)
	}
	st.Note("the report on " + st.topic + " is ready")
	st.finish()
}

func (st *story) coding() {
	st.begin("coding")
	st.User("fix " + st.topic)
	for i := range 3 + st.rng.IntN(8) {
		st.think()
		st.act()
		st.StateDelta(uint64(i), fmt.Sprintf("op-%d", i), fmt.Sprintf("/step%d", i), "done")
		st.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: "builds", Item: fmt.Sprintf("step-%d", i), Relation: "wrote"})
		if st.rng.IntN(6) == 0 {
			st.Policy("write access", st.rng.IntN(4) > 0)
		}
	}
	st.delegate(true) // the review
	st.act()
	st.finish()
}

func (st *story) support() {
	st.begin("support")
	for range 2 + st.rng.IntN(5) {
		st.User("and what about " + topics[st.rng.IntN(len(topics))] + "?")
		st.think()
		if st.rng.IntN(3) == 0 {
			st.State(wire.TaskInputRequired, st.Agent, nil)
		}
	}
	// Half of the people just leave.
	if st.rng.IntN(2) == 0 {
		st.finish()
	}
}

func (st *story) nightly() {
	st.begin("nightly")
	for i := range 4 + st.rng.IntN(10) {
		st.Step(fmt.Sprintf("step-%d", i))
		st.act()
	}
	st.finish()
}

func (st *story) paused() {
	st.begin("long run")
	for range 2 + st.rng.IntN(3) {
		st.think()
	}
	st.Pause(st.Agent)
	st.State(wire.TaskPaused, st.Agent, nil)
	// The log does not know where its records will lie, so these places are made
	// up; that they differ is what counts.
	request, held := wire.Pos{Offset: 1}, 1+st.rng.IntN(3)
	for i := range held {
		st.Park(wire.Pos{Offset: uint64(i)}, request)
	}
	if st.rng.IntN(3) == 0 {
		return // still paused when the log ends
	}
	st.Resume()
	st.State(wire.TaskWorking, st.Agent, nil)
	for i := range st.rng.IntN(held + 1) {
		st.Unpark(wire.Pos{Offset: uint64(i)}, request)
		st.Park(wire.Pos{Offset: uint64(i)}, request) // said twice
	}
	st.act()
	st.finish()
}

func (st *story) failing() {
	st.begin("batch")
	for range 1 + st.rng.IntN(4) {
		st.think()
		st.ToolFails("http_get", `{"url":"https://example.org/health"}`, "connection refused")
	}
	st.DeadLetter(uint32(3 + st.rng.IntN(4)))
	st.Error("giving up")
	st.End(wire.TaskFailed, "upstream unavailable")
}

func (st *story) canceled() {
	st.begin("sweep")
	for range 1 + st.rng.IntN(5) {
		st.think()
	}
	if st.rng.IntN(3) == 0 {
		st.ForceCancel()
		return
	}
	st.Cancel()
	st.End(wire.TaskCanceled, "asked to stop")
}

// implicit is a session whose start nobody wrote.
func (st *story) implicit() {
	for i := range 2 + st.rng.IntN(4) {
		st.Note(fmt.Sprintf("checked %s, round %d", st.topic, i))
	}
	if st.rng.IntN(2) == 0 {
		st.Forget(st.item())
	}
}

func (st *story) finish() {
	st.End(wire.TaskCompleted, "")
	if st.rng.IntN(10) == 0 {
		st.Note("one more remark after the end")
	}
}

// bad is what a broken producer leaves behind.
func (st *story) bad() {
	roles := []wire.Role{wire.RoleLane, wire.RoleChunks, wire.RoleMemory, wire.RoleDeadLetters, wire.RoleAudit}
	role := roles[st.rng.IntN(len(roles))]
	switch st.rng.IntN(4) {
	case 0:
		st.Undecodable(role)
	case 1:
		st.Invalid(role)
	case 2:
		st.Tombstone(role)
	default:
		st.g.log.NoSession(role)
	}
}
