package row

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/wire"
)

var update = flag.Bool("update", false, "write the golden files of this format version again")

// TestGolden holds the format still. When it fails the stored bytes changed:
// give Version another number and write the new version's file with -update.
// The file of a version that was released is never written again.
func TestGolden(t *testing.T) {
	var out strings.Builder
	for _, op := range goldenBatch().Ops {
		kind := "derived"
		if op.Durable {
			kind = "durable"
		}
		fmt.Fprintf(&out, "%s %s\nkey   %s\nvalue %s\n\n", kind, Describe(op.Key), hex.EncodeToString(op.Key), hex.EncodeToString(op.Value))
	}
	local := Local{ChangelogNext: 77, ChangelogID: 78, Retained: 5, AppliedAt: 1_700_000_000, Restoring: true, Holes: []Span{{From: 9, To: 12}}}
	fmt.Fprintf(&out, "local source state\nvalue %s\n\n", hex.EncodeToString(AppendLocalValue(nil, &local)))
	fmt.Fprintf(&out, "reset\nkey   %s\nvalue %s\n\n", hex.EncodeToString(AppendReset(nil, SourceID{Stream: 1})), hex.EncodeToString(AppendResetValue(nil, Reset{Until: 300})))
	id := Identity{StoreID: [16]byte{1, 2}, WalkID: [8]byte{3}}
	fmt.Fprintf(&out, "store identity\nvalue %s\n\napply sequence\nvalue %s\n", hex.EncodeToString(AppendIdentity(nil, id)), hex.EncodeToString(AppendSeq(nil, 300)))

	file := filepath.Join("testdata", "golden", fmt.Sprintf("v%d.txt", Version))
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("stored bytes differ from %s: a change to them needs another format version. Got:\n%s", file, out.String())
	}
}

