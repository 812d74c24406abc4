package nativegen

import (
	"fmt"
	"math/rand/v2"

	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/interleave"
	"sessionfold/wire"
)

// deep tells one DeepStrike session, in the order in which it writes.
type deep struct {
	g     *Generator
	rng   *rand.Rand
	w     *interleave.Writer
	key   string
	agent string
	depth int

	lines    bool // {seq, event}, as the file log writes; else bare events
	flat     bool // the flat form of llm_completed
	attempts bool // the host tells of every attempt of a model call
	seq      uint64
	turn     int // of the run
	effects  int
	tokens   uint64 // of the run
}

// deepID is the id of a session as hosts spell it: a UUID, a ULID, a name.
func (g *Generator) deepID() string {
	id := g.id()
	switch g.rng.IntN(4) {
	case 0:
		return id.String()
	case 1:
		return fmt.Sprintf("task-%d-%04x", g.started+1, g.rng.IntN(1<<16))
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func (g *Generator) newDeep(key, agent string, depth int) *interleave.Writer {
	g.started++
	rng := rand.New(rand.NewPCG(g.rng.Uint64(), g.rng.Uint64()))
	if agent == "" {
		agent = pick(rng, agents)
	}
	d := &deep{
		g: g, rng: rng, w: &interleave.Writer{}, key: key, agent: agent, depth: depth,
		lines: !one(rng, 4), flat: one(rng, 3), attempts: !one(rng, 3),
	}
	d.w.ID = wire.NativeID(g.o.Dialect, g.o.Stream, []byte(key))
	d.play()
	if !g.o.Clean && one(rng, 60) {
		d.w.Write(g.bad(rng, key))
	}
	return d.w
}

// say writes an event. What goes wrong on the way to Kafka does so here.
func (d *deep) say(kind string, more ...any) {
	event := append(fields{"kind", kind}, more...)
	if d.lines {
		if !d.g.o.Clean && one(d.rng, 300) {
			d.seq++ // a line that never came
		}
		event = fields{"seq", d.seq, "event", event}
		d.seq++
	}
	d.put(appendJSON(nil, event))
}

// here writes an event of the turn at hand.
func (d *deep) here(kind string, more ...any) {
	d.say(kind, append([]any{"turn", d.turn}, more...)...)
}

func (d *deep) put(line []byte) {
	r := d.g.record(d.key, line)
	if one(d.rng, 5) { // some hosts name the session in a header too
		r.Headers = append(r.Headers, wire.Header{Key: wire.HeaderSessionID, Value: []byte(d.key)})
	}
	d.w.Write(r)
	if d.g.o.Clean || !d.lines {
		return
	}
	if one(d.rng, 80) {
		d.w.Write(r) // redelivered
	}
	if one(d.rng, 1500) {
		d.w.Write(agdxlog.Record{
			Role: r.Role, Topic: r.Topic, Session: r.Session, Key: r.Key,
			Value: appendJSON(nil, fields{"seq", d.seq - 1, "event", fields{"kind", "checkpoint_taken", "turn", d.turn, "history_len", 0}}),
		})
	}
}

// begin starts a run.
func (d *deep) begin() {
	d.turn, d.tokens = 0, 0
	d.say("run_started", "run_id", "run-"+hexOf(d.rng)[:12], "goal", pick(d.rng, goals), "criteria", []string{"tests pass"}, "agent_id", d.agent, "system_prompt", nil)
}

// end ends a run.
func (d *deep) end(reason string) {
	d.say("run_terminal", "reason", reason, "turns_used", d.turn, "total_tokens", d.tokens)
}

// think is one model call, told on two levels where the host tells of attempts.
func (d *deep) think() {
	d.turn++
	d.here("checkpoint_taken", "history_len", 2*d.turn)
	m := pick(d.rng, models)
	in, out := uint64(300+d.rng.IntN(6_000)), uint64(30+d.rng.IntN(900))
	if d.attempts {
		d.effects++
		effect := fmt.Sprintf("effect-%s-%d", d.w.ID, d.effects)
		try := func(n int, status string, u fields) {
			d.here("provider_attempt", "effect_id", effect, "attempt_seq", n, "status", status,
				"route", fields{"provider", m.provider, "model", m.model}, "usage", u, "latency_ms", 200+d.rng.IntN(4_000))
		}
		n := 1
		if one(d.rng, 10) { // it failed after the input was paid for
			try(n, "error", fields{"inputTokens", in, "outputTokens", 0})
			d.tokens += in
			n++
		}
		u := fields{"inputTokens", in, "outputTokens", out, "cacheReadInputTokens", in / 2}
		if one(d.rng, 4) {
			u = append(u, "cacheCreationInputTokens", in/8, "reasoningTokens", out/3)
		}
		try(n, "success", u)
		d.tokens += in
	}
	d.tokens += out
	if d.flat {
		more := []any{"content", prose(d.rng, 4), "tool_calls", d.calls(1), "token_count", out}
		if one(d.rng, 2) {
			more = append(more, "usage", fields{"inputTokens", in, "outputTokens", out})
		}
		d.here("llm_completed", more...)
		return
	}
	d.here("llm_completed", "message", fields{"role", "assistant", "content", prose(d.rng, 4), "tool_calls", d.calls(1), "token_count", out})
}

func (d *deep) calls(n int) []fields {
	out := []fields{}
	for i := range n {
		args := fields{"path", fmt.Sprintf("src/module%d.go", d.rng.IntN(400)), "limit", 20}
		var given any = args
		if d.flat {
			given = string(appendJSON(nil, args)) // as some providers write them
		}
		out = append(out, fields{"id", fmt.Sprintf("call-%d-%d", d.turn, i), "name", pick(d.rng, tools), "arguments", given})
	}
	return out
}

// act is a round of tool calls; one in eight fails.
func (d *deep) act() {
	n := 1 + d.rng.IntN(2)
	d.here("tool_requested", "calls", d.calls(n))
	results := []fields{}
	for i := range n {
		r := fields{"call_id", fmt.Sprintf("call-%d-%d", d.turn, i), "output", prose(d.rng, 6), "is_error", one(d.rng, 8)}
		if one(d.rng, 60) {
			r = append(r, "is_fatal", true)
		}
		results = append(results, r)
	}
	d.here("tool_completed", "results", results)
}
