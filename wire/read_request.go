package wire

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// The command codes of the reads (spec reads.md, section 1).
const (
	CodeSessionGet     = 1000710
	CodeSessionList    = 1000711
	CodeSessionEvents  = 1000712
	CodeSessionState   = 1000713
	CodeSessionLinks   = 1000714
	CodeSessionSources = 1000715
	CodeSessionChanges = 1000716
)

// SessionGet asks for one session.
type SessionGet struct {
	Stream string `cbor:"stream"`
	ID     ID     `cbor:"id"`

	Subtree bool `cbor:"-"` // additive, of HTTP: sums over the tree below
}

// SessionList asks for a page of sessions. Limit 0 leaves the size to the
// server.
type SessionList struct {
	Stream      string  `cbor:"stream"`
	Status      *string `cbor:"status,omitempty"`
	Root        *ID     `cbor:"root,omitempty"`
	LabelPrefix *string `cbor:"label_prefix,omitempty"`
	Agent       *string `cbor:"agent,omitempty"`
	Text        *string `cbor:"text,omitempty"`
	Cursor      *string `cbor:"cursor,omitempty"`
	Limit       uint32  `cbor:"limit"`
	WantTotal   bool    `cbor:"want_total"`

	// Additive, of HTTP.
	Activity *string `cbor:"-"`
	Source   *string `cbor:"-"`
	Dialect  *string `cbor:"-"`
	Tag      *string `cbor:"-"`

	// Sessions with a record between these, µs and inclusive.
	ActiveFrom *uint64 `cbor:"-"`
	ActiveTo   *uint64 `cbor:"-"`
}

// SessionEvents asks for a page of a timeline.
type SessionEvents struct {
	Stream        string  `cbor:"stream"`
	ID            ID      `cbor:"id"`
	Cursor        *string `cbor:"cursor,omitempty"`
	Limit         uint32  `cbor:"limit"`
	FixedFrontier bool    `cbor:"fixed_frontier"`

	// Additive, of HTTP.
	Collapse bool     `cbor:"-"` // of a chunk stream only the opening chunk
	Back     bool     `cbor:"-"` // newest first
	Around   *uint64  `cbor:"-"` // begin with the rows about this time, µs
	Display  []string `cbor:"-"` // rows with one of these displays; none: all
}

// SessionState asks for the state document.
type SessionState struct {
	Stream       string `cbor:"stream"`
	ID           ID     `cbor:"id"`
	HistoryLimit uint32 `cbor:"history_limit"`
}

// SessionLinks asks for the linked resources.
type SessionLinks struct {
	Stream  string  `cbor:"stream"`
	ID      ID      `cbor:"id"`
	Surface *string `cbor:"surface,omitempty"`
}

// SessionSourcesRequest asks for the sources of a session, or with LaneOnly for
// the stream's lane alone.
type SessionSourcesRequest struct {
	Stream   string `cbor:"stream"`
	ID       ID     `cbor:"id"`
	LaneOnly bool   `cbor:"lane_only,omitempty"`
}

// SessionChangesRequest asks for change rows behind a sequence number.
type SessionChangesRequest struct {
	Stream string `cbor:"stream"`
	After  uint64 `cbor:"after"`
	Limit  uint32 `cbor:"limit"`
}

