package serve

import (
	"fmt"
	"testing"

	"sessionfold/wire"
)

// benchWorld holds n sessions of three records, in one source each.
func benchWorld(b *testing.B, n int) *world {
	w := newWorld(b)
	for i := range n {
		s := w.session(fmt.Sprintf("session %d", i), "worker")
		s.Note("one")
		s.End(wire.TaskCompleted, "done")
		if i%5000 == 4999 {
			w.commit()
		}
	}
	w.commit()
	return w
}

func benchGet(b *testing.B, w *world, path string) {
	b.ReportAllocs()
	for b.Loop() {
		if rec := w.request("GET", path, nil); rec.Code != 200 {
			b.Fatal(rec.Body)
		}
	}
}

func BenchmarkReads(b *testing.B) {
	w := benchWorld(b, 20_000)
	page := get[wire.SessionPage](w, "/agdx/sessions/agents?limit=1")
	id := page.Items[0].ID.String()
	for name, path := range map[string]string{
		"get":        "/" + id,
		"events":     "/" + id + "/events",
		"list100":    "",
		"list1000":   "?limit=1000",
		"search20k":  "?text=nothing",
		"total20k":   "?total=true&limit=1",
		"sources":    "/" + id + "/sources",
		"filter2000": "?limit=1000&status=completed",
	} {
		b.Run(name, func(b *testing.B) { benchGet(b, w, "/agdx/sessions/agents"+path) })
	}
}
