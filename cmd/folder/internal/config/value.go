package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written with a binary unit: 64MiB.
type Size uint64

var units = []struct {
	name  string
	bytes uint64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// ParseSize reads a number and a unit: B, KiB, MiB, GiB, TiB or none.
func ParseSize(s string) (Size, error) {
	for _, u := range units {
		n, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimSpace(n), 10, 64)
		if err != nil || v > math.MaxInt64/u.bytes {
			break
		}
		return Size(v * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is no size; write for example 64MiB", s)
}

func (s Size) String() string {
	for i := 3; i >= 0; i-- {
		if u := units[i]; s > 0 && uint64(s)%u.bytes == 0 {
			return strconv.FormatUint(uint64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatUint(uint64(s), 10)
}

// parse reads the text of a scalar as the field's type. All sources of values
// come through here, so that a text means the same in each of them.
func (f *Field) parse(s string) (any, error) {
	switch f.Type {
	case "bool":
		if s == "true" || s == "false" {
			return s == "true", nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", s)
	case "integer":
		if f.unsigned {
			v, err := strconv.ParseUint(s, 10, 63)
			if err != nil {
				return nil, fmt.Errorf("%q is no whole number from 0", s)
			}
			return v, nil
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", s)
		}
		return v, nil
	case "duration":
		v, err := time.ParseDuration(s)
		if err != nil {
			return nil, fmt.Errorf("%q is no duration; write for example 100ms, 45s or 5m", s)
		}
		return v, nil
	case "size":
		return ParseSize(s)
	case "text":
		if len(f.Words) > 0 && !contains(f.Words, s) {
			return nil, fmt.Errorf("%q is none of %s", s, strings.Join(f.Words, ", "))
		}
		return s, nil
	}
	return nil, fmt.Errorf("is a %s, not a single value", f.Type)
}

// parseList splits a comma separated list, as in a flag or a variable.
func parseList(s string) []string {
	out := []string{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func contains(words []string, s string) bool {
	for _, w := range words {
		if w == s {
			return true
		}
	}
	return false
}
