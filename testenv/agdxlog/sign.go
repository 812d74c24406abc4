package agdxlog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"

	"sessionfold/wire"
)

// KeyNamed derives a signing key from a word.
func KeyNamed(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("signing key of " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// KeyLine is the line of a keys file that enrols the key named by a word for a
// principal.
func KeyLine(name, principal string) string {
	return fmt.Sprintf("%x %s\n", []byte(KeyNamed(name).Public().(ed25519.PublicKey)), principal)
}

// Signs makes the session sign all that it puts from here on; nil ends it. bound
// signatures also cover content type and version.
func (s *Session) Signs(key ed25519.PrivateKey, bound bool) *Session {
	s.key, s.bound = key, bound
	return s
}

func (s *Session) sign(e *wire.Envelope, contentType uint8) {
	switch {
	case s.key == nil:
	case s.bound:
		e.SignAs(s.key, wire.ContentType(contentType))
	default:
		e.Sign(s.key)
	}
}
