package serve

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sessionfold/wire"
)

// params reads the query parameters of a route. Every parameter must be known
// and given once; the first fault stays.
type params struct {
	q   url.Values
	err error
}

func newParams(raw string, known ...string) *params {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return &params{err: invalid("the query string cannot be read: percent-encode names and values")}
	}
	names := make([]string, 0, len(q))
	for name := range q {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return &params{err: invalid("parameter %q: this route takes none", name)}
			}
			return &params{err: invalid("parameter %q: this route takes %s", name, strings.Join(known, ", "))}
		}
		if len(q[name]) > 1 {
			return &params{err: invalid("%s: given %d times, at most once", name, len(q[name]))}
		}
	}
	return &params{q: q}
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = invalid(format, args...)
	}
}

// text gives a parameter's value, nil when it is absent.
func (p *params) text(name string) *string {
	v, ok := p.q[name]
	if p.err != nil || !ok {
		return nil
	}
	return &v[0]
}

// cursor gives a cursor; an empty one is none, as forms and clients that always
// write the parameter send it for the first page.
func (p *params) cursor(name string) *string {
	if v := p.text(name); v != nil && *v != "" {
		return v
	}
	return nil
}

// time gives a time in µs, as replies have it, or in RFC 3339; nil when it is
// absent.
func (p *params) time(name string) *uint64 {
	v := p.text(name)
	if v == nil {
		return nil
	}
	if n, err := strconv.ParseUint(*v, 10, 64); err == nil {
		return &n
	}
	t, err := time.Parse(time.RFC3339Nano, *v)
	if err != nil || t.UnixMicro() < 0 {
		p.fail("%s: %q is no time since 1970, accepted are µs and RFC 3339, for example 2026-11-30T12:00:00Z (a + is written %%2B)", name, *v)
		return nil
	}
	n := uint64(t.UnixMicro())
	return &n
}

// words gives a list whose items are separated by commas, nil when it is absent.
func (p *params) words(name string) []string {
	if v := p.text(name); v != nil {
		return strings.Split(*v, ",")
	}
	return nil
}

// descending reads an order; absent, it is ascending.
func (p *params) descending(name string) bool {
	v := p.text(name)
	if v == nil {
		return false
	}
	if err := word(name, *v, "asc", "desc"); err != nil && p.err == nil {
		p.err = err
	}
	return *v == "desc"
}

func (p *params) flag(name string) bool {
	v := p.text(name)
	if v == nil {
		return false
	}
	switch *v {
	case "true":
		return true
	case "false":
		return false
	}
	p.fail("%s: %q is no truth value, accepted are true and false", name, *v)
	return false
}

// number gives a whole number below 2^64, 0 when it is absent.
func (p *params) number(name string) uint64 {
	v := p.text(name)
	if v == nil {
		return 0
	}
	n, err := strconv.ParseUint(*v, 10, 64)
	if err != nil {
		p.fail("%s: %q is no whole number from 0 to 2^64-1", name, *v)
	}
	return n
}

// limit gives the page size as the request says it; limitOf checks it.
func (p *params) limit(name string) uint32 {
	n := p.number(name)
	if n > MaxLimit {
		p.fail("%s: %d, accepted are 0 (the server's choice) to %d", name, n, MaxLimit)
		return 0
	}
	return uint32(n)
}

// paramID gives the id of a parameter, nil when it is absent.
func (h *handler) paramID(p *params, r *http.Request, name string) *wire.ID {
	v := p.text(name)
	if v == nil {
		return nil
	}
	id, err := h.id(r, name, *v)
	if err != nil && p.err == nil {
		p.err = err
	}
	return &id
}

// pathID gives the id in the path.
func (h *handler) pathID(p *params, r *http.Request) wire.ID {
	id, err := h.id(r, "id", r.PathValue("id"))
	if err != nil && p.err == nil {
		p.err = err
	}
	return id
}

func parseID(name, s string) (wire.ID, error) {
	id, err := wire.ParseID(s)
	if err != nil {
		return wire.ID{}, invalid("%s: an id is 26 characters of Crockford base32, the first at most 7", name)
	}
	return id, nil
}

// limitOf gives the page size of a request.
func limitOf(n uint32) (int, error) {
	switch {
	case n == 0:
		return DefaultLimit, nil
	case n > MaxLimit:
		return 0, invalid("limit: %d, accepted are 0 (the server's choice) to %d", n, MaxLimit)
	}
	return int(n), nil
}

// word checks a word against those that are accepted.
func word(name, v string, accepted ...string) error {
	if slices.Contains(accepted, v) {
		return nil
	}
	return invalid("%s: %q, accepted are %s", name, v, strings.Join(accepted, ", "))
}
