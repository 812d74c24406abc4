package nativegen

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/interleave"
)

// ever tells one Everruns session, in the order in which it writes.
type ever struct {
	g     *Generator
	rng   *rand.Rand
	w     *interleave.Writer
	id    string // as its records spell it
	agent string
	model int
	title string
	depth int
	older bool // writes the older names of types
	late  agdxlog.Record

	from  *ever // the session it is a fork of
	turn  string
	seq   uint64
	total usage // of the session
	told  []event
}

// event is what a fork copies.
type event struct {
	kind, turn string
	data       fields
}

// usage is the tokens of a call or of more. Inputs are disjoint.
type usage struct {
	in, out, read, write uint64
	nano                 uint64 // dollars × 10^9; 0: no price is known
}

func (u *usage) add(v usage) {
	u.in, u.out, u.read, u.write, u.nano = u.in+v.in, u.out+v.out, u.read+v.read, u.write+v.write, u.nano+v.nano
}

func (u usage) fields() fields {
	f := fields{"input_tokens", u.in, "output_tokens", u.out}
	if u.read > 0 {
		f = append(f, "cache_read_tokens", u.read)
	}
	if u.write > 0 {
		f = append(f, "cache_creation_tokens", u.write)
	}
	if u.nano > 0 {
		f = append(f, "effective_cost_usd", json.Number(fmt.Sprintf("%d.%09d", u.nano/1e9, u.nano%1e9)))
	}
	return f
}

func (g *Generator) newEver(parent *ever, depth int) *interleave.Writer {
	g.started++
	rng := rand.New(rand.NewPCG(g.rng.Uint64(), g.rng.Uint64()))
	id := g.id()
	e := &ever{
		g: g, rng: rng, w: &interleave.Writer{ID: id}, id: fmt.Sprintf("session_%x", id[:]), depth: depth,
		agent: pick(rng, agents), model: rng.IntN(len(models)), title: pick(rng, goals), older: one(rng, 8),
	}
	if one(rng, 8) { // as a UUID
		e.id = fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	}
	if parent == nil && len(g.told) > 0 && one(rng, 12) {
		e.from = pick(rng, g.told)
		e.w.Await(e.from.w)
	}
	e.play(parent)
	e.flush()
	if !g.o.Clean && one(rng, 60) {
		e.w.Write(g.bad(rng, e.id))
	}
	if e.from == nil && depth == 0 {
		g.told = append(g.told, e)
		if len(g.told) > 8 {
			g.told = slices.Delete(g.told, 0, 1)
		}
	}
	return e.w
}

// olderNames of types that have newer ones.
var olderNames = map[string]string{
	"input.message": "message.user", "output.message.completed": "message.agent", "tool.completed": "tool.call_completed", "tool.started": "tool.call_started",
}

// say writes an event with the next sequence number.
func (e *ever) say(kind string, data fields) {
	if data == nil {
		data = fields{}
	}
	if name := olderNames[kind]; e.older && name != "" {
		kind = name
	}
	e.event(kind, e.turn, data)
	e.told = append(e.told, event{kind, e.turn, data})
	if !e.g.o.Clean && one(e.rng, 300) {
		e.seq++ // an event that never came
	}
}

func (e *ever) event(kind, turn string, data fields) {
	e.seq++
	context := fields{}
	if turn != "" {
		context = fields{"turn_id", turn, "exec_id", "exec_" + hexOf(e.rng), "trace_id", hexOf(e.rng)}
	}
	v := fields{
		"id", "event_" + hexOf(e.rng), "type", kind, "ts", now, "session_id", e.id, "context", context, "data", data,
	}
	if e.depth == 0 && kind == "session.started" {
		v = append(v, "metadata", fields{"source", pick(e.rng, []string{"chat", "api", "slack"})})
	}
	e.put(append(v, "sequence", e.seq))
}

