package wire

// everEvent is one Everruns event or session object: the fields of all types
// together. Texts are views, nil when absent.
type everEvent struct {
	object, typed bool // a session object; an event
	org           bool

	id, kind, session, turn                       []byte // kind as written
	status, source, title, goal, preview, output  []byte
	agent, model, parent, forked                  []byte
	claim, tool, reason, path, text               []byte
	state, childSession, subSession, linked, item []byte
	provider, finish, name                        []byte
	fireAt                                        uint64 // µs
	seq, forkSeq, attempt, millis                 uint64
	hasSeq, hasForkSeq, hasFire, hasAttempt       bool
	hasMillis, failed                             bool
	tags                                          [][]byte
	hasTags                                       bool
	usage                                         everUsage
}

// everUsage is a usage whose inputs are disjoint.
type everUsage struct {
	any                                      bool
	input, output, read, write, reasoning    uint64
	hasRead, hasWrite, hasReasoning, hasCost bool
	nano                                     uint64
}

// top reads the fields of an event beside its data, or of a session object.
func (d *everDecoder) top() {
	r, e, n := &d.in, &d.e, 0
	for r.open('{'); r.more('}', &n); {
		switch key := r.key(); string(key) {
		case "id":
			e.id = r.text()
		case "type":
			e.kind = r.text()
			e.typed = e.kind != nil
		case "session_id":
			if t := r.text(); t != nil {
				e.session = t
			}
		case "context":
			d.context()
		case "data":
			d.data(0)
		case "metadata":
			d.claims()
		case "sequence":
			e.seq, e.hasSeq = r.count()
		case "organization_id":
			e.org = true
			r.skip()
		case "status":
			e.status = r.text()
		case "source":
			e.source = r.text()
		case "goal":
			e.goal = r.text()
		case "preview":
			e.preview = r.text()
		case "output_preview":
			e.output = r.text()
		case "parent_session_id":
			e.parent = r.text()
		case "forked_from_session_id":
			e.forked = r.text()
		case "forked_from_sequence":
			e.forkSeq, e.hasForkSeq = r.count()
		case "tags":
			e.tags, e.hasTags = d.tags()
		case "title":
			e.title = r.text()
		case "agent_id":
			e.agent = r.text()
		case "model_id":
			e.model = r.text()
		default:
			r.skip()
		}
	}
}

// context gives the turn, and in older events the session.
func (d *everDecoder) context() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		switch string(r.key()) {
		case "turn_id":
			e.turn = r.text()
		case "session_id":
			if t := r.text(); e.session == nil {
				e.session = t
			}
		default:
			r.skip()
		}
	}
}

// claims reads what a client may say of a session in an event's metadata.
func (d *everDecoder) claims() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		if string(r.key()) == "source" {
			e.claim = r.text()
		} else {
			r.skip()
		}
	}
}

// tags reads at most what a session keeps of them.
func (d *everDecoder) tags() ([][]byte, bool) {
	r, n, from := &d.in, 0, len(d.lists)
	if !r.at('[') {
		r.skip()
		return nil, false
	}
	for r.open('['); r.more(']', &n); {
		if t := r.text(); t != nil && len(d.lists)-from < maxStartTags {
			d.lists = append(d.lists, t)
		}
	}
	return d.lists[from:len(d.lists):len(d.lists)], true
}

// data reads an event's payload. Below it only usage and a few objects are
// looked into.
func (d *everDecoder) data(depth int) {
	r, e, n := &d.in, &d.e, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		switch key := r.key(); string(key) {
		case "metadata":
			if depth == 0 {
				d.data(1)
			} else {
				r.skip()
			}
		case "usage":
			// Of two, the one in the metadata counts.
			if depth == 1 || !e.usage.any {
				d.usageOf()
			} else {
				r.skip()
			}
		case "success":
			if v, ok := r.boolean(); ok {
				e.failed = !v
			}
		case "model":
			e.name = r.text()
		case "provider":
			e.provider = r.text()
		case "duration_ms":
			e.millis, e.hasMillis = r.count()
		case "finish_reasons":
			d.finishReasons()
		default:
			if depth == 0 {
				d.field(key)
			} else {
				r.skip()
			}
		}
	}
}

func (d *everDecoder) field(key []byte) {
	r, e := &d.in, &d.e
	switch string(key) {
	case "agent_id":
		e.agent = r.text()
	case "model_id", "new_model_id":
		e.model = r.text()
	case "title":
		e.title = r.text()
	case "reason":
		e.reason = r.text()
	case "tool_name":
		e.tool = r.text()
	case "tool_call":
		d.toolCall()
	case "status", "state":
		e.state = r.text()
	case "path":
		e.path = r.text()
	case "child_session_id":
		e.childSession = r.text()
	case "subagent_session_id":
		e.subSession = r.text()
	case "links":
		d.childLink()
	case "id":
		e.item = r.text()
	case "attempt":
		e.attempt, e.hasAttempt = r.count()
	case "fire_at":
		e.fireAt, e.hasFire = momentOf(r.number())
	case "message":
		d.message()
	case "content":
		d.content()
	default:
		r.skip()
	}
}

func (d *everDecoder) toolCall() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		if string(r.key()) == "name" {
			e.tool = r.text()
		} else {
			r.skip()
		}
	}
}

func (d *everDecoder) childLink() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		if string(r.key()) == "child_session_id" {
			e.linked = r.text()
		} else {
			r.skip()
		}
	}
}

// message and content find the first text of a message: kept only where
// previews are on.
func (d *everDecoder) message() {
	r, n := &d.in, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		if string(r.key()) == "content" {
			d.content()
		} else {
			r.skip()
		}
	}
}

func (d *everDecoder) content() {
	r, e, n := &d.in, &d.e, 0
	if r.isText() {
		e.text = r.text()
		return
	}
	if !r.at('[') {
		r.skip()
		return
	}
	found := false
	for r.open('['); r.more(']', &n); {
		if found || !r.at('{') {
			r.skip()
			continue
		}
		m := 0
		for r.open('{'); r.more('}', &m); {
			if string(r.key()) == "text" && r.isText() {
				e.text, found = r.text(), true
			} else {
				r.skip()
			}
		}
	}
}

func (d *everDecoder) finishReasons() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('[') {
		e.finish = r.text()
		return
	}
	for r.open('['); r.more(']', &n); {
		if t := r.text(); e.finish == nil {
			e.finish = t
		}
	}
}
