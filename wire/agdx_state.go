package wire

import (
	"strconv"
	"unicode/utf8"
)

// DecodeState reads the body of a state_delta or state_snapshot record in CBOR
// or JSON (spec session-index.md, section 7; settled.md, "State"). It never
// fails: what cannot be read is a record with a fault. The result shares nothing
// with body but OpID.
func DecodeState(snapshot bool, content ContentType, body []byte) *StateRecord {
	s := &StateRecord{Snapshot: snapshot, FaultAt: -1}
	d := stateReader{s: s}
	switch content {
	case ContentCBOR:
	case ContentJSON:
		text := body
		ok := utf8.Valid(text) && pairedSurrogates(text)
		if ok {
			body, ok = cborOf(text)
		}
		if !ok {
			return s.malformed(FaultUnreadable)
		}
		// One reader for both; JSON may nest deeper than CBOR.
		d.c.r.depth, d.c.lastWins = maxCBORNesting-maxJSONNesting, true
	default:
		return s.malformed(FaultContentType)
	}
	d.c.r.b = body
	d.buf = make([]byte, 0, len(body)+len(body)/8)
	d.read()
	return s
}

func (s *StateRecord) malformed(f StateFault) *StateRecord {
	*s = StateRecord{Snapshot: s.Snapshot, Malformed: true, Fault: f, FaultAt: -1}
	return s
}

// stateReader reads one body. All texts it keeps go to one buffer.
type stateReader struct {
	s    *StateRecord
	c    canon
	buf  []byte
	ops  []rawOp
	many bool // more operations than are kept
	seen int
}

// span is a text in the buffer.
type span struct {
	from, to int
	set      bool
}

type rawOp struct {
	kind              PatchKind
	path, from, value span
	fault             StateFault
}

// The fields of a body.
const (
	stateBase = 1 << iota
	stateOpID
	statePatch
	stateDocument
)

func (d *stateReader) read() {
	r, s := &d.c.r, d.s
	var document span
	wrong := 0 // fields of another type
	judge := func(bit int, ok bool) {
		if wrong &^= bit; !ok {
			wrong |= bit
		}
	}
	if r.peek()>>5 != majorMap {
		r.skip()
	} else {
		for m := r.open(majorMap); r.more(&m); {
			switch key := string(r.key()); {
			case key == "base_revision" && d.field(stateBase):
				judge(stateBase, d.revision())
			case key == "op_id" && !s.Snapshot && d.field(stateOpID):
				judge(stateOpID, d.opID())
			case key == "patch" && !s.Snapshot && d.field(statePatch):
				judge(statePatch, d.patch())
			case key == "document" && s.Snapshot && d.once(stateDocument):
				document = d.value(nil)
			default:
				r.skip()
			}
		}
	}
	want := stateBase | stateOpID | statePatch
	if s.Snapshot {
		want = stateBase | stateDocument
	}
	switch {
	case r.end() != nil:
		s.malformed(FaultUnreadable)
	case wrong != 0 || d.seen != want:
		s.malformed(FaultFields)
	default:
		d.finish(document)
	}
}

// once notes a field; a repeated one of CBOR is an error, of JSON the last wins.
func (d *stateReader) once(bit int) bool {
	if d.c.lastWins {
		d.seen |= bit
		return true
	}
	return d.c.r.once(&d.seen, bit)
}

// field is once for a field that null makes absent.
func (d *stateReader) field(bit int) bool {
	if !d.once(bit) {
		return false
	}
	if d.c.r.peek() == cborNull {
		d.seen &^= bit
		return false
	}
	return true
}

// value appends the next item to the buffer; a fault of it goes to fault, else
// to the record.
func (d *stateReader) value(fault *StateFault) span {
	from := len(d.buf)
	d.c.fault = FaultNone
	d.buf = d.c.value(d.buf)
	if fault == nil {
		fault = &d.s.Fault
		*fault = FaultNone
	}
	if *fault == FaultNone {
		*fault = d.c.fault
	}
	return span{from, len(d.buf), true}
}

func (d *stateReader) revision() bool {
	at := len(d.buf)
	fault := FaultNone
	d.value(&fault)
	n, err := strconv.ParseUint(string(d.buf[at:]), 10, 64)
	d.s.Base, d.buf = n, d.buf[:at]
	return err == nil && fault == FaultNone
}

func (d *stateReader) opID() bool {
	r := &d.c.r
	if r.peek()>>5 != majorText {
		r.skip()
		return false
	}
	d.s.OpID = r.text()
	return len(d.s.OpID) > 0
}

