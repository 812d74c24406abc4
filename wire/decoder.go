package wire

// NewDecoder gives a decoder of a dialect's records. Keys, in AGDX only, are
// those that signatures are held against; nil: none.
func NewDecoder(d Dialect, keys func() *Keys) Decoder {
	switch d {
	case DialectDeepStrike:
		return NewDeepStrikeDecoder()
	case DialectEverruns:
		return NewEverrunsDecoder()
	}
	return NewAGDXVerifier(keys)
}
