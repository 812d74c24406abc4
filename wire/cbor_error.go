package wire

// Undecodable is the error of a value that cannot be read in the format of its
// topic (spec settled.md, "undecodable"). It is a fixed word, not a text with a
// position: a partition may carry millions of such records, and each costs one
// comparison and no allocation.
type Undecodable string

func (u Undecodable) Error() string { return "wire: undecodable: " + string(u) }

// Reason is the fixed word.
func (u Undecodable) Reason() string { return string(u) }

// The reasons why a value does not decode. They are error values that stand for
// themselves, so that none is allocated on the way.
var (
	errCBORShort    error = Undecodable("short")          // the item ends early
	errCBORSyntax   error = Undecodable("malformed")      // no well-formed CBOR
	errCBORNesting  error = Undecodable("nesting")        // deeper than 128
	errCBORUTF8     error = Undecodable("utf8")           // ill-formed text
	errCBORType     error = Undecodable("field_type")     // a known field has another type or range
	errCBORTrailing error = Undecodable("trailing")       // bytes follow the item
	errCBORRepeated error = Undecodable("field_repeated") // a known field appears twice
	errCBORKey      error = Undecodable("key_type")       // a map key is no text
	errCBORMissing  error = Undecodable("field_missing")  // a required field is absent
	errTombstone    error = Undecodable("null_value")     // the record has no value
)
