package serve

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
)

// Tokens are the bearer tokens that may read. They are held as SHA-256 digests:
// the file, and a dump of this process, give no token away.
type Tokens struct {
	entries atomic.Pointer[[]tokenEntry]
}

// Replace puts the tokens of another file in force.
func (t *Tokens) Replace(by *Tokens) { t.entries.Store(by.entries.Load()) }

// Len is how many tokens are in force.
func (t *Tokens) Len() int { return len(*t.entries.Load()) }

type tokenEntry struct {
	digest  [sha256.Size]byte
	all     bool
	streams map[string]bool
}

// Grant is what a token may read.
type Grant struct{ entry *tokenEntry }

// May says that the token may read the stream.
func (g Grant) May(stream string) bool {
	return g.entry == nil || g.entry.all || g.entry.streams[stream]
}

// ParseTokens reads a token file. Each line is the SHA-256 of a token in
// hexadecimal, the permission `session:read`, and one or more of
// `stream:<name>` or `stream:*`, apart by blanks; empty lines and lines that
// begin with # are skipped. Errors name the line and never its text.
func ParseTokens(r io.Reader) (*Tokens, error) {
	var entries []tokenEntry
	seen := map[[sha256.Size]byte]int{}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		f := strings.Fields(sc.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		e := tokenEntry{streams: map[string]bool{}}
		d, err := hex.DecodeString(f[0])
		if err != nil || len(d) != sha256.Size {
			return nil, fmt.Errorf("serve: tokens, line %d: the first word is the SHA-256 of the token, 64 hexadecimal digits (printf %%s \"$TOKEN\" | sha256sum)", n)
		}
		copy(e.digest[:], d)
		if prior := seen[e.digest]; prior > 0 {
			return nil, fmt.Errorf("serve: tokens, line %d: the token of line %d again", n, prior)
		}
		seen[e.digest] = n
		if len(f) < 3 || f[1] != "session:read" {
			return nil, fmt.Errorf("serve: tokens, line %d: behind the digest stand session:read and one or more of stream:<name>, stream:*", n)
		}
		for _, w := range f[2:] {
			name, ok := strings.CutPrefix(w, "stream:")
			if !ok || name == "" {
				return nil, fmt.Errorf("serve: tokens, line %d: word %d is neither stream:<name> nor stream:*", n, len(f))
			}
			if name == "*" {
				e.all = true
			}
			e.streams[name] = true
		}
		entries = append(entries, e)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("serve: tokens: %w", err)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("serve: tokens: the file holds none; nobody could read")
	}
	t := &Tokens{}
	t.entries.Store(&entries)
	return t, nil
}

// find compares the token with every entry in constant time.
func (t *Tokens) find(token string) *tokenEntry {
	d := sha256.Sum256([]byte(token))
	var found *tokenEntry
	entries := *t.entries.Load()
	for i := range entries {
		if subtle.ConstantTimeCompare(entries[i].digest[:], d[:]) == 1 {
			found = &entries[i]
		}
	}
	return found
}

// authenticate gives what the request may read. Without tokens everybody may
// read everything.
func (t *Tokens) authenticate(r *http.Request) (Grant, error) {
	if t == nil {
		return Grant{}, nil
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Grant{}, failureOf(errUnauthenticated)
	}
	e := t.find(strings.TrimSpace(token))
	if e == nil {
		return Grant{}, failureOf(errUnauthenticated)
	}
	return Grant{entry: e}, nil
}

// CheckListen refuses an address that others can reach unless readers must show
// a token or the operator said that none is wanted (spec reads.md, section 4).
func CheckListen(addr string, tokens *Tokens, insecure bool) error {
	if tokens != nil || insecure {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("serve: listen address %q: %w", addr, err)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("serve: listen address %q can be reached from elsewhere and reads need no token: configure a token file, listen on 127.0.0.1, or say --insecure-no-auth", addr)
}
