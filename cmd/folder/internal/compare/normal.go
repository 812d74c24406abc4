package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
)

// volatile are the keys that may differ, wherever they stand.
var volatile = map[string]bool{
	"topic_generation": true, "topic_generation_text": true, "generation": true, // another broker, another topic UUID
	"head": true, "retained_from": true, // live
	"idle": true, "last_heartbeat_at": true, "liveness_unknown": true, "rebuilding": true, // of the clock and of the moment
}

// normal parses JSON, drops what may differ and sorts the rows of a frontier,
// whose order follows the generation.
func normal(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // 2^64-1 must not become a float
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return strip(v), nil
}

func strip(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if volatile[k] {
				delete(x, k)
				continue
			}
			x[k] = strip(e)
			if k == "frontier" || k == "gaps" {
				sortRows(x[k])
			}
		}
	case []any:
		for i := range x {
			x[i] = strip(x[i])
		}
	}
	return v
}

// unsigned takes the verified actors out of rows.
func unsigned(rows []any) {
	for _, r := range rows {
		if m, ok := r.(map[string]any); ok {
			delete(m, "verified_actor")
		}
	}
}

func sortRows(v any) {
	rows, ok := v.([]any)
	if !ok {
		return
	}
	sort.SliceStable(rows, func(i, j int) bool { return bytes.Compare(canonical(rows[i]), canonical(rows[j])) < 0 })
}

// canonical is the JSON of a parsed value with sorted keys.
func canonical(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("compare: a parsed value does not marshal: " + err.Error())
	}
	return b
}

// diff lists where two values differ, at most limit places.
func diff(path string, a, b any, limit int, out []string) []string {
	if len(out) >= limit || bytes.Equal(canonical(a), canonical(b)) {
		return out
	}
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	if aok && bok {
		for _, k := range union(am, bm) {
			out = diff(join(path, k), am[k], bm[k], limit, out)
		}
		return out
	}
	al, aok := a.([]any)
	bl, bok := b.([]any)
	if aok && bok && len(al) == len(bl) {
		for i := range al {
			out = diff(fmt.Sprintf("%s[%d]", path, i), al[i], bl[i], limit, out)
		}
		return out
	}
	return append(out, fmt.Sprintf("%s: %s ≠ %s", path, show(a), show(b)))
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func union(a, b map[string]any) []string {
	var keys []string
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}

func show(v any) string {
	if v == nil {
		return "nothing"
	}
	s := string(canonical(v))
	if len(s) > 120 {
		s = s[:120] + "…"
	}
	return s
}
