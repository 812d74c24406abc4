package wire

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
)

func TestIDText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       ID
		ok         bool
	}{
		{"zero", "00000000000000000000000000", ID{}, true},
		{"one", "00000000000000000000000001", ID{15: 1}, true},
		{"all ones", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", ID(bytes.Repeat([]byte{0xff}, 16)), true},
		{"top bit", "40000000000000000000000000", ID{0: 0x80}, true},
		{"middle: low bit of the high half", "0000000000000" + "G000000000000", ID{7: 1}, true},
		{"middle: high bit of the low half", "0000000000000" + "8000000000000", ID{8: 0x80}, true},
		{"lower case", "7zzzzzzzzzzzzzzzzzzzzzzzzz", ID(bytes.Repeat([]byte{0xff}, 16)), true},
		{"mixed case", "01arz3ndektsv4rrffq69g5fav", mustULID("01ARZ3NDEKTSV4RRFFQ69G5FAV"), true},
		{"first above 7", "80000000000000000000000000", ID{}, false},
		{"first Z", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ", ID{}, false},
		{"25 characters", "0000000000000000000000000", ID{}, false},
		{"27 characters", "000000000000000000000000000", ID{}, false},
		{"empty", "", ID{}, false},
		{"I is no alias of 1", "0000000000000000000000000I", ID{}, false},
		{"L is no alias of 1", "0000000000000000000000000l", ID{}, false},
		{"O is no alias of 0", "O0000000000000000000000000", ID{}, false},
		{"U is left out", "0000000000000000000000000U", ID{}, false},
		{"hyphen", "0000000000000-000000000000", ID{}, false},
		{"space", " 0000000000000000000000000", ID{}, false},
		{"not ASCII", "000000000000000000000000é", ID{}, false},
	} {
		id, err := ParseID(c.text)
		if (err == nil) != c.ok || id != c.want {
			t.Errorf("%s: ParseID(%q) = %v, %v, want %v, %v", c.name, c.text, id, err, c.want, c.ok)
		}
		if id, ok := parseIDBytes([]byte(c.text)); ok != c.ok || id != c.want {
			t.Errorf("%s: parseIDBytes(%q) = %v, %v, want %v, %v", c.name, c.text, id, ok, c.want, c.ok)
		}
		if c.ok && id.String() != strings.ToUpper(c.text) {
			t.Errorf("%s: prints as %s, want upper case of %s", c.name, id, c.text)
		}
	}
}

func mustULID(s string) ID { return ID(ulid.MustParseStrict(s)) }

func TestIDRoundTripsAndSorts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]ID, 500)
	for i := range ids {
		for j := range ids[i] {
			ids[i][j] = byte(rng.UintN(256))
		}
		text := ids[i].String()
		if back, err := ParseID(text); err != nil || back != ids[i] {
			t.Fatalf("%s reads back as %v, %v", text, back, err)
		}
		if back, err := ParseID(strings.ToLower(text)); err != nil || back != ids[i] {
			t.Fatalf("%s in lower case reads back as %v, %v", text, back, err)
		}
		if back, ok := parseIDBytes([]byte(text)); !ok || back != ids[i] {
			t.Fatalf("%s reads back from bytes as %v, %v", text, back, ok)
		}
	}
	for i := range ids[1:] {
		a, b := ids[i], ids[i+1]
		want := bytes.Compare(a[:], b[:])
		if got := a.Compare(b); got != want {
			t.Errorf("Compare(%v, %v) = %d, want %d", a, b, got, want)
		}
		if got := strings.Compare(a.String(), b.String()); got != want {
			t.Errorf("text order of %v and %v is %d, byte order %d", a, b, got, want)
		}
	}
	if ids[0].Compare(ids[0]) != 0 {
		t.Error("an id differs from itself")
	}
	if (ID{}).Compare(ID{15: 1}) != -1 || (ID{8: 1}).Compare(ID{7: 1}) != -1 {
		t.Error("ids order by their first byte first")
	}
}

func TestIDJSON(t *testing.T) {
	id := mustULID("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	b, err := json.Marshal(map[string]ID{"id": id})
	if err != nil || string(b) != `{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}` {
		t.Fatalf("%s, %v", b, err)
	}
	var back map[string]ID
	if err := json.Unmarshal(bytes.ToLower(b), &back); err != nil || back["id"] != id {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"id":"81ARZ3NDEKTSV4RRFFQ69G5FAV"}`), &back); err == nil {
		t.Error("an id above 128 bits was read")
	}
	if !(ID{}).IsZero() || id.IsZero() {
		t.Error("IsZero is wrong")
	}
}

func FuzzID(f *testing.F) {
	f.Add("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		fast, ok := parseIDBytes([]byte(s))
		if (err == nil) != ok || id != fast {
			t.Fatalf("ParseID(%q) = %v, %v; parseIDBytes = %v, %v", s, id, err, fast, ok)
		}
		if err == nil && id.String() != strings.ToUpper(s) {
			t.Fatalf("%q prints as %s", s, id)
		}
	})
}

func TestSortedIDsAreStable(t *testing.T) {
	ids := []ID{{15: 2}, {0: 1}, {15: 1}, {}}
	slices.SortFunc(ids, ID.Compare)
	if want := []ID{{}, {15: 1}, {15: 2}, {0: 1}}; !slices.Equal(ids, want) {
		t.Errorf("sorted as %v, want %v", ids, want)
	}
}
