package row

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"sessionfold/fold/state"
	"sessionfold/wire"
)

// goldenState is what a step did to a document, with everything an outcome can
// hold.
func goldenState() *state.Step {
	return &state.Step{
		Rebased: true, Base: `{"a":1}`, Log: [][]byte{append([]byte{byte(wire.PatchAdd), 2}, "/b\x03\"x\""...)},
		History: []state.Entry{
			{Number: 1003, Revision: 7, OpID: "op-1", Outcome: state.Applied, Time: 1_700_000_000_000_003, Offset: 1003, Old: [32]byte{1}, New: [32]byte{2}, At: -1},
			{Number: 1004, Revision: 7, OpID: "op-2", Outcome: state.Rejected, Time: 1_700_000_000_000_004, Offset: 1004, Old: [32]byte{2}, New: [32]byte{2}, Why: wire.FaultTest, At: 3},
			{Number: 1005, Revision: 7, OpID: "op-1", Outcome: state.Duplicate, Time: 1_700_000_000_000_005, Offset: 1005, Old: [32]byte{2}, New: [32]byte{2}, At: -1},
			{Number: 1006, Revision: 7, Outcome: state.Stale, Time: 1_700_000_000_000_006, Offset: 1006, Old: [32]byte{2}, New: [32]byte{2}, At: -1},
		},
	}
}

func TestEntryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := state.Entry{
			Number: genNumber.Draw(t, "number"), Revision: genNumber.Draw(t, "revision"), OpID: genText.Draw(t, "id"),
			Outcome: state.Outcome(rapid.IntRange(1, 4).Draw(t, "outcome")), Time: genNumber.Draw(t, "time"), Offset: genNumber.Draw(t, "offset"),
			Why: wire.StateFault(rapid.IntRange(0, 16).Draw(t, "why")), At: rapid.IntRange(-1, wire.MaxPatchOps-1).Draw(t, "at"),
		}
		copy(e.Old[:], rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "old"))
		copy(e.New[:], rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "new"))
		b := AppendEntry(nil, &e)
		got, err := DecodeEntry(b)
		if err != nil || got != e {
			t.Fatalf("%+v came back as %+v, %v", e, got, err)
		}
	})
}

func TestStateKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPartialKey.Draw(t, "key")
		k := SlotKey{p, rapid.Uint32().Draw(t, "slot")}
		source := SourceID{Stream: p.Stream, Source: p.Source}
		for _, key := range [][]byte{AppendBase(nil, k), AppendLog(nil, k)} {
			if got, err := ParseSlot(key); err != nil || got != k {
				t.Fatalf("slot key: %v, %v", got, err)
			}
		}
		n := genNumber.Draw(t, "number")
		if got, slot, err := ParseHistory(AppendHistory(nil, p, n)); err != nil || got != p || uint64(slot) != n%1000 {
			t.Fatalf("history key: %v %d, %v", got, slot, err)
		}
		for _, key := range [][]byte{AppendBase(nil, k), AppendLog(nil, k), AppendHistory(nil, p, n), AppendPartial(nil, p), AppendSource(nil, source)} {
			if got, err := DurableSource(key); err != nil || got != source {
				t.Fatalf("%s is of %v, %v", Describe(key), got, err)
			}
		}
		if _, err := DurableSource(AppendPack(nil, PackKey{PartialKey: p})); err == nil {
			t.Fatal("packs are not durable")
		}
	})
}

func FuzzEntry(f *testing.F) {
	seeds(f, TagHistory)
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEntry(b)
		if err != nil {
			positioned(t, err)
		} else if again := AppendEntry(nil, &e); !bytes.Equal(again, b) {
			t.Errorf("%x decodes, and encodes again as %x", b, again)
		}
	})
}