// put writes a record; now and then it comes behind the next one, or twice.
func (e *ever) put(v fields) {
	r := e.g.record(e.id, appendJSON(nil, v))
	r.Session = e.w.ID
	if e.late.Value == nil && !e.g.o.Clean && one(e.rng, 150) {
		e.late = r
		return
	}
	e.w.Write(r)
	e.flush()
	if !e.g.o.Clean && one(e.rng, 80) {
		e.w.Write(r)
	}
}

func (e *ever) flush() {
	if e.late.Value != nil {
		e.w.Write(e.late)
		e.late = agdxlog.Record{}
	}
}

// object writes the session as its service stores it.
func (e *ever) object(status string, parent *ever, more ...any) {
	m := models[e.model]
	f := fields{
		"id", e.id, "organization_id", "org_1", "workspace_id", "ws_1", "harness_id", "harness_1", "agent_id", e.agent, "model_id", m.model,
		"title", e.title, "goal", "please " + e.title, "tags", []string{"team-" + string('a'+rune(e.rng.IntN(4))), pick(e.rng, []string{"draft", "q3", "urgent"})},
		"status", status, "source", pick(e.rng, []string{"chat", "api", "schedule", "slack", "unknown"}), "created_at", now, "updated_at", now,
		"usage", e.total.fields(), "activity", "idle",
	}
	if parent != nil {
		f[slices.Index(f, any("source"))+1] = "subagent"
		f = append(f, "parent_session_id", parent.id)
	}
	e.put(append(f, more...))
}

// think is one model call: its tokens are told by the generation, the message and
// the end of reasoning.
func (e *ever) think() (u usage, ok bool) {
	m := models[e.model]
	u = usage{in: uint64(200 + e.rng.IntN(2_000)), out: uint64(20 + e.rng.IntN(800)), read: uint64(e.rng.IntN(2) * e.rng.IntN(4_000))}
	if one(e.rng, 4) {
		u.write = u.read / 3
	}
	if !one(e.rng, 6) {
		u.nano = 900*u.in + 4_000*u.out + 90*u.read
	}
	ok = !one(e.rng, 15)
	if !ok {
		u.out = 0
	}
	e.total.add(u)
	e.say("reason.started", nil)
	meta := fields{"model", m.model, "provider", m.provider, "success", ok, "duration_ms", 200 + e.rng.IntN(9_000), "usage", u.fields()}
	if ok {
		meta = append(meta, "finish_reasons", []string{pick(e.rng, []string{"stop", "tool_calls"})})
	} else {
		meta = append(meta, "error", "the provider is overloaded")
	}
	e.say("llm.generation", fields{"messages", []fields{{"role", "user", "content", prose(e.rng, 6)}}, "output", fields{"text", prose(e.rng, 2)}, "metadata", meta})
	if ok && one(e.rng, 3) {
		for range 2 + e.rng.IntN(6) {
			e.say("output.message.delta", fields{"delta", "the checkout waits ", "accumulated", ""})
		}
	}
	if ok {
		e.say("output.message.completed", fields{"message", fields{"role", "agent", "content", []fields{{"type", "text", "text", prose(e.rng, 2)}}}, "usage", u.fields()})
	}
	e.say("reason.completed", fields{"success", ok, "has_tool_calls", ok, "usage", u.fields()})
	return u, ok
}

// act is a tool call; one in eight fails.
func (e *ever) act() {
	tool, call := pick(e.rng, tools), "call_"+hexOf(e.rng)[:12]
	e.say("tool.started", fields{"tool_call", fields{"id", call, "name", tool, "arguments", fields{"path", "src/a.go"}}})
	data := fields{"tool_call_id", call, "tool_name", tool, "success", true, "status", "success", "result", []string{prose(e.rng, 6)}, "duration_ms", e.rng.IntN(3_000)}
	if one(e.rng, 8) {
		data = fields{"tool_call_id", call, "tool_name", tool, "success", false, "status", pick(e.rng, []string{"error", "timeout"}), "error", "connection refused"}
	}
	e.say("tool.completed", data)
	if tool == "write_file" {
		e.say("file.written", fields{"path", fmt.Sprintf("/workspace/out-%d.md", e.rng.IntN(40)), "size_bytes", e.rng.IntN(9_000)})
	}
}
