package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessionfold/cmd/folder/internal/client"
)

// worker serves fixed sessions and timelines as a worker does, two to a page.
type worker struct {
	infos  map[string]string
	events map[string][]string
	states map[string]string
}

func (w worker) side(name string) Side { return Side{name, client.Of(w, "/agdx")} }

func (w worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/agdx/sessions/s"), "/")
	if len(parts) == 3 && parts[2] == "state" {
		fmt.Fprint(rw, w.states[parts[1]])
		return
	}
	var items []string
	if len(parts) == 1 {
		for _, info := range w.infos {
			items = append(items, info)
		}
		sort.Strings(items)
	} else {
		items = w.events[parts[1]]
	}
	from := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &from)
	end := min(from+2, len(items))
	cursor := ""
	if end < len(items) {
		cursor = fmt.Sprintf(`,"cursor":"%d"`, end)
	}
	fmt.Fprintf(rw, `{"items":[%s]%s}`, strings.Join(items[from:end], ","), cursor)
}

func sample() worker {
	w := worker{map[string]string{}, map[string][]string{}, map[string]string{}}
	for i := range 5 {
		id := fmt.Sprintf("S%d", i)
		w.infos[id] = fmt.Sprintf(`{"id":%q,"status":"active","idle":false,"events":3,"tokens_in":18446744073709551615,"flags":{"liveness_unknown":true},
			"frontier":[{"topic":"t","partition_id":0,"topic_generation":1,"topic_generation_text":"1","folded":9,"head":10},{"topic":"t","partition_id":1,"topic_generation":1,"folded":4}]}`, id)
		for j := range 3 {
			w.events[id] = append(w.events[id], fmt.Sprintf(`{"display":"agent.message","at":{"Message":{"offset":%d,"generation":1}},"summary":{"size":%d}}`, j, j))
		}
	}
	return w
}

