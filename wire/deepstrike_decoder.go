package wire

import "hash/crc32"

// NewDeepStrikeDecoder gives a decoder of DeepStrike session events: bare
// events, log lines {seq, event}, and lines with record_type (spec
// deepstrike.md, sections 1 and 2). It is not safe for concurrent use; each
// source has its own. Ordinary records are decoded without allocating.
func NewDeepStrikeDecoder() Decoder { return &deepDecoder{} }

type deepDecoder struct {
	nativeDecoder
	e         deepEvent // of the record at hand
	value     []byte
	arguments []byte // memory of e.arguments
}

// Decode implements Decoder.
func (d *deepDecoder) Decode(src *Source, raw []Raw) []Record { return d.batch(src, raw, d.one) }

func (d *deepDecoder) one(raw *Raw) {
	if raw.Value == nil {
		d.refuse(raw, DisplayUndecodable, reasonTombstone)
		return
	}
	d.e, d.value = deepEvent{}, raw.Value
	d.in.reset(raw.Value)
	if d.in.at('{') {
		d.top()
	} else {
		d.in.skip()
	}
	e := &d.e
	switch {
	case !d.in.whole():
		// What was listed before the fault is of no use.
		d.links, d.says = d.links[:d.linkFrom], d.says[:d.saysFrom]
		d.refuse(raw, DisplayUndecodable, reasonJSON)
		return
	case !e.named && !e.recorded:
		d.refuse(raw, DisplayInvalid, reasonNoEvent)
		return
	}
	d.session(outside(raw))
	d.rec.Facts = FactLane
	if e.hasSeq {
		d.n.Seq, d.n.HasSeq = e.seq, true
		d.n.Mark, d.n.HasMark, d.n.Paired = e.seq<<32|uint64(crc32.Checksum(raw.Value, castagnoli)), true, true
		d.number(SumSequence, e.seq)
	}
	if e.recorded && !e.named {
		d.rec.Kind, d.rec.Display, d.n.Inert = KindRecord, DisplayAgentMessage, true
		return
	}
	d.rec.Operation = e.kind
	category := deepCategory(e.kind)
	d.word(SumCategory, category)
	d.word(SumPrimitive, deepPrimitive(category))
	d.kind()
}

// kind says what the record does by its kind (spec deepstrike.md, section 2).
func (d *deepDecoder) kind() {
	e, rec := &d.e, d.rec
	rec.Display = deepDisplay(e.kind)
	switch string(e.kind) {
	case "run_started":
		d.runStarted()
	case "run_terminal":
		d.runTerminal()
	case "llm_completed":
		d.llmCompleted()
	case "provider_attempt":
		d.providerAttempt()
	case "tool_requested":
		d.toolRequested()
	case "tool_completed":
		d.toolCompleted()
	case "tool_argument_repaired", "tool_denied":
		rec.Tool = e.tool
		d.n.Issues = 1
	case "rollbacked":
		d.n.Issues = 1
		if plainWord(e.reason) { // some writers put an error's text here
			d.text(SumReason, e.reason)
		}
	case "memory_write_failed", "memory_query_failed":
		d.n.Issues = 1
	case "permission_requested":
		rec.Tool = e.tool
		d.say(Say{Key: SayWait, Num: 1, Text: wordApproval})
	case "permission_resolved":
		d.say(Say{Key: SayWait, Soft: true, Text: wordApproval})
	case "suspended":
		d.say(Say{Key: SayCourse, Num: uint8(StatusPaused), Soft: true})
		d.say(Say{Key: SayWait, Num: 1, Text: e.reason})
	case "resumed":
		d.say(Say{Key: SayCourse, Num: uint8(StatusActive), Soft: true})
		d.say(Say{Key: SayWait})
	case "tool_gated":
		rec.Tool = e.tool
		d.say(Say{Key: SayWait, Num: 1, Text: e.reason})
	case "budget_exceeded":
		d.say(Say{Key: SayBudget, Num: 1})
	case "round_paced":
		d.paced()
	case "memory_written":
		d.link(Link{Surface: SurfaceMemory, Relation: RelationWrote, Resource: e.scope, Item: e.record})
	case "memory_retrieval_result":
		for _, id := range e.hits {
			d.link(Link{Surface: SurfaceMemory, Relation: RelationRecalled, Item: id})
		}
		d.number(SumItems, uint64(len(e.hits)))
	case "memory_validation_failed":
		d.n.Issues = 1
	case "agent_process_changed", "agent_spawned":
		d.process()
	}
	d.auditOf()
}

var (
	wordApproval = []byte("approval")
	wordSleep    = []byte("sleep")
)

func (d *deepDecoder) textOf(k SummaryKey, t []byte) {
	if len(t) > 0 {
		d.text(k, t)
	}
}

