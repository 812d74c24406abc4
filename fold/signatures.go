package fold

import "sessionfold/wire"

// Signatures is what a source knows of its signed records: the valid ones but
// heartbeats. Verdicts follow from records and keys; Keys and From say from where
// on they follow from one set of keys (docs/decisions/0009-keys-are-an-input.md).
type Signatures struct {
	Verified uint64
	Unknown  uint64 // by a key that was not enrolled
	Wrong    uint64 // by an enrolled key, and not its signature

	Keys uint64 // fingerprint of the keys that the last one was held against
	From uint64 // offset since which all were held against those
}

// Seen is how many signed records there were.
func (s *Signatures) Seen() uint64 { return s.Verified + s.Unknown + s.Wrong }

// signature counts a record's signature.
func (f *Frontier) signature(r *wire.Rare, offset uint64) {
	s := &f.Signatures
	if s.Seen() == 0 || r.Keys != s.Keys {
		s.Keys, s.From = r.Keys, offset
	}
	switch r.Verdict {
	case wire.Verified:
		s.Verified++
	case wire.UnknownKey:
		s.Unknown++
	case wire.WrongSignature:
		s.Wrong++
	}
}

// validSignatures holds a step's numbers of signatures against each other.
func (s *Step) validSignatures() bool {
	b, f := &s.Before.Signatures, &s.Frontier.Signatures
	switch {
	case f.Verified < b.Verified || f.Unknown < b.Unknown || f.Wrong < b.Wrong,
		f.Seen()-b.Seen() > s.Frontier.Records-s.Before.Records:
		return false
	case f.Seen() == b.Seen():
		return *f == *b
	}
	return f.From < s.Frontier.Next && (f.From == b.From || f.From >= s.Before.Next)
}