func run(t *testing.T, a, b worker) *Result {
	t.Helper()
	r, err := Run(context.Background(), a.side("left"), b.side("right"), Options{Stream: "s", Keep: 3, Parallel: 4})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What depends on broker, clock and moment may differ, also in order.
func TestEqualUpToTheMoment(t *testing.T) {
	a, b := sample(), sample()
	for id, info := range b.infos {
		info = strings.NewReplacer(`"idle":false`, `"idle":true,"last_heartbeat_at":5`, `"liveness_unknown":true`, ``,
			`"topic_generation":1`, `"topic_generation":77`, `"topic_generation_text":"1"`, `"topic_generation_text":"77"`, `"head":10`, `"head":99,"retained_from":3`).Replace(info)
		var m map[string]any
		d := json.NewDecoder(strings.NewReader(info))
		d.UseNumber()
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		f := m["frontier"].([]any)
		f[0], f[1] = f[1], f[0]
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b.infos[id] = string(out)
		for i := range b.events[id] {
			b.events[id][i] = strings.Replace(b.events[id][i], `"generation":1`, `"generation":77`, 1)
		}
	}
	r := run(t, a, b)
	if !r.Equal() || r.Digest[0] != r.Digest[1] || r.Sessions != [2]int{5, 5} || r.Events != [2]uint64{15, 15} {
		t.Errorf("%+v", r)
	}
}

func TestEveryDifferenceIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w worker)
		want   string
	}{
		"number":          {func(w worker) { w.infos["S1"] = strings.Replace(w.infos["S1"], `"events":3`, `"events":4`, 1) }, "events: 3 ≠ 4"},
		"last digit":      {func(w worker) { w.infos["S1"] = strings.Replace(w.infos["S1"], `551615`, `551614`, 1) }, "tokens_in: 18446744073709551615 ≠ 18446744073709551614"},
		"missing field":   {func(w worker) { w.infos["S1"] = strings.Replace(w.infos["S1"], `"status":"active",`, ``, 1) }, `status: "active" ≠ nothing`},
		"missing session": {func(w worker) { delete(w.infos, "S1") }, "only on the left side"},
		"more sessions":   {func(w worker) { w.infos["S1b"] = strings.Replace(w.infos["S1"], "S1", "S1b", 1) }, "only on the right side"},
		"missing row":     {func(w worker) { w.events["S1"] = w.events["S1"][:2] }, "events: 3 ≠ 2 rows"},
		"other row":       {func(w worker) { w.events["S1"][2] = strings.Replace(w.events["S1"][2], `"size":2`, `"size":7`, 1) }, "events[2].summary.size: 2 ≠ 7"},
		"order of rows":   {func(w worker) { e := w.events["S1"]; e[0], e[1] = e[1], e[0] }, "events[0].at.Message.offset: 0 ≠ 1"},
		"frontier":        {func(w worker) { w.infos["S1"] = strings.Replace(w.infos["S1"], `"folded":9`, `"folded":8`, 1) }, "folded: 9 ≠ 8"},
	} {
		t.Run(name, func(t *testing.T) {
			b := sample()
			c.change(b)
			r := run(t, sample(), b)
			if r.Equal() || r.Digest[0] == r.Digest[1] || r.Differ != 1 {
				t.Fatalf("%+v", r)
			}
			if got := strings.Join(r.First[0].What, "\n"); !strings.Contains(got, c.want) {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

func TestAhead(t *testing.T) {
	b := sample()
	for id := range b.infos {
		b.infos[id] = strings.Replace(b.infos[id], `"folded":9`, `"folded":12`, 1)
	}
	r := run(t, sample(), b)
	if d := cmp.Diff([2][]string{nil, {"t[0]"}}, r.Ahead); d != "" {
		t.Error(d)
	}
	if r.Differ != 5 || len(r.First) != 3 {
		t.Errorf("%d differ, %d kept", r.Differ, len(r.First))
	}
}

func TestListedTwice(t *testing.T) {
	b := sample()
	b.infos["again"] = b.infos["S1"]
	_, err := Run(context.Background(), sample().side("left"), b.side("right"), Options{Stream: "s"})
	if err == nil || !strings.Contains(err.Error(), "S1 is listed twice") {
		t.Error(err)
	}
}

// A side without keys knows of no actor; between two that have keys they count.
func TestVerifiedActors(t *testing.T) {
	b := sample()
	b.events["S1"][1] = strings.Replace(b.events["S1"][1], `"display"`, `"verified_actor":"ann","display"`, 1)
	for unsigned, want := range map[bool]int{false: 1, true: 0} {
		r, err := Run(context.Background(), sample().side("left"), b.side("right"), Options{Stream: "s", Unsigned: unsigned})
		if err != nil || r.Differ != want || (r.Digest[0] == r.Digest[1]) != unsigned {
			t.Errorf("unsigned %t: %d differ, %v", unsigned, r.Differ, err)
		}
	}
}

// TestState: documents are compared, and their content is in no report.
func TestState(t *testing.T) {
	a, b := sample(), sample()
	for _, w := range []worker{a, b} {
		w.events["S1"][1] = `{"display":"state.updated","operation":"state_delta","at":{"Message":{"offset":1,"generation":1}}}`
		w.states["S1"] = `{"revision":1,"document":{"a":"secret"},"history":[{"outcome":"applied"}],"complete":true,"frontier":{"head":1}}`
	}
	b.states["S1"] = strings.Replace(b.states["S1"], `"head":1`, `"head":7`, 1)
	if r := run(t, a, b); !r.Equal() || r.Digest[0] != r.Digest[1] {
		t.Errorf("equal documents differ: %+v", r)
	}
	b.states["S1"] = strings.Replace(b.states["S1"], `secret`, `other secret`, 1)
	r := run(t, a, b)
	if r.Equal() || r.Differ != 1 || r.Digest[0] == r.Digest[1] {
		t.Errorf("different documents are equal: %+v", r)
	}
	if text := fmt.Sprint(r.First); !strings.Contains(text, "state.document") || strings.Contains(text, "secret") {
		t.Errorf("the report: %s", text)
	}
}
