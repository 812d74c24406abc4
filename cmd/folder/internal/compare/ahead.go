package compare

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
)

// ahead says which sources each side has folded further than the other: then
// the two hold different logs, and their sessions cannot agree. A source that
// one side does not know at all counts too.
func ahead(infos [2]map[string]any) (out [2][]string) {
	at := [2]map[string]uint64{folded(infos[0]), folded(infos[1])}
	for i := range at {
		for src, n := range at[i] {
			if n > at[1-i][src] {
				out[i] = append(out[i], src)
			}
		}
		sort.Strings(out[i])
	}
	return out
}

// folded gives, per source, one more than the last folded offset that a session
// shows.
func folded(infos map[string]any) map[string]uint64 {
	out := map[string]uint64{}
	for _, info := range infos {
		m, _ := info.(map[string]any)
		rows, _ := m["frontier"].([]any)
		for _, row := range rows {
			f, _ := row.(map[string]any)
			n, ok := f["folded"].(json.Number)
			if !ok {
				continue
			}
			last, err := strconv.ParseUint(n.String(), 10, 64)
			if err != nil {
				continue
			}
			name := fmt.Sprintf("%v[%v]", f["topic"], f["partition_id"])
			out[name] = max(out[name], last+1)
		}
	}
	return out
}
