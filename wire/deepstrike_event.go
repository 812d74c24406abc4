package wire

// deepEvent is one DeepStrike event: the fields of all kinds together, because
// the word of the kind may stand behind them. Texts are views, nil when absent.
type deepEvent struct {
	seq            uint64
	hasSeq         bool
	line, recorded bool // {seq, event}; a line with record_type
	named          bool // has a kind

	kind, agent, goal, status, state, reason, action            []byte
	tool, parent, termination, effect, record, scope            []byte
	operation, reservation, budget, delivery, signal, disposed  []byte
	model, provider                                             []byte
	turn, attemptSeq, attempt, queue, total, wakeMillis         uint64
	tokens, subagents, rounds, tokenCount                       uint64
	hasTotal, hasWake, hasCount, hasAttemptSeq, hasTry, hasTurn bool
	usage                                                       deepUsage
	calls                                                       int // of tool_requested
	callsFrom, callsTo                                          int // in the decoder's lists: argument names
	callsKnown                                                  bool
	arguments                                                   []byte // of the calls, one after the other
	results, resultErrors, resultFatals                         int
	resultBytes                                                 uint64
	pending                                                     [][]byte
	hits                                                        [][]byte
}

// deepUsage is the usage of a call or of one attempt. Input includes what the
// cache served and took.
type deepUsage struct {
	Usage
	any, hasOut bool
}

// maxAuditCalls bounds the ids of one suspension or cancellation.
const maxAuditCalls = 1_000

// top reads the whole value: an event, or a log line around one.
func (d *deepDecoder) top() {
	r, e, n := &d.in, &d.e, 0
	for r.open('{'); r.more('}', &n); {
		switch key := r.key(); string(key) {
		case "seq":
			e.seq, e.hasSeq = r.count()
		case "record_type":
			e.recorded = r.text() != nil
		case "event":
			if !r.at('{') {
				r.skip()
				continue
			}
			e.line = true
			d.event()
		default:
			d.field(key)
		}
	}
}

func (d *deepDecoder) event() {
	r, n := &d.in, 0
	for r.open('{'); r.more('}', &n); {
		d.field(r.key())
	}
}

// field reads a field of an event.
func (d *deepDecoder) field(key []byte) {
	r, e := &d.in, &d.e
	switch string(key) {
	case "kind":
		e.kind = r.text()
		e.named = e.kind != nil
	case "turn":
		e.turn, e.hasTurn = r.count()
	case "goal":
		e.goal = r.text()
	case "agent_id":
		e.agent = r.text()
	case "reason":
		e.reason = d.reason()
	case "message":
		d.message()
	case "token_count":
		e.tokenCount, e.hasCount = r.count()
	case "usage":
		d.usageOf()
	case "calls":
		d.toolCalls()
	case "results":
		d.toolResults()
	case "total_tokens":
		e.total, e.hasTotal = r.count()
	case "status":
		e.status = r.text()
	case "state":
		e.state = r.text()
	case "action":
		e.action = r.text()
	case "wake_at_ms":
		e.wakeMillis, e.hasWake = r.count()
	case "tool", "tool_name":
		e.tool = r.text()
	case "effect_id":
		e.effect = r.text()
	case "attempt_seq":
		e.attemptSeq, e.hasAttemptSeq = r.count()
	case "route":
		d.route()
	case "pending_calls", "pending_call_ids":
		e.pending = d.texts()
	case "hits":
		d.memoryHits()
	default:
		d.rareField(key)
	}
}

// rareField reads the fields of kernel decisions.
func (d *deepDecoder) rareField(key []byte) {
	r, e := &d.in, &d.e
	switch string(key) {
	case "parent_session_id":
		e.parent = r.text()
	case "result_termination":
		e.termination = r.text()
	case "record_id":
		e.record = r.text()
	case "scope":
		e.scope = r.text()
	case "operation_id":
		e.operation = r.text()
	case "reservation_id":
		e.reservation = r.text()
	case "budget":
		e.budget = r.text()
	case "delivery_id":
		e.delivery = r.text()
	case "signal_id":
		e.signal = r.text()
	case "disposition":
		e.disposed = r.text()
	case "attempt":
		e.attempt, e.hasTry = r.count()
	case "queue_depth":
		e.queue, _ = r.count()
	case "tokens":
		e.tokens, _ = r.count()
	case "subagents":
		e.subagents, _ = r.count()
	case "rounds":
		e.rounds, _ = r.count()
	default:
		r.skip()
	}
}

// reason is a word, or an object whose kind is the word.
func (d *deepDecoder) reason() (word []byte) {
	r, n := &d.in, 0
	if !r.at('{') {
		return r.text()
	}
	for r.open('{'); r.more('}', &n); {
		if string(r.key()) == "kind" {
			word = r.text()
		} else {
			r.skip()
		}
	}
	return word
}

// message is the nested form of llm_completed; its content is passed over.
func (d *deepDecoder) message() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		switch string(r.key()) {
		case "token_count":
			e.tokenCount, e.hasCount = r.count()
		case "usage":
			d.usageOf()
		default:
			r.skip()
		}
	}
}

func (d *deepDecoder) usageOf() {
	r, n := &d.in, 0
	if !r.at('{') {
		r.skip()
		return
	}
	u := deepUsage{any: true}
	optional := func(to *uint64, bit UsageHas) {
		if v, ok := r.count(); ok {
			*to, u.Has = v, u.Has|bit
		}
	}
	for r.open('{'); r.more('}', &n); {
		switch string(r.key()) {
		case "inputTokens", "input_tokens":
			u.In, _ = r.count()
		case "outputTokens", "output_tokens":
			if v, ok := r.count(); ok {
				u.Out, u.hasOut = v, true
			}
		case "cacheReadInputTokens", "cache_read_input_tokens":
			optional(&u.CacheRead, HasCacheRead)
		case "cacheCreationInputTokens", "cache_creation_input_tokens":
			optional(&u.CacheWrite, HasCacheWrite)
		case "reasoningTokens", "reasoning_tokens":
			optional(&u.Reasoning, HasReasoning)
		default:
			r.skip()
		}
	}
	d.e.usage = u
}

func (d *deepDecoder) route() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		switch string(r.key()) {
		case "provider":
			e.provider = r.text()
		case "model":
			e.model = r.text()
		default:
			r.skip()
		}
	}
}