func (d *stateReader) patch() bool {
	r := &d.c.r
	d.ops, d.many = nil, false
	if r.peek()>>5 != majorArray {
		r.skip()
		return false
	}
	for l := r.open(majorArray); r.more(&l); {
		if len(d.ops) == MaxPatchOps {
			d.many = true
			r.skip()
			continue
		}
		d.ops = append(d.ops, d.operation())
	}
	return true
}

// operation reads one operation. Members that its kind does not take are
// ignored, as RFC 6902 wants.
func (d *stateReader) operation() (op rawOp) {
	r := &d.c.r
	if r.peek()>>5 != majorMap {
		r.skip()
		return rawOp{fault: FaultOperation}
	}
	const word, path, from, value = 1, 2, 4, 8
	outer, fault := d.seen, FaultNone
	d.seen = 0
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "op":
			if d.once(word) {
				op.kind = 0
				if r.peek()>>5 == majorText {
					op.kind = parsePatchKind(r.text())
				} else {
					r.skip()
				}
			}
		case "path":
			if d.once(path) {
				op.path = d.pointer()
			}
		case "from":
			if d.once(from) {
				op.from = d.pointer()
			}
		case "value":
			if d.once(value) {
				fault = FaultNone
				op.value = d.value(&fault)
			}
		default:
			r.skip()
		}
	}
	d.seen = outer
	switch {
	case op.kind == 0, !op.path.set, op.kind.HasFrom() && !op.from.set, op.kind.HasValue() && !op.value.set:
		op.fault = FaultOperation
	case op.kind.HasValue():
		op.fault = fault
	}
	return op
}

// pointer keeps a text.
func (d *stateReader) pointer() span {
	r := &d.c.r
	if r.peek()>>5 != majorText {
		r.skip()
		return span{}
	}
	from := len(d.buf)
	d.buf = append(d.buf, r.text()...)
	return span{from, len(d.buf), true}
}

// finish makes the record's texts views of one string and looks at its limits.
func (d *stateReader) finish(document span) {
	s := d.s
	text := string(d.buf)
	view := func(p span) string { return text[p.from:p.to] }
	if s.Snapshot {
		s.Document = view(document)
		s.Size = len(s.Document)
		if s.Fault == FaultNone && s.Size > MaxStateBytes {
			s.Fault = FaultDocumentSize
		}
		return
	}
	if d.many {
		s.Fault = FaultOperations
		return
	}
	s.Patch = make([]PatchOp, len(d.ops))
	s.Size = 2 + max(0, len(d.ops)-1)
	for i, op := range d.ops {
		if op.fault != FaultNone && s.Fault == FaultNone {
			s.Fault, s.FaultAt = op.fault, i
		}
		p := &s.Patch[i]
		p.Kind, p.Path = op.kind, view(op.path)
		if op.kind.HasFrom() {
			p.From = view(op.from)
		}
		if op.kind.HasValue() {
			p.Value = view(op.value)
		}
		s.Size += p.size()
	}
	if s.Size > MaxStateBytes {
		s.Fault, s.FaultAt = FaultPatchSize, -1
	}
}

// size is the length of the operation's canonical JSON, with the members that
// its kind takes.
func (p *PatchOp) size() int {
	quoted := func(s string) int {
		n := len(s) + 2
		for i := 0; i < len(s); i++ {
			switch c := s[i]; {
			case c == '"', c == '\\', c == '\b', c == '\t', c == '\n', c == '\f', c == '\r':
				n++
			case c < 0x20:
				n += 5
			}
		}
		return n
	}
	n := len(`{"op":"","path":}`) + len(p.Kind.String()) + quoted(p.Path)
	if p.Kind.HasFrom() {
		n += len(`"from":,`) + quoted(p.From)
	}
	if p.Kind.HasValue() {
		n += len(`,"value":`) + len(p.Value)
	}
	return n
}

// stateEvent keeps what a state record of the lane asks for. It counts whoever
// wrote it: the author's role decides the display alone.
func (d *agdxDecoder) stateEvent(h *agdxHeaders, rec *Record) {
	snapshot := string(d.env.Operation) == OpStateSnapshot
	if !snapshot && string(d.env.Operation) != OpStateDelta || d.src.Role != RoleLane {
		return
	}
	rec.Facts |= FactLane
	s := DecodeState(snapshot, d.format(h), d.env.Body)
	d.rare(rec).State = s
	d.number(SumSize, uint64(len(d.env.Body)))
	if !snapshot && !s.Malformed {
		d.number(SumOperations, uint64(len(s.Patch)))
	}
}