// DecodeRequest reads the CBOR request of a command code: a pointer to one of
// the request types. Errors are *SessionError: ErrUnsupported for another code,
// ErrInvalid naming the field for a body that does not fit. Unknown fields are
// ignored, a field twice, a missing required field and bytes behind the item
// are errors.
func DecodeRequest(code uint32, b []byte) (any, error) {
	var m map[string]cbor.RawMessage
	p := parts{}
	if code < CodeSessionGet || code > CodeSessionChanges {
		return nil, Errorf(ErrUnsupported, "code %d: the session reads are %d to %d", code, CodeSessionGet, CodeSessionChanges)
	}
	if err := readDec.Unmarshal(b, &m); err != nil {
		return nil, Errorf(ErrInvalid, "the request is one CBOR map with text keys: %v", err)
	}
	p.m = m
	var r any
	switch code {
	case CodeSessionGet:
		q := &SessionGet{}
		p.need("stream", &q.Stream)
		p.need("id", &q.ID)
		r = q
	case CodeSessionList:
		q := &SessionList{}
		p.need("stream", &q.Stream)
		p.may("status", &q.Status)
		p.may("root", &q.Root)
		p.may("label_prefix", &q.LabelPrefix)
		p.may("agent", &q.Agent)
		p.may("text", &q.Text)
		p.may("cursor", &q.Cursor)
		p.need("limit", &q.Limit)
		p.need("want_total", &q.WantTotal)
		r = q
	case CodeSessionEvents:
		q := &SessionEvents{}
		p.need("stream", &q.Stream)
		p.need("id", &q.ID)
		p.may("cursor", &q.Cursor)
		p.need("limit", &q.Limit)
		p.need("fixed_frontier", &q.FixedFrontier)
		r = q
	case CodeSessionState:
		q := &SessionState{}
		p.need("stream", &q.Stream)
		p.need("id", &q.ID)
		p.need("history_limit", &q.HistoryLimit)
		r = q
	case CodeSessionLinks:
		q := &SessionLinks{}
		p.need("stream", &q.Stream)
		p.need("id", &q.ID)
		p.may("surface", &q.Surface)
		r = q
	case CodeSessionSources:
		q := &SessionSourcesRequest{}
		p.need("stream", &q.Stream)
		p.need("id", &q.ID)
		if _, ok := m["lane_only"]; ok {
			p.need("lane_only", &q.LaneOnly)
		}
		r = q
	case CodeSessionChanges:
		q := &SessionChangesRequest{}
		p.need("stream", &q.Stream)
		p.need("after", &q.After)
		p.need("limit", &q.Limit)
		r = q
	}
	if p.err != nil {
		return nil, p.err
	}
	return r, nil
}

// parts reads the fields of a request; the first error stays.
type parts struct {
	m   map[string]cbor.RawMessage
	err error
}

func (p *parts) need(name string, v any) {
	raw, ok := p.m[name]
	if !ok && p.err == nil {
		p.err = Errorf(ErrInvalid, "%s: required", name)
	}
	if ok && isNull(raw) && p.err == nil {
		p.err = Errorf(ErrInvalid, "%s: must not be null", name)
	}
	p.read(name, raw, v)
}

func (p *parts) may(name string, v any) {
	if raw, ok := p.m[name]; ok && !isNull(raw) {
		p.read(name, raw, v)
	}
}

func (p *parts) read(name string, raw cbor.RawMessage, v any) {
	if p.err != nil {
		return
	}
	if err := checkType(raw, v); err != nil {
		p.err = Errorf(ErrInvalid, "%s: %v", name, err)
		return
	}
	if err := readDec.Unmarshal(raw, v); err != nil {
		p.err = Errorf(ErrInvalid, "%s: %v", name, err)
	}
}

func isNull(raw cbor.RawMessage) bool {
	return len(raw) == 1 && (raw[0] == 0xf6 || raw[0] == 0xf7)
}

// checkType refuses what the library would convert: an id is exactly 16 bytes
// (shorter ones would be padded), a number is an integer.
func checkType(raw cbor.RawMessage, v any) error {
	switch v.(type) {
	case *ID, **ID:
		var b []byte
		if len(raw) == 0 || raw[0]>>5 != majorBytes {
			return fmt.Errorf("an id is a byte string of 16 bytes")
		}
		if err := readDec.Unmarshal(raw, &b); err != nil || len(b) != 16 {
			return fmt.Errorf("an id is a byte string of 16 bytes")
		}
	case *uint32, *uint64:
		if len(raw) == 0 || raw[0]>>5 != majorUint {
			return fmt.Errorf("an unsigned integer is wanted")
		}
	}
	return nil
}
