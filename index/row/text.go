package row

import "sessionfold/wire"

// maxText is the longest text of a row, in bytes (spec settled.md, "Text").
const maxText = 256

// clean gives text as it is stored. Nearly all text is short printable ASCII
// and comes back as it is.
func clean(b []byte) []byte {
	if len(b) <= maxText {
		plain := true
		for _, c := range b {
			if c < 0x20 || c > 0x7e {
				plain = false
				break
			}
		}
		if plain {
			return b
		}
	}
	s, _ := wire.Clean(b, maxText)
	return []byte(s)
}
