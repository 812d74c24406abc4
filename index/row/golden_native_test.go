package row

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sessionfold/fold"
	"sessionfold/wire"
)

// TestGoldenNative holds what foreign dialects added to the format still, in a
// file of its own: version 2 was not changed for streams of AGDX.
func TestGoldenNative(t *testing.T) {
	var out strings.Builder
	for _, op := range goldenNative().Ops {
		if op.Key[0] == TagPartial || op.Key[0] == TagChunk {
			fmt.Fprintf(&out, "%s\nkey   %s\nvalue %s\n\n", Describe(op.Key), hex.EncodeToString(op.Key), hex.EncodeToString(op.Value))
		}
	}
	file := filepath.Join("testdata", "golden", fmt.Sprintf("v%d_native.txt", Version))
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

func ringWith[T any](items ...T) fold.Ring[T] {
	return fold.Ring[T]{N: uint64(len(items)), Slots: []*fold.Chunk[T]{{Items: items}}}
}

// goldenNative is a step of a session with everything that a native group holds.
func goldenNative() *Batch {
	src := wire.NewSource("tasks", "tasks.events", 0x0102030405060708, 3, wire.RoleLane, wire.DialectDeepStrike)
	at := func(n uint64) fold.Stamp { return fold.Stamp{Time: 1_700_000_000_000_000 + n, Offset: 1000 + n} }
	sums := fold.Sums{In: 100, Out: 20, CacheRead: 30, CacheWrite: 40, Reasoning: 5, CostNano: 7}
	n := &fold.Native{
		ID: "run-7", Redelivered: 2, Runs: 3, HasSeq: true, Min: 4, Max: 90, Missing: []wire.NativeGap{{From: 7, To: 9}},
		Said: []fold.Said{
			{Key: wire.SayCourse, Num: uint8(wire.StatusFailed), At: at(3)},
			{Key: wire.SayTurn, Num: uint8(wire.TurnSealed), Sequenced: true, Seq: 12, At: at(4), Text: "no_progress"},
			{Key: wire.SayWait, Num: 1, Aux: 1_700_000_100_000_000, At: at(5), Text: "sleep"},
			{Key: wire.SayTags, At: at(6), List: []string{"b", "a"}},
		},
		Levels: fold.Levels{
			Attempts: sums, HasAttempts: true, Calls: sums, Estimated: true, Total: 500, Whole: sums, WholeSeq: 11, HasWhole: true, Generated: true,
		},
		Seen: ringWith[uint64](4<<32|1, 5<<32|2), Attempts: ringWith[uint64](77), Kids: ringWith(fold.Kid{Item: "child-1", State: "joined", Attempt: 2, Final: true}),
		Audit: &fold.Audit{
			Suspend: &fold.Suspend{Turn: 3, Reason: "ask_user", Calls: []string{"c1"}}, HasResumed: true, Resumed: 4,
			Processes: ringWith(fold.Process{Turn: 4, Agent: "child-1", Parent: "parent", State: "joined"}),
			Exceeded:  ringWith(fold.Exceeded{Turn: 5, Operation: "op", Reservation: "r", Budget: "tokens", Reserved: true}),
			Used:      ringWith(fold.BudgetUse{Turn: 6, Operation: "op", Reservation: "r", Tokens: 9, Subagents: 1, Rounds: 2}),
			Cancelled: ringWith(fold.Cancelled{Turn: 7, Operation: "op", Reason: "user", Calls: []string{"c2"}}),
			Signals: ringWith(
				fold.Signal{Turn: 8, Operation: "op", Delivery: "d", Attempt: 1, Signal: "sig-a", Disposition: "queue", Queue: 1, HasOperation: true, HasDelivery: true, Try: true},
				fold.Signal{Turn: 9, Signal: "sig-b", Disposition: "drop"},
			),
			PageOut: 1, PageIn: 2, Gated: 3, Written: 4, Queried: 5, Invalid: 6, Recalled: 7,
		},
	}
	p := &fold.Partial{First: at(0), Last: at(9), Records: 10, Rows: 10, Flags: fold.FlagLane | fold.FlagTokensEstimated | fold.FlagSeqConflict, Native: n}
	return Encode(&fold.Step{
		Source: src, From: 1000, To: 1009, Frontier: fold.Frontier{Next: 1010, Time: at(9).Time, Seq: 1, Records: 10},
		Sessions: []fold.SessionStep{{ID: wire.ID{15: 9}, New: p, Last: 1009}},
	})
}
