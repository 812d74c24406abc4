package wire

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf8"
)

// KeyID names an Ed25519 public key: the first 8 bytes of its SHA-256 (spec
// agdx.md, section 8).
type KeyID [8]byte

// KeyIDOf gives the id of a public key.
func KeyIDOf(key ed25519.PublicKey) KeyID {
	d := sha256.Sum256(key)
	return KeyID(d[:8])
}

// Keys are the public keys that are enrolled for a stream. They are an input of
// the decoder like the records: the same records under the same keys give the
// same verdicts (docs/decisions/0009-keys-are-an-input.md). Nil holds no keys.
// Keys never change once they are made.
type Keys struct {
	byID  map[KeyID]EnrolledKey
	print uint64
}

// EnrolledKey is a public key and whose it is.
type EnrolledKey struct {
	Principal string // 1 to MaxPrincipal bytes of UTF-8 without control characters
	Public    ed25519.PublicKey
}

// Limits of a keys file.
const (
	MaxPrincipal = 256     // bytes
	MaxKeysFile  = 4 << 20 // bytes
)

// ParseKeys reads a keys file. Each line is a public key, 32 bytes as 64
// hexadecimal digits or as base64 with its padding, blanks, and the principal,
// which is the rest of the line; empty lines and lines that begin with # are
// skipped. A principal may have several keys. The error names the line, never
// its text: somebody may have put a private key there.
func ParseKeys(file []byte) (*Keys, error) {
	if len(file) > MaxKeysFile {
		return nil, fmt.Errorf("wire: keys: %d bytes are more than a keys file may have (%d)", len(file), MaxKeysFile)
	}
	k := &Keys{byID: map[KeyID]EnrolledKey{}}
	lines := map[KeyID]int{}
	n := 0
	for line := range bytes.Lines(file) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		e, why := parseKey(line)
		if why != "" {
			return nil, fmt.Errorf("wire: keys, line %d: %s", n, why)
		}
		id := KeyIDOf(e.Public)
		if before, ok := lines[id]; ok {
			return nil, fmt.Errorf("wire: keys, line %d: the key of line %d again; a key belongs to one principal", n, before)
		}
		lines[id], k.byID[id] = n, e
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("wire: keys: the file holds no key; to have none, configure no file")
	}
	k.print = k.digest()
	return k, nil
}

// parseKey reads one line; why says what is wrong with it.
func parseKey(line []byte) (e EnrolledKey, why string) {
	word, rest := line, []byte(nil)
	if i := bytes.IndexAny(line, " \t"); i >= 0 {
		word, rest = line[:i], bytes.TrimSpace(line[i:])
	}
	switch {
	case len(word) == hex.EncodedLen(ed25519.PublicKeySize):
		e.Public = make([]byte, ed25519.PublicKeySize)
		if _, err := hex.Decode(e.Public, word); err != nil {
			e.Public = nil
		}
	case len(word) == base64.StdEncoding.EncodedLen(ed25519.PublicKeySize):
		e.Public, _ = base64.StdEncoding.Strict().AppendDecode(nil, word)
	}
	switch {
	case len(e.Public) != ed25519.PublicKeySize:
		return e, "the first word is an Ed25519 public key of 32 bytes: 64 hexadecimal digits, or 44 characters of base64"
	case len(rest) == 0:
		return e, "behind the key stands whose it is"
	case len(rest) > MaxPrincipal:
		return e, fmt.Sprintf("the principal has %d bytes, more than %d", len(rest), MaxPrincipal)
	case !utf8.Valid(rest) || hasControl(rest):
		return e, "the principal is no UTF-8 text without control characters"
	}
	e.Principal = string(rest)
	return e, ""
}

// digest stands for the whole set, in whatever order it was written down.
func (k *Keys) digest() uint64 {
	all := make([]EnrolledKey, 0, len(k.byID))
	for _, e := range k.byID {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b EnrolledKey) int {
		return cmp.Or(bytes.Compare(a.Public, b.Public), cmp.Compare(a.Principal, b.Principal))
	})
	h := sha256.New()
	for _, e := range all {
		h.Write(e.Public)
		h.Write(appendText(nil, e.Principal))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// Len is the number of keys.
func (k *Keys) Len() int {
	if k == nil {
		return 0
	}
	return len(k.byID)
}

// Fingerprint is a number that stands for the set; 0 for none.
func (k *Keys) Fingerprint() uint64 {
	if k == nil {
		return 0
	}
	return k.print
}

// find gives the key that a signature names.
func (k *Keys) find(g *Signature) (EnrolledKey, bool) {
	if k == nil || g.Scheme != SchemeEd25519 || len(g.KeyID) != len(KeyID{}) {
		return EnrolledKey{}, false
	}
	e, ok := k.byID[KeyID(g.KeyID)]
	return e, ok
}
