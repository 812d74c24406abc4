package wire

// toolCalls reads the calls of tool_requested: how many, the first one's name,
// the names of their arguments. Arguments are an object or its text.
func (d *deepDecoder) toolCalls() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('[') {
		r.skip()
		return
	}
	e.calls, e.callsFrom, e.callsKnown, e.arguments = 0, len(d.lists), true, d.arguments[:0]
	for r.open('['); r.more(']', &n); {
		e.calls++
		d.toolCall()
	}
	d.arguments, e.callsTo = e.arguments, len(d.lists)
}

func (d *deepDecoder) toolCall() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('{') {
		r.skip()
		return
	}
	for r.open('{'); r.more('}', &n); {
		switch string(r.key()) {
		case "name", "tool":
			if name := r.text(); e.calls == 1 || e.tool == nil {
				e.tool = name
			}
		case "arguments":
			from := len(e.arguments)
			if r.isText() {
				e.arguments = append(e.arguments, r.text()...)
			} else {
				e.arguments = append(e.arguments, r.raw()...)
			}
			e.callsKnown = e.callsKnown && !r.bad && d.namesOf(e.arguments[from:])
		default:
			r.skip()
		}
	}
}

// namesOf lists the keys of an arguments object. The bytes are used again, so
// the names are copied.
func (d *deepDecoder) namesOf(object []byte) bool {
	from := len(d.lists)
	if !d.jsonKeys(object) {
		d.lists = d.lists[:from]
		return false
	}
	for i := from; i < len(d.lists); i++ {
		at := len(d.digests)
		d.digests = append(d.digests, d.lists[i]...)
		d.lists[i] = d.digests[at:len(d.digests):len(d.digests)]
	}
	return true
}

// toolResults reads the results of tool_completed: how many, how many failed,
// how large they are.
func (d *deepDecoder) toolResults() {
	r, e, n := &d.in, &d.e, 0
	if !r.at('[') {
		r.skip()
		return
	}
	e.results, e.resultErrors, e.resultFatals, e.resultBytes = 0, 0, 0, 0
	for r.open('['); r.more(']', &n); {
		e.results++
		if !r.at('{') {
			r.skip()
			continue
		}
		failed, fatal, m := false, false, 0
		for r.open('{'); r.more('}', &m); {
			switch string(r.key()) {
			case "is_error":
				failed, _ = r.boolean()
			case "is_fatal":
				fatal, _ = r.boolean()
			case "output", "content":
				e.resultBytes += uint64(len(r.raw()))
			default:
				r.skip()
			}
		}
		if failed {
			e.resultErrors++
		}
		if fatal {
			e.resultFatals++
		}
	}
}

// texts reads a list of texts, the first ones.
func (d *deepDecoder) texts() [][]byte {
	r, n, from := &d.in, 0, len(d.lists)
	if !r.at('[') {
		r.skip()
		return nil
	}
	for r.open('['); r.more(']', &n); {
		if t := r.text(); t != nil && len(d.lists)-from < maxAuditCalls {
			d.lists = append(d.lists, t)
		}
	}
	return d.lists[from:len(d.lists):len(d.lists)]
}

// memoryHits reads the ids of what was recalled, wherever a hit carries it.
func (d *deepDecoder) memoryHits() {
	r, n, from := &d.in, 0, len(d.lists)
	if !r.at('[') {
		r.skip()
		return
	}
	for r.open('['); r.more(']', &n); {
		if id := d.memoryHit(); id != nil {
			d.lists = append(d.lists, id)
		}
	}
	d.e.hits = d.lists[from:len(d.lists):len(d.lists)]
}

// memoryHit reads {record_id} or {id}, also inside {record} or {entry}.
func (d *deepDecoder) memoryHit() (id []byte) {
	r, n := &d.in, 0
	if !r.at('{') {
		return r.text()
	}
	for r.open('{'); r.more('}', &n); {
		switch string(r.key()) {
		case "record_id", "id":
			id = r.text()
		case "record", "entry":
			if r.at('{') {
				if inner := d.memoryHit(); id == nil {
					id = inner
				}
			} else {
				r.skip()
			}
		default:
			r.skip()
		}
	}
	return id
}
