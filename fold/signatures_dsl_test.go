package fold

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/cockroachdb/datadriven"

	"sessionfold/wire"
)

// Words of "agdx" for signatures: sign=NAME signs with the key of that name,
// bound= signs the content type and version too, forged= changes the signature
// afterwards. The command "keys" takes names, one a line; NAME=PRINCIPAL
// enrols the name's key for somebody.

func keyNamed(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("key of " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func signEnvelope(e *wire.Envelope, content wire.ContentType, k keys) {
	name, ok := k.take("sign")
	_, bound := k.take("bound")
	_, forged := k.take("forged")
	switch {
	case !ok:
		return
	case bound:
		e.SignAs(keyNamed(string(name)), content)
	default:
		e.Sign(keyNamed(string(name)))
	}
	if forged {
		e.Signature.Bytes[0] ^= 1
	}
}

func (w *world) enrol(td *datadriven.TestData) (string, error) {
	if strings.TrimSpace(td.Input) == "" {
		w.keys = nil
		return "no keys\n", nil
	}
	var file strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(td.Input), "\n") {
		name, principal, named := strings.Cut(line, "=")
		if !named {
			principal = name
		}
		fmt.Fprintf(&file, "%x %s\n", keyNamed(name).Public(), principal)
	}
	var err error
	w.keys, err = wire.ParseKeys([]byte(file.String()))
	return fmt.Sprintf("%d keys, fingerprint %d\n", w.keys.Len(), w.keys.Fingerprint()), err
}
