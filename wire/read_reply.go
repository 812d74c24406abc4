package wire

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// SessionReply is the reply to every read in CBOR: Ok with an outcome or Err
// with a failure. Exactly one is set. Externally tagged on the wire.
type SessionReply struct {
	Ok  *SessionOutcome `cbor:"Ok,omitempty"`
	Err *SessionError   `cbor:"Err,omitempty"`
}

// SessionOutcome is what a read gave; exactly one field is set.
type SessionOutcome struct {
	Info    *SessionInfo       `cbor:"Info,omitempty"`
	Page    *SessionPage       `cbor:"Page,omitempty"`
	Events  *SessionEventsPage `cbor:"Events,omitempty"`
	State   *SessionStateView  `cbor:"State,omitempty"`
	Links   *SessionLinksView  `cbor:"Links,omitempty"`
	Sources *SessionSources    `cbor:"Sources,omitempty"`
	Changes *SessionChanges    `cbor:"Changes,omitempty"`
}

// Outcome wraps the value of one read; it panics for a type that is none.
func Outcome(v any) *SessionOutcome {
	switch v := v.(type) {
	case *SessionInfo:
		return &SessionOutcome{Info: v}
	case *SessionPage:
		return &SessionOutcome{Page: v}
	case *SessionEventsPage:
		return &SessionOutcome{Events: v}
	case *SessionStateView:
		return &SessionOutcome{State: v}
	case *SessionLinksView:
		return &SessionOutcome{Links: v}
	case *SessionSources:
		return &SessionOutcome{Sources: v}
	case *SessionChanges:
		return &SessionOutcome{Changes: v}
	}
	panic(fmt.Sprintf("wire: %T is no outcome of a session read", v))
}

// ErrorKind is why a read failed.
type ErrorKind uint8

// The kinds, in the order of the seed.
const (
	ErrUnsupported ErrorKind = iota
	ErrNotFound
	ErrNotRegistered
	ErrInvalid
	ErrUnauthorized
	ErrStale
	ErrBackend
	ErrUnavailable
	errorKindEnd
)

var errorTags = [errorKindEnd]string{"Unsupported", "NotFound", "NotRegistered", "Invalid", "Unauthorized", "Stale", "Backend", "Unavailable"}

func (k ErrorKind) String() string {
	if k < errorKindEnd {
		return errorTags[k]
	}
	return errorTags[ErrBackend]
}

// SessionError is a failed read. Message is for people; it names the field and
// what is accepted.
type SessionError struct {
	Kind    ErrorKind
	Message string
}

// Errorf makes a SessionError.
func Errorf(k ErrorKind, format string, args ...any) *SessionError {
	return &SessionError{Kind: k, Message: fmt.Sprintf(format, args...)}
}

func (e *SessionError) Error() string { return e.Kind.String() + ": " + e.Message }

// MarshalCBOR writes {"NotFound": "message"}.
func (e SessionError) MarshalCBOR() ([]byte, error) {
	b := appendHead(nil, majorMap, 1)
	return appendText(appendText(b, e.Kind.String()), e.Message), nil
}

// UnmarshalCBOR reads what MarshalCBOR writes; a kind this build does not know
// is an error.
func (e *SessionError) UnmarshalCBOR(b []byte) error {
	var m map[string]string
	if err := readDec.Unmarshal(b, &m); err != nil {
		return err
	}
	if len(m) != 1 {
		return errors.New("wire: an error is a map of one entry")
	}
	for tag, msg := range m {
		for k, t := range errorTags {
			if t == tag {
				*e = SessionError{Kind: ErrorKind(k), Message: msg}
				return nil
			}
		}
		return fmt.Errorf("wire: no error kind %q", tag)
	}
	return nil
}

var _ cbor.Marshaler = SessionError{}
