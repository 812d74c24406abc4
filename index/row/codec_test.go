package row

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessionfold/fold"
)

func TestPartialRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPartial.Draw(t, "partial")
		native := rapid.IntRange(0, 3).Draw(t, "foreign") == 0
		if native {
			p.Native = genNative(t)
		}
		got, err := DecodePartial(AppendPartialValue(nil, p))
		if err != nil {
			t.Fatal(err)
		}
		readChunks(t, p, got)
		if d := cmp.Diff(p, got); d != "" {
			t.Fatalf("decoded partial differs (-want +got):\n%s", d)
		}
	})
}

func TestLinksRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		links := rapid.SliceOfN(genLink, 1, 5).Draw(t, "links")
		got, err := DecodeLinks(AppendLinksValue(nil, links))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(links, got); d != "" {
			t.Fatalf("decoded links differ (-want +got):\n%s", d)
		}
	})
}

func TestSourceMetaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMeta.Draw(t, "meta")
		got, err := DecodeSourceMeta(AppendSourceMeta(nil, &m))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Fatalf("decoded meta differs (-want +got):\n%s", d)
		}
	})
}

// A field that the fold gains and the codec does not know would be lost without
// a word: every field, set, must come back.
func TestEveryFieldIsStored(t *testing.T) {
	p := &fold.Partial{}
	fill(reflect.ValueOf(p).Elem(), "Partial")
	got, err := DecodePartial(AppendPartialValue(nil, p))
	if err != nil {
		t.Fatal(err)
	}
	if got.Links.List, err = DecodeLinks(AppendLinksValue(nil, p.Links.List)); err != nil { // a row of their own
		t.Fatal(err)
	}
	readChunks(t, p, got)
	if d := cmp.Diff(p, got); d != "" {
		t.Errorf("a field of fold.Partial is not stored (-want +got):\n%s", d)
	}
	m := SourceMeta{}
	fill(reflect.ValueOf(&m).Elem(), "SourceMeta")
	m.Frontier.Skipped, m.Frontier.Lost = 0, false // by their definition never stored
	back, err := DecodeSourceMeta(AppendSourceMeta(nil, &m))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, back); d != "" {
		t.Errorf("a field of SourceMeta is not stored (-want +got):\n%s", d)
	}
	l := Local{}
	fill(reflect.ValueOf(&l).Elem(), "Local")
	local, err := DecodeLocal(AppendLocalValue(nil, &l))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(l, local); d != "" {
		t.Errorf("a field of Local is not stored (-want +got):\n%s", d)
	}
}

// readChunks brings the chunks of one partial into the other by their values.
func readChunks(t interface{ Fatal(...any) }, from, to *fold.Partial) {
	err := Chunks(PartialKey{}, from, func(k ChunkKey) error {
		key, err := ParseChunk(AppendChunk(nil, k))
		if err != nil {
			return err
		}
		value := AppendChunkValue(nil, from, key)
		if err := CheckChunk(key, value); err != nil {
			return err
		}
		return ReadChunk(to, key, value)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fill sets every field to something other than its zero value.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name)
		}
		if strings.HasPrefix(v.Type().Name(), "Ring[") { // as long as it says
			v.FieldByName("N").SetUint(2)
			v.FieldByName("Slots").SetLen(1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), name)
		fill(v.Index(1), name)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), name)
		}
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(int64(len(name)))
	default:
		v.SetUint(uint64(len(name)))
	}
}

// What a later program wrote is refused with its position, never half read.
func TestLaterFormatIsRefused(t *testing.T) {
	p := &fold.Partial{Records: 1}
	good := AppendPartialValue(nil, p)
	for name, c := range map[string]struct {
		value []byte
		want  string
	}{
		"group":   {append(append([]byte(nil), good...), 99), "row: partial, byte 8: unknown group 99: written by a later program"},
		"version": {append([]byte{Version + 1}, good[1:]...), "row: partial, byte 0: format version 3, this program reads version 2"},
		"empty":   {nil, "row: partial, byte 0: empty"},
		"short":   {good[:3], "row: partial, byte 3: ends early"},
		"order":   {append(append([]byte(nil), good...), groupTruncated, 1, groupCounters, 1, 1), "row: partial, byte 11: group 6 behind group 8"},
		"long":    {append(append([]byte{Version}, 0x80, 0), good[2:]...), "row: partial, byte 1: number not in its shortest form"},
	} {
		if _, err := DecodePartial(c.value); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestHoles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var holes []Span
		var want [64]bool
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			from := rapid.Uint64Range(0, 60).Draw(t, "from")
			s := Span{From: from, To: from + rapid.Uint64Range(0, 63-from).Draw(t, "length")}
			add := rapid.Bool().Draw(t, "add")
			if add {
				holes = AddHole(holes, s)
			} else {
				holes = CutHoles(holes, s)
			}
			for i := s.From; i <= s.To; i++ {
				want[i] = add
			}
		}
		var got [64]bool
		for i, h := range holes {
			if h.To < h.From || i > 0 && h.From <= holes[i-1].To+1 {
				t.Fatalf("holes %v do not lie apart", holes)
			}
			for o := h.From; o <= h.To; o++ {
				got[o] = true
			}
		}
		if got != want {
			t.Fatalf("holes %v cover %v, want %v", holes, got, want)
		}
	})
}
