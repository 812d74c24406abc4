package wire

import "bytes"

// NewEverrunsDecoder gives a decoder of Everruns events and session objects
// (spec everruns.md, sections 1 and 2). It is not safe for concurrent use; each
// source has its own. Ordinary records are decoded without allocating.
func NewEverrunsDecoder() Decoder { return &everDecoder{} }

type everDecoder struct {
	nativeDecoder
	e everEvent // of the record at hand
}

// Decode implements Decoder.
func (d *everDecoder) Decode(src *Source, raw []Raw) []Record { return d.batch(src, raw, d.one) }

func (d *everDecoder) one(raw *Raw) {
	if raw.Value == nil {
		d.refuse(raw, DisplayUndecodable, reasonTombstone)
		return
	}
	d.e = everEvent{}
	d.in.reset(raw.Value)
	if d.in.at('{') {
		d.top()
	} else {
		d.in.skip()
	}
	e := &d.e
	if !d.in.whole() {
		d.refuse(raw, DisplayUndecodable, reasonJSON)
		return
	}
	e.object = !e.typed && e.org && e.status != nil
	id := e.session
	if e.object {
		id = e.id
	}
	if len(id) == 0 {
		id = outside(raw)
	}
	d.session(id)
	switch {
	case e.object:
		d.rec.Facts = FactLane
		d.sessionObject()
	case e.typed:
		d.rec.Facts = FactLane
		d.eventOf()
	default:
		d.refuse(raw, DisplayInvalid, reasonNoEvent)
	}
}

// sessionObject: a snapshot of the row's own fields, whose words win over those
// of events. Its usage and activity are not read.
func (d *everDecoder) sessionObject() {
	e, rec := &d.e, d.rec
	rec.Kind, rec.Display = KindSession, DisplaySessionStarted
	rec.Agent = e.agent
	d.word(SumStatus, ParseNativeState(e.status).String())
	s := Start{Agent: e.agent, NativeID: d.n.ID}
	if len(e.parent) > 0 {
		rec.Parent, rec.HasParent = NativeID(d.src.Dialect, d.src.Stream, e.parent), true
		s.Parent, s.HasParent = rec.Parent, true
	}
	d.start(s)
	d.say(Say{Key: SayState, Num: uint8(ParseNativeState(e.status)), Text: e.status})
	d.sayText(SayLabel, e.title)
	d.sayText(SayModel, e.model)
	if len(e.agent) > 0 {
		rec.Facts |= FactAuthor
		d.sayText(SayAgent, e.agent)
	}
	if e.hasTags {
		d.say(Say{Key: SayTags, List: e.tags})
	}
	if e.source != nil {
		source, _ := ParseSessionSource(e.source)
		d.say(Say{Key: SaySource, Num: uint8(source)})
	}
	if len(e.forked) > 0 {
		d.say(Say{Key: SayFork, Text: e.forked, Aux: e.forkSeq})
	}
	d.sayText(SayGoal, e.goal)
	d.sayText(SayPreview, e.preview)
	d.sayText(SayOutput, e.output)
}

func (d *everDecoder) eventOf() {
	e, rec := &d.e, d.rec
	rec.Operation = e.kind
	if e.hasSeq {
		d.n.Seq, d.n.HasSeq = e.seq, true
		d.number(SumSequence, e.seq)
	}
	if len(e.id) > 0 {
		d.n.Mark, d.n.HasMark = hash64(0, e.id), true
	}
	if i := bytes.LastIndexByte(e.turn, '_'); len(e.turn) > 0 {
		rec.Correlation, rec.HasCorrelation = hexBits(e.turn[i+1:])
	}
	if source, ok := ParseSessionSource(e.claim); ok && source.ClientDeclarable() {
		d.say(Say{Key: SayClaim, Num: uint8(source)})
	}
	rec.Display = everDisplay(e.kind)
	d.kind()
}

// kind says what the record does by its type (spec everruns.md, section 2).
func (d *everDecoder) kind() {
	e, rec := &d.e, d.rec
	switch kind := e.kind; string(kind) { // older names beside the newer ones
	case "session.started":
		d.state(StateStarted)
		rec.Agent = e.agent
		d.start(Start{Agent: e.agent, NativeID: d.n.ID})
		if len(e.agent) > 0 {
			rec.Facts |= FactAuthor
			d.sayText(SayAgent, e.agent)
		}
		d.sayText(SayModel, e.model)
	case "session.activated", "turn.started":
		d.state(StateActive)
	case "session.idled":
		d.state(StateIdle)
		if e.usage.any {
			u := e.usage.normal()
			d.usage(&u, LevelCumulative)
		}
	case "turn.completed":
		d.turn(TurnCompleted)
	case "turn.failed":
		d.turn(TurnFailed)
		d.n.Errors = 1
	case "turn.cancelled", "turn.canceled":
		d.turn(TurnCancelled)
	case "turn.sealed":
		d.turn(TurnSealed)
		d.n.Errors = 1
	case "input.message", "message.user", "input.received":
		d.sayText(SayPreview, e.text)
	case "output.message.completed", "message.agent":
		d.sayText(SayOutput, e.text)
	case "llm.generation":
		d.generation()
	case "reason.completed":
		if e.failed {
			d.n.Issues = 1
		}
	case "tool.completed", "tool.call_completed":
		d.toolCompleted()
	case "tool.call_requested":
		rec.Tool = e.tool
		d.state(StateWaiting)
	case "tool.started", "tool.call_started":
		rec.Tool = e.tool
	case "budget.paused", "budget.exhausted":
		d.say(Say{Key: SayBudget, Num: 1})
	case "budget.resumed":
		d.say(Say{Key: SayBudget})
	case "session.title.updated":
		d.sayText(SayLabel, e.title)
	case "session.model.changed":
		if e.model == nil {
			e.model = e.name
		}
		d.sayText(SayModel, e.model)
	case "file.written":
		d.link(Link{Surface: SurfaceProjection, Relation: RelationWrote, Resource: wordFile, Item: e.path})
	default:
		d.family(kind)
	}
}

