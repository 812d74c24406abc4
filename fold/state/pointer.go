package state

import (
	"strings"

	"sessionfold/wire"
)

// tokens reads a pointer (RFC 6901); the whole document has none.
func tokens(pointer string) ([]string, wire.StateFault) {
	if pointer == "" {
		return nil, wire.FaultNone
	}
	if pointer[0] != '/' {
		return nil, wire.FaultPointer
	}
	out := strings.Split(pointer[1:], "/")
	for i, t := range out {
		if strings.IndexByte(t, '~') < 0 {
			continue
		}
		var b strings.Builder
		for j := 0; j < len(t); j++ {
			c := t[j]
			if c == '~' {
				if j++; j == len(t) || t[j] != '0' && t[j] != '1' {
					return nil, wire.FaultPointer
				}
				c = "~/"[t[j]-'0']
			}
			b.WriteByte(c)
		}
		out[i] = b.String()
	}
	return out, wire.FaultNone
}

// arrayIndex reads an index below limit: digits without a leading zero.
func arrayIndex(token string, limit int) (int, wire.StateFault) {
	if token == "" || len(token) > 9 || token[0] == '0' && len(token) > 1 {
		return 0, wire.FaultIndex
	}
	n := 0
	for i := 0; i < len(token); i++ {
		if token[i] < '0' || token[i] > '9' {
			return 0, wire.FaultIndex
		}
		n = n*10 + int(token[i]-'0')
	}
	if n >= limit {
		return 0, wire.FaultIndex
	}
	return n, wire.FaultNone
}

// index finds the member that a token names.
func (b *box) index(token string) (int, wire.StateFault) {
	if !b.object {
		return arrayIndex(token, b.count())
	}
	i, found := b.find(token)
	if !found {
		return 0, wire.FaultPath
	}
	return i, wire.FaultNone
}
