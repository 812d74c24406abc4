package fold

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sessionfold/wire"
)

// With summaries a change row says of each session it names what this source
// alone knows, as the reads would show it, and a row names few enough sessions
// to stay below the size that a broker takes.
func TestChangeRowsCarrySummaries(t *testing.T) {
	src := wire.NewSource("s", "s.agent.sessions", 7, 2, wire.RoleLane, wire.DialectAGDX)
	var recs []wire.Record
	for i := range 120 {
		recs = append(recs, wire.Record{
			Offset: uint64(i), Time: 1_000_000, Kind: wire.KindStatus, Display: wire.DisplaySessionStarted,
			Session: wire.ID{14: byte(i >> 8), 15: byte(i)}, HasSession: true, Facts: wire.FactLane | wire.FactAuthor, Agent: []byte("planner"),
			Lifecycle: &wire.Lifecycle{Status: wire.StatusActive, Start: &wire.Start{Label: []byte("a label"), HasLabel: true, Agent: []byte("planner")}},
		})
	}
	if rows := Apply(&Config{}, src, Frontier{}, nil, recs).Changes; len(rows) != 1 || rows[0].Summaries != nil {
		t.Fatalf("without the setting: %d rows, %d summaries", len(rows), len(rows[0].Summaries))
	}
	step := Apply(&Config{Summaries: true}, src, Frontier{}, nil, recs)
	if got := len(step.Changes); got != 3 {
		t.Fatalf("120 sessions with summaries are in %d rows, want 3 of at most %d", got, maxSummaries)
	}
	seen := 0
	for i := range step.Changes {
		row := &step.Changes[i]
		back, err := wire.DecodeChangeRow(row.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(plain), string(row.AppendJSON(nil))); diff != "" {
			t.Fatalf("row %d is not the JSON of its type (-want +got):\n%s", i, diff)
		}
		for j := range back.Summaries {
			v := &back.Summaries[j]
			if v.ID != row.Sessions[j] || v.Label == nil || *v.Label != "a label" || v.Events != 1 || v.Idle || v.Status != "active" {
				t.Fatalf("row %d, session %d: summary %+v of session %s", i, j, v, row.Sessions[j])
			}
			seen++
		}
	}
	if seen != 120 {
		t.Fatalf("%d summaries of 120 sessions", seen)
	}
}