var (
	wordFile  = []byte("file")
	wordTimer = []byte("timer")
)

// family handles types that share a beginning or an end.
func (d *everDecoder) family(kind []byte) {
	e := &d.e
	switch {
	case bytes.HasSuffix(kind, []byte(".delta")):
		d.rec.Facts |= FactNoRow
	case has(kind, "subagent."):
		d.children(kind[len("subagent."):])
	case string(kind) == "task.created", string(kind) == "task.updated":
		d.children(e.state)
	case has(kind, "schedule."), has(kind, "timer."):
		d.say(Say{Key: SayHint, Num: uint8(SourceSchedule)})
		switch string(kind) {
		case "timer.set":
			d.say(Say{Key: SayWait, Num: 1, Text: wordTimer, Aux: e.fireAt})
		case "timer.fired", "timer.cancelled", "timer.canceled":
			d.say(Say{Key: SayWait, Soft: true, Text: wordTimer})
		}
	}
}

// state says the execution status that an event stands for.
func (d *everDecoder) state(s NativeState) {
	d.say(Say{Key: SayState, Num: uint8(s)})
}

func (d *everDecoder) turn(t TurnEnd) {
	d.n.Turns = 1
	d.say(Say{Key: SayTurn, Num: uint8(t), Text: d.e.reason})
	d.state(StateIdle)
	if t == TurnSealed && len(d.e.reason) > 0 {
		d.text(SumReason, d.e.reason)
	}
}

// generation is the only source of tokens, whether it succeeded or not.
func (d *everDecoder) generation() {
	e, rec := &d.e, d.rec
	rec.Facts |= FactModelCall
	d.n.Level = LevelGeneration
	if e.usage.any {
		u := e.usage.normal()
		d.usage(&u, LevelGeneration)
		rec.Facts |= FactUsage
	}
	if !e.usage.hasCost {
		rec.Facts |= FactUnpriced
	}
	d.outcome()
	if e.name != nil {
		d.text(SumModel, e.name)
	}
	if e.provider != nil {
		d.text(SumProvider, e.provider)
	}
	if e.finish != nil {
		d.text(SumFinishReason, e.finish)
	}
}

func (d *everDecoder) toolCompleted() {
	e := &d.e
	d.rec.Tool = e.tool
	d.n.ToolCalls = 1
	if e.state != nil && string(e.state) != "success" {
		e.failed = true
	}
	d.outcome()
}

// outcome keeps how a call ended; one that failed is an issue.
func (d *everDecoder) outcome() {
	e := &d.e
	if e.failed {
		d.n.Issues = 1
		d.word(SumStatus, "error")
	} else {
		d.word(SumStatus, "ok")
	}
	if e.hasMillis {
		d.number(SumDuration, mulSaturating(e.millis, 1000))
	}
}

// children keeps the child that the event names.
func (d *everDecoder) children(state []byte) {
	e := &d.e
	item := e.childSession
	for _, other := range [][]byte{e.subSession, e.linked, e.item} {
		if len(item) == 0 {
			item = other
		}
	}
	d.rec.Addressee = item
	if len(state) > 0 {
		d.text(SumStatus, state)
	}
	d.child(NativeChild{
		Item: item, State: state, Attempt: e.attempt, HasAttempt: e.hasAttempt, Final: finalState(state), Sticky: true,
	})
}

// everDisplay gives the display of a type (spec settled.md, "Everruns display").
func everDisplay(kind []byte) Display {
	switch string(kind) {
	case "session.started":
		return DisplaySessionStarted
	case "session.activated":
		return DisplaySessionResumed
	case "turn.failed", "turn.sealed", "subagent.failed":
		return DisplayError
	case "session.idled", "subagent.completed", "subagent.cancelled", "subagent.canceled":
		return DisplayTaskStatus
	case "input.message", "message.user", "input.received":
		return DisplayUserMessage
	case "llm.generation":
		return DisplayModelResponse
	case "tool.started", "tool.call_started", "tool.call_requested":
		return DisplayToolCall
	case "tool.completed", "tool.call_completed":
		return DisplayToolResult
	case "subagent.spawned":
		return DisplayAgentHandoff
	}
	switch {
	case has(kind, "turn."):
		return DisplayTaskStatus
	case has(kind, "budget."):
		return DisplayPolicyDecision
	case has(kind, "task."):
		return DisplayAgentHandoff
	case has(kind, "context."):
		return DisplayContextCompacted
	}
	return DisplayAgentMessage
}
