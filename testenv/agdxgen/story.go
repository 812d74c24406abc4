package agdxgen

import (
	"fmt"
	"math/rand/v2"

	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/interleave"
	"sessionfold/wire"
)

// story tells one session, in the order in which it writes.
type story struct {
	*agdxlog.Session
	g     *Generator
	rng   *rand.Rand
	w     *interleave.Writer
	depth int
	topic string
	model string
}

// newRoot starts a session that nobody spawned.
func (g *Generator) newRoot() *interleave.Writer {
	id, agent := g.newID(), agents[g.rng.IntN(len(agents))]
	return g.tell(g.log.SessionID(id, agent), 0)
}

// tell writes the whole of a session into an actor.
func (g *Generator) tell(s *agdxlog.Session, depth int) *interleave.Writer {
	g.started++
	rng := rand.New(rand.NewPCG(g.rng.Uint64(), g.rng.Uint64()))
	st := &story{
		Session: s, g: g, rng: rng, w: &interleave.Writer{ID: s.ID}, depth: depth,
		topic: topics[rng.IntN(len(topics))], model: models[rng.IntN(len(models))],
	}
	if g.o.Signed {
		s.Signs(agdxlog.KeyNamed(s.Agent), g.started%2 == 0)
	}
	before := g.into
	g.into = st.w
	st.play()
	g.into = before
	return st.w
}

func (st *story) play() {
	switch n := st.rng.IntN(100); {
	case st.depth > 0:
		st.errand()
	case n < 30:
		st.research()
	case n < 52:
		st.coding()
	case n < 68:
		st.support()
	case n < 78:
		st.nightly()
	case n < 86:
		st.paused()
	case n < 93:
		st.failing()
	case n < 97:
		st.canceled()
	default:
		st.implicit()
	}
	if !st.g.o.Clean && st.rng.IntN(60) == 0 {
		st.bad()
	}
}

func (st *story) begin(kind string) {
	b := agdxlog.Start{
		Label: fmt.Sprintf("%s: %s", kind, st.topic), Namespace: namespaces[st.rng.IntN(len(namespaces))],
		SDK: &agdxlog.SDK{Language: languages[st.rng.IntN(len(languages))], Version: fmt.Sprintf("1.%d.0", st.rng.IntN(9))},
	}
	if st.rng.IntN(2) == 0 {
		b.Tags = []string{kind, "team-" + string('a'+rune(st.rng.IntN(5)))}
	}
	if st.rng.IntN(3) == 0 {
		b.IdleTimeout = uint64(60+st.rng.IntN(600)) * 1_000_000
	}
	if st.rng.IntN(3) == 0 {
		b.Budget = &agdxlog.Budget{Tokens: uint64(5_000 + st.rng.IntN(60_000)), CostMicros: uint64(1_000 + st.rng.IntN(50_000))}
	}
	if st.rng.IntN(4) == 0 {
		st.Submit(b)
		st.State(wire.TaskWorking, st.Agent, nil)
		return
	}
	st.Start(b)
}

// think is one model call, sometimes with a token stream before its response.
func (st *story) think() {
	t := agdxlog.Tokens{
		In: uint64(200 + st.rng.IntN(6_000)), Out: uint64(20 + st.rng.IntN(900)),
		CacheRead: uint64(st.rng.IntN(2) * st.rng.IntN(200)), CostMicros: int64(40 + st.rng.IntN(4_000)),
	}
	if st.rng.IntN(5) == 0 {
		t.CostMicros = -1
	}
	if st.rng.IntN(4) == 0 {
		t.Reasoning = t.Out / 3
	}
	req := st.ModelRequest(st.model)
	if st.rng.IntN(3) == 0 {
		word := wire.OpChat
		if t.Reasoning > 0 {
			word = wire.OpReasoning
		}
		st.Stream(word, 2+st.rng.IntN(10))
	}
	st.ModelResponse(req, st.model, t)
}

// act is one tool call; one in eight fails.
func (st *story) act() {
	t := tools[st.rng.IntN(len(tools))]
	args := fmt.Sprintf(t.args, st.rng.IntN(1_000))
	if st.rng.IntN(8) == 0 {
		st.ToolFails(t.name, args, "the tool gave up")
		return
	}
	st.Tool(t.name, args, fmt.Sprintf(`{"lines":%d,"ok":true}`, st.rng.IntN(400)))
}

// delegate hands work to a child session; with wait its end comes first.
func (st *story) delegate(wait bool) {
	if st.depth >= 2 || !st.g.mayStart() {
		return
	}
	agent := agents[st.rng.IntN(len(agents))]
	st.Handoff(agent, "look into "+st.topic)
	child := st.g.tell(st.Child(st.g.newID(), agent), st.depth+1)
	st.w.Start(child)
	if wait {
		st.w.Await(child)
	}
}

func (st *story) item() string { return fmt.Sprintf("%s-m%d", st.Agent, st.rng.IntN(500)) }
