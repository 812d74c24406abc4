package wire

import (
	"encoding/binary"
	"unicode/utf8"
)

// ContentType is the code of a body's encoding in the header agdx.ct.
type ContentType uint8

// The content types (spec agdx.md, section 1).
const (
	ContentRaw      ContentType = 0
	ContentJSON     ContentType = 1
	ContentMsgpack  ContentType = 2
	ContentCBOR     ContentType = 3
	ContentBSON     ContentType = 4
	ContentAvro     ContentType = 5
	ContentProtobuf ContentType = 6
	ContentArrow    ContentType = 7
	ContentRef      ContentType = 8 // the body is a reference to the content
	ContentAny      ContentType = 255
)

var contentNames = [...]string{"raw", "json", "msgpack", "cbor", "bson", "avro", "protobuf", "arrow", "ref"}

// String is the type's word; "unrecognized" for codes without one.
func (c ContentType) String() string {
	switch {
	case int(c) < len(contentNames):
		return contentNames[c]
	case c == ContentAny:
		return "any"
	}
	return "unrecognized"
}

// EnvelopeVersion is the only version of the envelope that this build reads.
const EnvelopeVersion = 1

// agdxHeaders is what the headers of a record say, as far as the decoder reads
// them. Of a repeated header the last that parses counts.
type agdxHeaders struct {
	badVersion      bool
	hasContent      bool
	content         ContentType
	hasConversation bool
	conversation    ID
	agent           []byte // nil when absent or no agent id
	space           []byte // of memory; text as received
}

func readHeaders(hs []Header) (h agdxHeaders) {
	for i := range hs {
		v := hs[i].Value
		switch hs[i].Key {
		case HeaderVersion:
			h.badVersion = parseVersion(v) != EnvelopeVersion
		case HeaderContentType:
			h.hasContent, h.content = true, ContentAny
			if len(v) == 1 {
				h.content = ContentType(v[0])
			}
		case HeaderConversation:
			if id, ok := parseHeaderID(v); ok {
				h.conversation, h.hasConversation = id, true
			}
		case HeaderAgent:
			if utf8.Valid(v) && validAgent(v) {
				h.agent = v
			}
		case HeaderMemorySpace:
			h.space = v
		}
	}
	return h
}

// disagree gives the rule that headers break beside an envelope that decodes,
// or "".
func (h *agdxHeaders) disagree(e *Envelope) string {
	switch {
	case h.badVersion:
		return ReasonVersion
	case h.hasConversation && h.conversation != e.Conversation:
		return ReasonConversationHeader
	case h.agent != nil && string(h.agent) != string(e.Source):
		return ReasonAgentHeader
	}
	return ""
}

// parseVersion reads agdx.av: ASCII digits are decimal, else four bytes are
// big-endian; anything else is version 0, which no build reads.
func parseVersion(v []byte) uint64 {
	n, digits := uint64(0), len(v) > 0 && len(v) <= 10
	for _, c := range v {
		if c < '0' || c > '9' {
			digits = false
			break
		}
		n = n*10 + uint64(c-'0')
	}
	switch {
	case digits:
		return n
	case len(v) == 4:
		return uint64(binary.BigEndian.Uint32(v))
	}
	return 0
}

// parseHeaderID reads an id header: 16 raw bytes, else text.
func parseHeaderID(v []byte) (ID, bool) {
	if len(v) == 16 {
		return ID(v), true
	}
	return parseIDBytes(v)
}

// crockford maps a character to its value, 0xff for characters outside of the
// alphabet.
var crockford = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for v, c := range "0123456789ABCDEFGHJKMNPQRSTVWXYZ" {
		t[c] = byte(v)
		if c >= 'A' {
			t[c|0x20] = byte(v)
		}
	}
	return t
}()

// parseIDBytes is ParseID for bytes: nearly every record has an id as text in
// its headers, so it is read without a copy.
func parseIDBytes(v []byte) (id ID, ok bool) {
	if len(v) != 26 || v[0] > '7' {
		return ID{}, false
	}
	var hi, lo uint64
	var bad byte
	for _, c := range v[:13] { // 65 bits, of which the first two are 0
		x := crockford[c]
		bad |= x
		hi = hi<<5 | uint64(x)
	}
	for _, c := range v[13:] { // 65 bits: the top one belongs to hi
		x := crockford[c]
		bad |= x
		lo = lo<<5 | uint64(x)
	}
	if bad > 31 {
		return ID{}, false
	}
	top := uint64(crockford[v[13]]) >> 4
	binary.BigEndian.PutUint64(id[:8], hi<<1|top)
	binary.BigEndian.PutUint64(id[8:], lo)
	return id, true
}

// SessionKey is the record key of a session's records: the id's text.
func SessionKey(session ID) []byte { return []byte(session.String()) }

// Headers gives the headers of a record that carries the envelope, as a
// producer writes them: version, content type, conversation, parent, root,
// author and addressee.
func (e *Envelope) Headers(content ContentType) []Header {
	hs := []Header{
		{Key: HeaderVersion, Value: []byte{0, 0, 0, EnvelopeVersion}},
		{Key: HeaderContentType, Value: []byte{byte(content)}},
		{Key: HeaderConversation, Value: SessionKey(e.Conversation)},
	}
	if e.Has&FieldParent != 0 {
		hs = append(hs, Header{Key: HeaderParent, Value: SessionKey(e.Parent)})
	}
	if e.Has&FieldRoot != 0 {
		hs = append(hs, Header{Key: HeaderRoot, Value: SessionKey(e.Root)})
	}
	hs = append(hs, Header{Key: HeaderAgent, Value: e.Source})
	if e.Target != nil {
		hs = append(hs, Header{Key: HeaderTarget, Value: e.Target})
	}
	return hs
}
