package wire

import "encoding/json"

// List is a list that is always written: nil is [] in JSON, where a plain nil
// slice would be null.
type List[T any] []T

// MarshalJSON writes an array, never null.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}
