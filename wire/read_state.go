package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// SessionStateView is the folded state document of a session.
type SessionStateView struct {
	Revision uint64          `json:"revision" cbor:"revision"`
	Document Document        `json:"document" cbor:"document"`
	History  []StateChange   `json:"history,omitempty" cbor:"history,omitempty"`
	Frontier *SourceFrontier `json:"frontier,omitempty" cbor:"frontier,omitempty"`
	Complete bool            `json:"complete" cbor:"complete"`
}

// StateChange is what the fold did with one state record. Outcome is applied,
// rejected, stale or duplicate; BrokerTS is in µs.
type StateChange struct {
	Revision  uint64  `json:"revision" cbor:"revision"`
	OpID      *string `json:"op_id,omitempty" cbor:"op_id,omitempty"`
	Outcome   string  `json:"outcome" cbor:"outcome"`
	At        Locator `json:"at" cbor:"at"`
	BrokerTS  uint64  `json:"broker_ts" cbor:"broker_ts"`
	OldDigest *Digest `json:"old_digest,omitempty" cbor:"old_digest,omitempty"`
	NewDigest *Digest `json:"new_digest,omitempty" cbor:"new_digest,omitempty"`
	Reason    *string `json:"reason,omitempty" cbor:"reason,omitempty"`

	// Additive.
	AtText       string `json:"at_text,omitempty" cbor:"-"`
	OldDigestHex string `json:"old_digest_hex,omitempty" cbor:"-"`
	NewDigestHex string `json:"new_digest_hex,omitempty" cbor:"-"`
}

// Digest is a SHA-256. In JSON it is an array of 32 integers, in CBOR a byte
// string.
type Digest [32]byte

// SessionLink is one resource a session wrote, recalled or touched.
type SessionLink struct {
	Surface  string  `json:"surface" cbor:"surface"`
	Resource string  `json:"resource" cbor:"resource"`
	Item     string  `json:"item" cbor:"item"`
	Relation string  `json:"relation" cbor:"relation"`
	First    Locator `json:"first" cbor:"first"`
	Last     Locator `json:"last" cbor:"last"`

	// Additive.
	FirstText string `json:"first_text,omitempty" cbor:"-"`
	LastText  string `json:"last_text,omitempty" cbor:"-"`
	Outcome   string `json:"outcome,omitempty" cbor:"-"`
}

// SessionLinksView are the links of a session.
type SessionLinksView struct {
	Links     List[SessionLink] `json:"links" cbor:"links"`
	Frontier  []SourceFrontier  `json:"frontier,omitempty" cbor:"frontier,omitempty"`
	Truncated bool              `json:"truncated" cbor:"truncated"`
}

// Document is a JSON value as text. In CBOR it is the same value: whole numbers
// as integers, keys ascending.
type Document []byte

// MarshalJSON writes the text; an empty document is null.
func (d Document) MarshalJSON() ([]byte, error) {
	if len(d) == 0 {
		return []byte("null"), nil
	}
	return d, nil
}

// UnmarshalJSON keeps the text.
func (d *Document) UnmarshalJSON(b []byte) error {
	*d = slices.Clone(b)
	return nil
}

// MarshalCBOR writes the value.
func (d Document) MarshalCBOR() ([]byte, error) {
	v := any(nil)
	if len(d) > 0 {
		dec := json.NewDecoder(bytes.NewReader(d))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("wire: state document: %w", err)
		}
	}
	return appendJSONValue(nil, v)
}

// UnmarshalCBOR gives the text of the value.
func (d *Document) UnmarshalCBOR(b []byte) error {
	var v any
	if err := readDec.Unmarshal(b, &v); err != nil {
		return err
	}
	v, err := jsonValue(v)
	if err != nil {
		return err
	}
	*d, err = json.Marshal(v)
	return err
}

func appendJSONValue(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, cborNull), nil
	case bool:
		return appendBool(b, v), nil
	case string:
		return appendText(b, v), nil
	case json.Number:
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return appendUint(b, n), nil
		}
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil && n < 0 {
			return appendHead(b, 1, uint64(-1-n)), nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("wire: state document: %w", err)
		}
		return appendFloat(b, f), nil
	case []any:
		b = appendHead(b, majorArray, uint64(len(v)))
		for _, e := range v {
			if b, err = appendJSONValue(b, e); err != nil {
				return nil, err
			}
		}
		return b, nil
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b = appendHead(b, majorMap, uint64(len(v)))
		for _, k := range keys {
			if b, err = appendJSONValue(appendText(b, k), v[k]); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	return nil, fmt.Errorf("wire: %T is no JSON value", v)
}

// jsonValue turns the maps of a decoded CBOR value into JSON objects.
func jsonValue(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = jsonValue(v[i]); err != nil {
				return nil, err
			}
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			name, ok := k.(string)
			if !ok {
				return nil, errors.New("wire: state document: a key is text")
			}
			if m[name], err = jsonValue(e); err != nil {
				return nil, err
			}
		}
		return m, nil
	case []byte:
		return nil, errors.New("wire: state document: a byte string is no JSON value")
	}
	return v, nil
}
