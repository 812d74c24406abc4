package row

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/wire"
)

var genSummary = rapid.Custom(func(t *rapid.T) wire.SummaryItem {
	it := wire.SummaryItem{Key: wire.SummaryKey(rapid.Uint8().Draw(t, "key")), Type: wire.SummaryType(rapid.IntRange(0, 4).Draw(t, "type"))}
	switch it.Type {
	case wire.SumNumber:
		it.Num = genNumber.Draw(t, "number")
	case wire.SumBool:
		it.Num = rapid.Uint64Range(0, 1).Draw(t, "bool")
	case wire.SumText, wire.SumBytes:
		it.Text = []byte(genText.Draw(t, "text"))
	case wire.SumList:
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			it.List = append(it.List, []byte(genText.Draw(t, "item")))
		}
	}
	return it
})

// genRow makes a row behind an offset and a time. Texts repeat, as they do.
func genRow(t *rapid.T, offset, time uint64) fold.Row {
	rec := &wire.Record{
		Offset: offset, Kind: wire.Kind(rapid.IntRange(0, 3).Draw(t, "kind")), Display: wire.Display(rapid.IntRange(0, 3).Draw(t, "display")),
		Operation: []byte(genText.Draw(t, "operation")), Agent: []byte(genText.Draw(t, "agent")),
		Addressee: []byte(genText.Draw(t, "addressee")), Tool: []byte(genText.Draw(t, "tool")),
		HasCorrelation: rapid.Bool().Draw(t, "has correlation"),
	}
	if rec.HasCorrelation {
		rec.Correlation = rapid.OneOf(rapid.Just(wire.ID{1}), genID).Draw(t, "correlation")
	}
	switch rapid.IntRange(0, 2).Draw(t, "cause") {
	case 1:
		l := wire.Pos{Stream: 1, Topic: 2, Partition: rapid.Uint32Range(0, 1).Draw(t, "partition"), Offset: genNumber.Draw(t, "cause offset")}.Locator()
		rec.Cause = l[:]
	case 2:
		rec.Cause = []byte("not a locator")
	}
	if rapid.Bool().Draw(t, "usage") {
		u := &wire.Usage{In: genNumber.Draw(t, "in"), Out: genNumber.Draw(t, "out"), Has: wire.UsageHas(rapid.IntRange(0, 15).Draw(t, "has"))}
		for _, f := range usageFields(u) {
			if u.Has&f.bit != 0 {
				*f.n = genNumber.Draw(t, "usage field")
			}
		}
		rec.Usage = u
	}
	if rec.Display == wire.DisplayInvalid {
		rec.Reason = rapid.SampledFrom([]string{"", "missing_body", "channel"}).Draw(t, "reason")
	}
	if rapid.IntRange(0, 3).Draw(t, "signed") == 0 {
		rec.Rare = &wire.Rare{Actor: genText.Draw(t, "actor")}
	}
	rec.Summary = rapid.SliceOfN(genSummary, 0, 3).Draw(t, "summary")
	return fold.Row{Time: time, Rec: rec}
}

func genRows(t *rapid.T, most int) []fold.Row {
	var rows []fold.Row
	offset, time := genNumber.Draw(t, "first offset")>>1, genNumber.Draw(t, "first time")>>1
	for range rapid.IntRange(1, most).Draw(t, "rows") {
		rows = append(rows, genRow(t, offset, time))
		offset += rapid.Uint64Range(1, 1000).Draw(t, "offset step")
		time += rapid.Uint64Range(0, 1<<40).Draw(t, "time step")
	}
	return rows
}

// stored is what a row is expected to be when it is read again.
func stored(r fold.Row) Event {
	rec := r.Rec
	text := func(b []byte) string {
		s, _ := wire.Clean(b, maxText)
		return s
	}
	e := Event{
		Offset: rec.Offset, Time: r.Time, Kind: rec.Kind, Display: rec.Display,
		Operation: text(rec.Operation), Agent: text(rec.Agent), Addressee: text(rec.Addressee), Tool: text(rec.Tool),
		HasCorrelation: rec.HasCorrelation, Correlation: rec.Correlation, Usage: rec.Usage, Reason: rec.Reason,
	}
	if rec.Rare != nil {
		e.Actor = text([]byte(rec.Rare.Actor))
	}
	if len(rec.Cause) == 20 {
		e.Cause, e.HasCause = wire.Locator(rec.Cause), true
	}
	for _, it := range rec.Summary {
		if it.Type == wire.SumText {
			it.Text = []byte(text(it.Text))
		}
		list := it.List
		it.List = nil
		for _, v := range list {
			it.List = append(it.List, []byte(text(v)))
		}
		e.Summary = append(e.Summary, it)
	}
	return e
}