// goldenBatch is a step with everything that a value can hold.
func goldenBatch() *Batch {
	src := wire.NewSource("agents", "agents.agent.sessions", 0x0102030405060708, 3, wire.RoleLane, wire.DialectAGDX)
	at := func(n uint64) fold.Stamp { return fold.Stamp{Time: 1_700_000_000_000_000 + n, Offset: 1000 + n} }
	full := &fold.Partial{
		First: at(0), Last: at(9), Records: 10, Rows: 8, Truncated: true, TruncatedFrom: 1008,
		Start: &fold.Start{
			At: at(1), Label: "Book a flight", HasLabel: true, Namespace: "travel", HasNamespace: true, Agent: "planner",
			SDKLanguage: "go", SDKVersion: "1.2", HasSDK: true, Tags: []string{"b", "a"}, IdleTimeout: 60_000_000,
			BudgetTokens: 1000, BudgetCostMicros: 5, HasBudget: true, HasBudgetTokens: true, HasBudgetCost: true,
			HasParent: true, Parent: wire.ID{1}, HasRoot: true, Root: wire.ID{2}, NativeID: "run-7",
		},
		Parent: fold.Named{ID: wire.ID{1}, At: at(1), Set: true}, Root: fold.Named{ID: wire.ID{2}, At: at(2), Set: true},
		Status: wire.StatusPaused, StatusAt: at(5),
		End:      &fold.End{At: at(7), Status: wire.StatusFailed, Reason: "tool_timeout", Code: 4, HasCode: true, Forced: true},
		Counters: fold.Counters{ModelCalls: 3, ToolCalls: 2, TokensIn: 900, TokensOut: 120, CostNano: 7_000, Turns: 1},
		Agents:   []string{"planner", "searcher"}, Flags: fold.FlagLane | fold.FlagTimesApproximate,
		State: &fold.StateInfo{First: at(3), Info: state.Info{
			Revision: 7, Known: true, Stale: true, Applied: 2, Rejected: 1, StaleCount: 1, Duplicates: 1, Size: 20,
			Base: 3, BaseSize: 7, Slots: 1, LogBytes: 9,
		}},
	}
	full.ParentLast = at(8)
	full.Links = &fold.Links{N: 2, Over: true, List: []fold.Link{
		{LinkKey: fold.LinkKey{Surface: wire.SurfaceKV, Resource: "settings", Item: "theme", Relation: wire.RelationWrote}, First: at(4), Last: at(8)},
		{LinkKey: fold.LinkKey{Surface: wire.SurfaceMemory, Item: "m1", Relation: wire.RelationRecalled}, First: at(3), Last: at(3)},
	}}
	full.Aside = &fold.Aside{
		Control: &fold.Control{HasPause: true, HasResume: true, HasCancel: true, Pause: at(4), Resume: at(5), Cancel: at(6), Participants: []string{"planner"}},
		Acks:    []fold.Ack{{Agent: "planner", Topic: src.TopicID, Partition: 3, Offset: 77, Paused: true}},
		Held:    &fold.Held{Open: []fold.Parked{{ID: fold.ParkID{1}, At: at(6)}}, Done: []fold.ParkID{{2}}},
		Kin:     []fold.Kin{{ID: wire.ID{3}, First: at(7), Last: at(8)}},
	}
	mention := at(2)
	linked := &fold.Partial{
		Links: &fold.Links{N: 1, List: []fold.Link{{LinkKey: fold.LinkKey{Surface: wire.SurfaceGraphNode, Resource: "people", Item: "n1", Relation: wire.RelationTouched}, First: mention, Last: mention}}},
		Aside: &fold.Aside{Mention: &mention},
	}
	cause := src.At(1000).Locator()
	rows := []fold.Row{
		{Time: at(0).Time, Rec: note(1000)},
		{Time: at(1).Time, Rec: &wire.Record{
			Rare:   &wire.Rare{Verdict: wire.Verified, Actor: "searcher@ops", Keys: 0x0102030405060708},
			Offset: 1001, Kind: wire.KindResponse, Display: wire.DisplayToolResult, Operation: []byte("execute_tool"),
			Agent: []byte("searcher"), Addressee: []byte("planner-7"), Tool: []byte("search_flights"), Cause: cause[:],
			HasCorrelation: true, Correlation: wire.ID{1, 100},
			Usage: &wire.Usage{In: 9, Out: 2, CacheRead: 1, CostNano: 3, Has: wire.HasCacheRead | wire.HasCost},
			Summary: []wire.SummaryItem{
				{Key: wire.SumArgKeys, Type: wire.SumList, List: [][]byte{[]byte("from"), []byte("to")}},
				{Key: wire.SumRetryable, Type: wire.SumBool, Num: 1},
				{Key: wire.SumSHA256, Type: wire.SumBytes, Text: []byte{0xab, 0xcd}},
			},
		}},
		{Time: at(2).Time, Rec: &wire.Record{Offset: 1007, Display: wire.DisplayInvalid, Reason: "missing_body"}},
	}
	return Encode(&fold.Step{
		Source: src, From: 995, To: 1009,
		Frontier: fold.Frontier{
			Next: 1010, Time: at(9).Time, Seq: 3, Records: 15, Undecodable: 1, Invalid: 1, Unattributed: 2, UnattributedLast: 996,
			Gaps: []fold.Gap{{From: 0, To: 9, Reason: fold.GapExpiredBeforeFold}}, LinksRefused: 4,
			Signatures: fold.Signatures{Verified: 1, Unknown: 2, Wrong: 300, Keys: 0x0102030405060708, From: 1001},
		},
		Sessions: []fold.SessionStep{
			{ID: wire.ID{15: 1}, New: full, Last: 1009, Rows: rows, State: goldenState()},
			{ID: wire.ID{15: 2}, New: &fold.Partial{First: at(3), Last: at(3), Records: 1}, Last: 1003},
			{ID: wire.ID{15: 3}, New: linked, Last: 1002},
		},
	})
}
