package serve

import (
	"context"
	"errors"
	"net/http"

	"sessionfold/wire"
)

// failure is an error with its HTTP form (spec reads.md, section 3).
type failure struct {
	status int
	code   string
	err    *wire.SessionError
}

func (f *failure) Error() string { return f.err.Error() }

// body is the error body of every route.
type body struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

var kinds = map[wire.ErrorKind]struct {
	status int
	code   string
}{
	wire.ErrUnsupported:   {http.StatusNotImplemented, "unsupported"},
	wire.ErrNotFound:      {http.StatusNotFound, "not_found"},
	wire.ErrNotRegistered: {http.StatusNotFound, "not_found"},
	wire.ErrInvalid:       {http.StatusBadRequest, "invalid_argument"},
	wire.ErrUnauthorized:  {http.StatusUnauthorized, "unauthenticated"},
	wire.ErrStale:         {http.StatusConflict, "stale_generation"},
	wire.ErrBackend:       {http.StatusBadGateway, "backend"},
	wire.ErrUnavailable:   {http.StatusServiceUnavailable, "unavailable"},
}

// The failures that share a kind with another status.
func forbidden(format string, args ...any) *failure {
	return &failure{http.StatusForbidden, "forbidden", wire.Errorf(wire.ErrUnauthorized, format, args...)}
}

func tooLarge(format string, args ...any) *failure {
	return &failure{http.StatusRequestEntityTooLarge, "too_large", wire.Errorf(wire.ErrInvalid, format, args...)}
}

var errUnauthenticated = wire.Errorf(wire.ErrUnauthorized, "a bearer token that this server knows is required: Authorization: Bearer <token>")

func invalid(format string, args ...any) error { return wire.Errorf(wire.ErrInvalid, format, args...) }

// failureOf gives the HTTP form of an error. What is no SessionError is trouble
// of ours: its text may hold anything, so the client learns only that it came.
func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	var e *wire.SessionError
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			e = wire.Errorf(wire.ErrUnavailable, "the read was given up before it was answered; try again")
		} else {
			e = wire.Errorf(wire.ErrBackend, "the index could not answer; the log of this worker says why")
		}
	}
	k := kinds[e.Kind]
	return &failure{status: k.status, code: k.code, err: e}
}
