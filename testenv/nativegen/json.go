package nativegen

import (
	"fmt"

	"github.com/segmentio/encoding/json"
)

// fields is an object with its fields in order: name, value, name, value, …
type fields []any

// appendJSON appends a value. The library is not given objects of fields: it
// would read again what they wrote.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case fields:
		b = append(b, '{')
		for i := 0; i+1 < len(v); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSON(b, v[i]), ':')
			b = appendJSON(b, v[i+1])
		}
		return append(b, '}')
	case []fields:
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, v[i])
		}
		return append(b, ']')
	}
	b, err := json.Append(b, v, 0)
	if err != nil {
		panic(fmt.Sprintf("nativegen: %v does not marshal: %v", v, err)) // a slip in a story
	}
	return b
}
