package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionfold/wire"
)

// TestLargeArray holds the tree of an array against a slice, over sizes that
// need several levels.
func TestLargeArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 31, 32, 33, 1000, 1024, 1025, 3000}).Draw(t, "length")
		want := make([]string, n)
		for i := range want {
			want[i] = strconv.Itoa(i)
			if i%97 == 5 {
				want[i] = `"` + strings.Repeat("y", 1500) + `"` // a leaf of its own
			}
		}
		d := Parse("[" + strings.Join(want, ",") + "]")
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(want)).Draw(t, "index")
			if rapid.Bool().Draw(t, "end") {
				i = len(want)
			}
			op := wire.PatchOp{Path: "/" + strconv.Itoa(i), Value: strconv.Itoa(-1 - step)}
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0 && i < len(want):
				op.Kind = wire.PatchRemove
				want = slices.Delete(want, i, i+1)
			case kind == 1 && i < len(want):
				op.Kind = wire.PatchReplace
				want[i] = op.Value
			default:
				op.Kind = wire.PatchAdd
				want = slices.Insert(want, i, op.Value)
			}
			next, fault := d.Apply([]wire.PatchOp{op})
			if fault != nil {
				t.Fatal(fault)
			}
			d = next
			checkDocument(t, d, "["+strings.Join(want, ",")+"]")
			if rapid.IntRange(0, 9).Draw(t, "flat") == 0 {
				d = d.flat()
			}
		}
	})
}

// TestDigestGoesOn: after changes at any place of a document with many marks the
// digest is that of the whole text.
func TestDigestGoesOn(t *testing.T) {
	d := Empty
	for i := range 700 {
		op := wire.PatchOp{Kind: wire.PatchAdd, Path: fmt.Sprintf("/k%05d", i*7919%700), Value: `"` + strings.Repeat("v", 300+i) + `"`}
		next, fault := d.Apply([]wire.PatchOp{op})
		if fault != nil {
			t.Fatal(fault)
		}
		if d = next; i%50 == 49 {
			checkDocument(t, d, d.Text())
		}
	}
	if d.Size() < 6*markGrid || len(d.marks) < 5 {
		t.Fatalf("%d bytes with %d marks: the test is too small", d.Size(), len(d.marks))
	}
	for i := 699; i >= 0; i -= 13 {
		next, fault := d.Apply([]wire.PatchOp{{Kind: wire.PatchRemove, Path: fmt.Sprintf("/k%05d", i)}})
		if fault != nil {
			t.Fatal(fault)
		}
		d = next
		checkDocument(t, d, d.Text())
	}
}
