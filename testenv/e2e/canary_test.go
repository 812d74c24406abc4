package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"sessionfold/testenv/agdxlog"
)

// A canary is a text that cannot stand anywhere by chance. It tells where content
// went: planted in a record, looked for in everything a worker lets out.
type canary struct {
	what string // where it was planted
	text string
	fate fate

	folded, exact [][]byte // see forms
}

// fate is where a canary may be found.
type fate int

const (
	never     fate = iota // content: nowhere
	kept                  // a text that the contract keeps: store, changelog, replies
	stateOnly             // a value of a state document: store, changelog, the state read
)

// aviary makes canaries and remembers them.
type aviary struct {
	log *agdxlog.Log
	all []canary
}

// put makes a canary of 24 lower-case letters and digits; the same place gives
// the same text again.
func (a *aviary) put(f fate, what string) string {
	sum := sha256.Sum256([]byte("canary in " + what))
	text := strings.ToLower(base32.HexEncoding.EncodeToString(sum[:15]))
	if !slices.ContainsFunc(a.all, func(c canary) bool { return c.what == what }) {
		c := canary{what: what, text: text, fate: f}
		c.folded, c.exact = c.forms()
		a.all = append(a.all, c)
	}
	return text
}

func (a *aviary) secret(what string) string { return a.put(never, what) }
func (a *aviary) keep(what string) string   { return a.put(kept, what) }
func (a *aviary) state(what string) string  { return a.put(stateOnly, what) }

// forms are the ways in which a text may be written down. Halves are looked for,
// so that a cut text is found too; case is the searcher's affair. JSON leaves
// letters and digits as they are, so its escapes need no form of their own.
func (c *canary) forms() (folded, exact [][]byte) {
	for _, half := range []string{c.text[:12], c.text[12:]} {
		folded = append(folded, []byte(half), []byte(hex.EncodeToString([]byte(half))))
		for pad := range 3 { // a text inside another begins at any of three places of base64
			s := base64.RawStdEncoding.EncodeToString([]byte("xxx"[:pad] + half))
			s = s[[]int{0, 2, 3}[pad] : len(s)-2] // what hangs on the neighbours is left out
			exact = append(exact, []byte(s))
		}
		var numbers []string // bytes as JSON writes a list of numbers
		for _, b := range []byte(half) {
			numbers = append(numbers, fmt.Sprint(b))
		}
		exact = append(exact, []byte(strings.Join(numbers, ",")))
	}
	return folded, exact
}

// find lists the canaries that a text holds.
func (a *aviary) find(text []byte) (out []canary) {
	low := lower(text)
	for i := range a.all {
		c := &a.all[i]
		in := func(text []byte) func([]byte) bool {
			return func(f []byte) bool { return bytes.Contains(text, f) }
		}
		if slices.ContainsFunc(c.folded, in(low)) || slices.ContainsFunc(c.exact, in(text)) {
			out = append(out, *c)
		}
	}
	return out
}

// lower folds the case of ASCII letters and leaves every byte in its place.
func lower(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}

// search is a walk over everything that a worker lets out.
type search struct {
	*aviary
	r     *rig
	seen  map[string]bool // canaries met, by where they were planted
	bytes map[string]int
	told  map[string]bool // what was found where it must not be: each is told of once
}

// look searches one place. Allowed fates say what may be there.
func (s *search) look(place string, text []byte, allowed ...fate) {
	s.r.Helper()
	s.bytes[place] += len(text)
	for _, c := range s.find(text) {
		s.seen[c.what] = true
		if fault := place + ": " + c.what; !slices.Contains(allowed, c.fate) && !s.told[fault] {
			s.told[fault] = true
			at := bytes.Index(lower(text), []byte(c.text[:12]))
			around := ""
			if at >= 0 {
				around = fmt.Sprintf(": …%q…", text[max(0, at-60):min(len(text), at+40)])
			}
			s.r.Errorf("%s holds the canary of %q%s", place, c.what, around)
		}
	}
}
