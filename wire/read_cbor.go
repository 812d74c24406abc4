package wire

import "github.com/fxamacker/cbor/v2"

// The CBOR of read types: text keys in field order, ids as byte strings,
// shortest forms, definite lengths.
var readEnc, readDec = readModes()

func readModes() (cbor.EncMode, cbor.DecMode) {
	enc, err := cbor.EncOptions{
		Sort:          cbor.SortNone,
		ShortestFloat: cbor.ShortestFloat16,
		NilContainers: cbor.NilContainerAsEmpty,
		ByteArray:     cbor.ByteArrayToByteSlice,
	}.EncMode()
	if err != nil {
		panic("wire: read encoding mode: " + err.Error())
	}
	dec, err := cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:  128,
		MaxArrayElements: 1 << 20,
		TagsMd:           cbor.TagsForbidden,
	}.DecMode()
	if err != nil {
		panic("wire: read decoding mode: " + err.Error())
	}
	return enc, dec
}

// EncodeRead gives the CBOR of a read type or request.
func EncodeRead(v any) ([]byte, error) { return readEnc.Marshal(v) }

// DecodeRead reads what EncodeRead wrote: one item, nothing behind it.
func DecodeRead(b []byte, v any) error { return readDec.Unmarshal(b, v) }
