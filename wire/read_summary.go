package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Summary is the summary of a timeline row by entry name. Values are uint64,
// string, bool or []string; names ascend in every encoding.
type Summary map[string]any

// NewSummary gives the view of stored entries: bytes become lower-case
// hexadecimal text, text is cleaned as the spec says. Nil for no entries.
func NewSummary(items []SummaryItem) Summary {
	if len(items) == 0 {
		return nil
	}
	s := make(Summary, len(items))
	for _, it := range items {
		switch it.Type {
		case SumNumber:
			s[it.Key.String()] = it.Num
		case SumBool:
			s[it.Key.String()] = it.Num != 0
		case SumText:
			s[it.Key.String()] = string(it.Text)
		case SumBytes:
			s[it.Key.String()] = hex.EncodeToString(it.Text)
		case SumList:
			l := make([]string, len(it.List))
			for i, t := range it.List {
				l[i] = string(t)
			}
			s[it.Key.String()] = l
		}
	}
	return s
}

// MarshalCBOR writes a map with ascending text keys.
func (s Summary) MarshalCBOR() ([]byte, error) {
	keys := make([]string, 0, len(s))
	for k := range s {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b := appendHead(nil, majorMap, uint64(len(keys)))
	for _, k := range keys {
		b = appendText(b, k)
		v, err := EncodeRead(s[k])
		if err != nil {
			return nil, err
		}
		b = append(b, v...)
	}
	return b, nil
}

// UnmarshalJSON keeps whole numbers exact and lists of text typed.
func (s *Summary) UnmarshalJSON(b []byte) error {
	var raw map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&raw); err != nil {
		return err
	}
	return s.fill(raw)
}

// UnmarshalCBOR is the inverse of MarshalCBOR.
func (s *Summary) UnmarshalCBOR(b []byte) error {
	var raw map[string]any
	if err := readDec.Unmarshal(b, &raw); err != nil {
		return err
	}
	return s.fill(raw)
}

func (s *Summary) fill(raw map[string]any) error {
	out := make(Summary, len(raw))
	for k, v := range raw {
		switch v := v.(type) {
		case bool, string, uint64:
			out[k] = v
		case json.Number:
			n, err := strconv.ParseUint(v.String(), 10, 64)
			if err != nil {
				return fmt.Errorf("wire: summary %q: %w", k, err)
			}
			out[k] = n
		case []any:
			l := make([]string, len(v))
			for i, e := range v {
				t, ok := e.(string)
				if !ok {
					return fmt.Errorf("wire: summary %q: a list holds text, not %T", k, e)
				}
				l[i] = t
			}
			out[k] = l
		default:
			return fmt.Errorf("wire: summary %q: no value of type %T", k, v)
		}
	}
	*s = out
	return nil
}
