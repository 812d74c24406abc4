package wire

import "math"

// MemoryOp is what a memory record does.
type MemoryOp uint8

// The memory operations, the tags of the record's map.
const (
	MemoryItem MemoryOp = 1 + iota
	MemoryForget
	MemoryFeedback
)

// MemoryRecord is one record of a memory topic (spec agdx.md, section 7): an
// externally tagged map {"Item"|"Forget"|"Feedback": {…}}.
type MemoryRecord struct {
	Op              MemoryOp
	ID              []byte // of the item, or of the target; text as received, 16 bytes become their text
	Kind            []byte // item only
	Size            uint64 // item only: bytes of the body, which is never kept
	Weight          float64
	HasConversation bool // forget and feedback only
	Conversation    ID
}

// DecodeMemory reads a memory record; an error means that it is undecodable.
func DecodeMemory(b []byte) (m MemoryRecord, err error) {
	r := cborReader{b: b}
	var seen int
	for s := r.open(majorMap); r.more(&s); {
		if !r.once(&seen, 1) {
			break
		}
		switch string(r.key()) {
		case "Item":
			m.Op = MemoryItem
		case "Forget":
			m.Op = MemoryForget
		case "Feedback":
			m.Op = MemoryFeedback
		default:
			r.fail(errCBORType)
		}
		m.read(&r)
	}
	return m, r.endWith(m.Op != 0)
}

func (m *MemoryRecord) read(r *cborReader) {
	const id, kind, body, weight, conversation = 1, 2, 4, 8, 16
	var seen int
	item, feedback := m.Op == MemoryItem, m.Op == MemoryFeedback
	for s := r.open(majorMap); r.more(&s); {
		switch key := r.key(); {
		case string(key) == "id" && item, string(key) == "target" && !item:
			if r.once(&seen, id) {
				m.ID = r.memoryID()
			}
		case string(key) == "kind" && item:
			if r.once(&seen, kind) {
				m.Kind = r.text()
			}
		case string(key) == "body" && item:
			if r.once(&seen, body) {
				m.Size = r.byteCount()
			}
		case string(key) == "weight" && feedback:
			if r.once(&seen, weight) {
				m.Weight = r.number()
			}
		case string(key) == "conversation" && !item:
			if r.optional(&seen, conversation) {
				m.HasConversation = true
				m.Conversation = r.anyID()
			}
		default:
			r.skip()
		}
	}
	need := id
	if item {
		need |= kind | body
	}
	if feedback {
		need |= weight
	}
	if seen&need != need {
		r.fail(errCBORMissing)
	}
}

// memoryID reads a memory id: text, or 16 bytes, which become their text.
func (r *cborReader) memoryID() []byte {
	if r.peek()>>5 == majorText {
		return r.text()
	}
	var id ID
	r.id(&id)
	return []byte(id.String())
}

// anyID reads an id as 16 bytes or as text.
func (r *cborReader) anyID() (id ID) {
	if r.peek()>>5 != majorText {
		r.id(&id)
		return id
	}
	id, err := ParseID(string(r.text()))
	if err != nil {
		r.fail(errCBORType)
	}
	return id
}

// byteCount reads a byte string, or an array of integers that stands for one,
// and gives its length.
func (r *cborReader) byteCount() (n uint64) {
	if r.peek()>>5 == majorBytes {
		return uint64(len(r.bytes()))
	}
	for l := r.open(majorArray); r.more(&l); n++ {
		r.uint(math.MaxUint8)
	}
	return n
}

// number reads an integer or float.
func (r *cborReader) number() float64 {
	v, fault := readMetaScalar(r)
	switch {
	case fault != "":
	case v.Type == MetaUint:
		return float64(v.Num)
	case v.Type == MetaNegative:
		return -1 - float64(v.Num)
	case v.Type == MetaFloat:
		return v.Float
	}
	r.fail(errCBORType)
	return 0
}

// Marshal encodes a memory record; body is the item's content.
func (m *MemoryRecord) Marshal(body []byte) []byte {
	b := appendHead(nil, majorMap, 1)
	if m.Op == MemoryItem {
		b = appendHead(appendText(b, "Item"), majorMap, 3)
		b = appendText(appendText(b, "id"), m.ID)
		b = appendText(appendText(b, "kind"), m.Kind)
		return appendBytes(appendText(b, "body"), body)
	}
	n := 1 + count(m.HasConversation)
	if m.Op == MemoryFeedback {
		b = appendHead(appendText(b, "Feedback"), majorMap, n+1)
	} else {
		b = appendHead(appendText(b, "Forget"), majorMap, n)
	}
	b = appendText(appendText(b, "target"), m.ID)
	if m.Op == MemoryFeedback {
		b = appendFloat(appendText(b, "weight"), m.Weight)
	}
	if m.HasConversation {
		b = appendText(appendText(b, "conversation"), m.Conversation.String())
	}
	return b
}