func unpack(t interface{ Fatal(...any) }, first uint64, value []byte) []Event {
	var out []Event
	p := OpenPack(first, value)
	for e := (Event{}); p.Next(&e); {
		out = append(out, e)
	}
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPackRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := genRows(t, 20)
		var p packer
		var got, want []Event
		for rest := rows; len(rest) > 0; {
			value, n := p.pack(nil, rest)
			if n < 1 {
				t.Fatal("a pack took no row")
			}
			if time, ok := PackTime(value); !ok || time != rest[0].Time {
				t.Fatalf("time of the pack %d, %v", time, ok)
			}
			got = append(got, unpack(t, rest[0].Rec.Offset, value)...)
			rest = rest[n:]
		}
		for _, r := range rows {
			want = append(want, stored(r))
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("rows differ (-want +got):\n%s", d)
		}
	})
}

// Rows hold no text that was not cleaned, whatever a producer sent.
func TestPackCleansText(t *testing.T) {
	long := make([]byte, 300)
	for i := range long {
		long[i] = 'x'
	}
	rec := &wire.Record{Offset: 4, Agent: []byte("a\x00b\xff"), Tool: long, Operation: []byte("a\x01b\xfe")}
	var p packer
	value, _ := p.pack(nil, []fold.Row{{Rec: rec}})
	e := unpack(t, 4, value)[0]
	if e.Agent != "a\uFFFDb\uFFFD" || e.Operation != e.Agent || e.Tool != string(long[:256]) {
		t.Errorf("stored agent %q, operation %q, tool of %d bytes", e.Agent, e.Operation, len(e.Tool))
	}
}

// Long sessions make several packs, bounded by rows and by bytes; together they
// hold every row once.
func TestPackBounds(t *testing.T) {
	for _, size := range []int{0, 200} {
		var rows []fold.Row
		for i := range 1000 {
			rec := &wire.Record{Offset: uint64(i), Summary: []wire.SummaryItem{{Type: wire.SumBytes, Text: make([]byte, size)}}}
			rows = append(rows, fold.Row{Rec: rec})
		}
		var p packer
		packs := 0
		next := uint64(0)
		for rest := rows; len(rest) > 0; packs++ {
			value, n := p.pack(nil, rest)
			if n > maxPackRows || len(value) > maxPackBytes+size+64 {
				t.Fatalf("a pack of %d rows, %d bytes", n, len(value))
			}
			for _, e := range unpack(t, rest[0].Rec.Offset, value) {
				if e.Offset != next {
					t.Fatalf("offset %d, want %d", e.Offset, next)
				}
				next++
			}
			rest = rest[n:]
		}
		if next != 1000 || packs < 4 {
			t.Errorf("size %d: %d rows in %d packs", size, next, packs)
		}
	}
}

// note is a record as the benchmark's sessions have them.
func note(offset uint64) *wire.Record {
	return &wire.Record{
		Offset: offset, Time: 1_700_000_000_000_000 + offset*1000, HasSession: true, Session: wire.ID{byte(offset / 10)},
		Kind: wire.KindEvent, Display: wire.DisplayAgentMessage, Operation: []byte("note"), Agent: []byte("planner-7"),
		HasCorrelation: true, Correlation: wire.ID{1, byte(offset / 10)}, Facts: wire.FactAuthor,
		Summary: []wire.SummaryItem{
			{Key: wire.SumContentType, Type: wire.SumText, Text: []byte("application/json")},
			{Key: wire.SumSize, Type: wire.SumNumber, Num: 120 + offset%50},
		},
	}
}

func TestNoteRowIsSmall(t *testing.T) {
	var rows []fold.Row
	for i := range uint64(10) {
		rec := note(i)
		rows = append(rows, fold.Row{Time: rec.Time, Rec: rec})
	}
	var p packer
	value, _ := p.pack(nil, rows)
	per := float64(packKeyLen+len(value)) / 10
	t.Logf("%.1f bytes per row, key included", per)
	if per >= 60 {
		t.Errorf("a note row takes %.1f bytes, want below 60", per)
	}
}

// The dictionary holds 64 values; a pack with more distinct ones reads the same.
func TestPackFullDictionary(t *testing.T) {
	var rows []fold.Row
	for i := range 200 {
		rows = append(rows, fold.Row{Rec: &wire.Record{Offset: uint64(i), Agent: fmt.Appendf(nil, "agent-%d", i%100)}})
	}
	var p packer
	value, n := p.pack(nil, rows)
	if n != 200 {
		t.Fatalf("took %d rows", n)
	}
	for i, e := range unpack(t, 0, value) {
		if want := fmt.Sprintf("agent-%d", i%100); e.Agent != want {
			t.Fatalf("row %d: agent %q, want %q", i, e.Agent, want)
		}
	}
}