func (d *deepDecoder) runStarted() {
	e := &d.e
	d.n.Run = RunStarts
	d.rec.Agent = e.agent
	d.start(Start{Agent: e.agent, NativeID: d.n.ID})
	d.say(Say{Key: SayCourse, Num: uint8(StatusActive)})
	d.say(Say{Key: SayWait})
	d.say(Say{Key: SayBudget})
	if len(e.agent) > 0 {
		d.rec.Facts |= FactAuthor
		d.sayText(SayAgent, e.agent)
	}
	d.sayText(SayGoal, e.goal)
}

func (d *deepDecoder) runTerminal() {
	e := &d.e
	d.n.Run = RunEnds
	if e.hasTotal {
		d.n.Total = e.total
	}
	status := StatusFailed
	switch string(e.reason) {
	case "completed":
		status, d.rec.Display = StatusCompleted, DisplaySessionCompleted
	case "user_abort", "user", "cancelled", "host_shutdown", "lease_lost":
		status, d.rec.Display = StatusCanceled, DisplaySessionCanceled
	case "milestone_pending":
		status, d.rec.Display = StatusPaused, DisplaySessionPaused
	}
	d.textOf(SumReason, e.reason)
	d.say(Say{Key: SayCourse, Num: uint8(status)})
	d.say(Say{Key: SayOutcome, Num: uint8(status), Text: e.reason})
	d.say(Say{Key: SayWait})
}

// llmCompleted counts a call; its tokens are all taken for output, estimated
// when the provider did not say how many these were.
func (d *deepDecoder) llmCompleted() {
	e := &d.e
	d.rec.Facts |= FactModelCall | FactUnpriced
	d.n.Turns = 1
	switch {
	case e.usage.hasOut:
		u := e.usage.Usage
		u.In, u.CacheRead, u.CacheWrite, u.Has = 0, 0, 0, u.Has&HasReasoning
		d.usage(&u, LevelCall)
	case e.hasCount:
		d.usage(&Usage{Out: e.tokenCount}, LevelCall)
		d.n.Estimated = true
	}
}

func (d *deepDecoder) providerAttempt() {
	e := &d.e
	if e.usage.any {
		d.usage(&e.usage.Usage, LevelAttempt)
	}
	if len(e.effect) > 0 && e.hasAttemptSeq {
		h := hash64(0, e.effect)
		for shift := 0; shift < 64; shift += 8 {
			h = (h ^ e.attemptSeq>>shift&0xff) * 1099511628211
		}
		d.n.Attempt, d.n.HasAttempt = h, true
	}
	if e.status != nil && string(e.status) != "success" {
		d.n.Issues = 1
	}
	d.textOf(SumStatus, e.status)
	d.textOf(SumProvider, e.provider)
	d.textOf(SumModel, e.model)
	d.sayText(SayModel, e.model)
}

func (d *deepDecoder) toolRequested() {
	e := &d.e
	d.n.ToolCalls = uint32(e.calls)
	d.rec.Tool = e.tool
	d.number(SumItems, uint64(e.calls))
	if e.calls == 0 {
		return
	}
	names := d.lists[e.callsFrom:e.callsTo]
	from := len(d.lists)
	d.lists = append(d.lists, names[:min(len(names), maxSummaryList)]...)
	d.argumentKeys(from, e.callsKnown)
	d.digest(e.arguments)
}

func (d *deepDecoder) toolCompleted() {
	e := &d.e
	d.n.Issues, d.n.Errors = uint32(e.resultErrors), uint32(e.resultFatals)
	status := "ok"
	if e.resultErrors+e.resultFatals > 0 {
		status = "error"
	}
	d.word(SumStatus, status)
	d.number(SumItems, uint64(e.results))
	d.number(SumSize, e.resultBytes)
}

func (d *deepDecoder) paced() {
	e := &d.e
	d.textOf(SumStatus, e.action)
	if string(e.action) != "sleep" {
		d.say(Say{Key: SayWait, Soft: true, Text: wordSleep})
		return
	}
	s := Say{Key: SayWait, Num: 1, Text: wordSleep}
	if e.hasWake {
		s.Aux = mulSaturating(e.wakeMillis, 1000)
	}
	d.say(s)
}

// process: the child is named by its agent id; its end, when the record tells
// it, says how it came out.
func (d *deepDecoder) process() {
	e := &d.e
	d.rec.Addressee = e.agent
	c := NativeChild{Item: e.agent, State: e.state}
	if len(e.termination) > 0 {
		c.State, c.Final = e.termination, true
	} else {
		c.Final = finalState(e.state)
	}
	d.textOf(SumStatus, e.state)
	d.child(c)
}
