package verify

import (
	"fmt"

	"sessionfold/fold"
	"sessionfold/wire"
)

// signed says which verdicts on signatures a fold of today can be held to: those
// of the keys that it uses itself (docs/decisions/0009-keys-are-an-input.md).
type signed struct {
	keys *wire.Keys
	same bool   // the index held its last signed record against these keys
	from uint64 // since this offset
}

func signedOf(is *fold.Signatures, keys *wire.Keys) signed {
	if is.Seen() == 0 {
		return signed{keys: keys, same: true}
	}
	return signed{keys: keys, same: is.Keys == keys.Fingerprint(), from: is.From}
}

// judged says that the row of an offset is to name the same actor afresh.
func (s *signed) judged(offset uint64) bool { return s.same && offset >= s.from }

// signatures compares what two folds of a source counted. How many were signed
// does not hang on keys. part says that the log lacks something.
func (k *known) signatures(is, fresh *fold.Signatures, part bool, fault func(string, ...any)) {
	all := k.same && is.From <= fresh.From // every signed record of the log was held against these keys
	switch {
	case all:
	case k.same:
		k.seen.Signatures = fmt.Sprintf("are compared from offset %d on: other keys were in force before", is.From)
	default:
		k.seen.Signatures = "are not compared: the worker held them against other keys"
	}
	for _, n := range []struct {
		name      string
		is, fresh uint64
		count     bool
	}{
		{"signed records", is.Seen(), fresh.Seen(), true}, {"verified records", is.Verified, fresh.Verified, all},
		{"signatures of unknown keys", is.Unknown, fresh.Unknown, all}, {"wrong signatures", is.Wrong, fresh.Wrong, all},
	} {
		if n.count && (n.is < n.fresh || n.is != n.fresh && !part) {
			fault("%s: %d ≠ %d", n.name, n.is, n.fresh)
		}
	}
}
