package row

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionfold/wire"
)

var genPartialKey = rapid.Custom(func(t *rapid.T) PartialKey {
	return PartialKey{Stream: rapid.Uint32().Draw(t, "stream"), Session: genID.Draw(t, "session"), Source: wire.SourceKey(genID.Draw(t, "source"))}
})

func TestKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPartialKey.Draw(t, "key")
		n := genNumber.Draw(t, "number")
		if got, err := ParsePartial(AppendPartial(nil, p)); err != nil || got != p {
			t.Fatalf("partial key: %v, %v", got, err)
		}
		pack := PackKey{PartialKey: p, First: n}
		if got, err := ParsePack(AppendPack(nil, pack)); err != nil || got != pack {
			t.Fatalf("pack key: %v, %v", got, err)
		}
		s := SourceID{Stream: p.Stream, Source: p.Source}
		for _, key := range [][]byte{AppendSource(nil, s), AppendLocal(nil, s)} {
			if got, err := ParseSource(key); err != nil || got != s {
				t.Fatalf("source key: %v, %v", got, err)
			}
		}
		b := BatchKey{SourceID: s, From: n}
		if got, err := ParseBatch(AppendBatch(nil, b)); err != nil || got != b {
			t.Fatalf("batch key: %v, %v", got, err)
		}
		l := ListKey{Stream: p.Stream, Time: n, Session: p.Session, Source: p.Source, Kind: rapid.SampledFrom([]EntryKind{EntryStart, EntryFirst}).Draw(t, "kind")}
		if got, err := ParseList(AppendList(nil, l)); err != nil || got != l {
			t.Fatalf("list key: %v, %v", got, err)
		}
	})
}

// The order of keys is the order in which readers want what they name.
func TestKeyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := ListKey{Time: genNumber.Draw(t, "time"), Session: genID.Draw(t, "a"), Kind: EntryStart}
		b := ListKey{Time: genNumber.Draw(t, "other time"), Session: genID.Draw(t, "b"), Kind: EntryFirst}
		want := bytes.Compare(a.Session[:], b.Session[:])
		switch {
		case a.Time > b.Time:
			want = -1
		case a.Time < b.Time:
			want = 1
		case want == 0:
			want = -1
		}
		if got := bytes.Compare(AppendList(nil, a), AppendList(nil, b)); got != want {
			t.Fatalf("list keys %v and %v compare %d, want %d", a, b, got, want)
		}
	})
}

func TestPrefixEnd(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\x01\xff\xff": "a\x02", "\xff\xff": ""} {
		if got := PrefixEnd([]byte(in)); string(got) != want {
			t.Errorf("PrefixEnd(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	src := wire.NewSource("agents", "agents.agent.sessions", 7, 3, wire.RoleLane, wire.DialectAGDX)
	p := PartialKey{Stream: src.StreamID, Session: wire.ID{15: 1}, Source: src.Key()}
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{KeyIdentity, `store "f"`},
		{AppendSource(nil, IDOf(src)), "source meta "},
		{AppendLocal(nil, IDOf(src)), "local source state "},
		{AppendPartial(nil, p), "partial 00000000000000000000000001 in "},
		{AppendPack(nil, PackKey{PartialKey: p, First: 9}), "/0000000000000007/3 from offset 9"},
		{AppendBatch(nil, BatchKey{SourceID: IDOf(src), From: 8}), "/0000000000000007/3 from offset 8"},
		{AppendList(nil, ListKey{Stream: 1, Session: p.Session, Source: p.Source, Time: 5, Kind: EntryStart}), "list entry start of 00000000000000000000000001"},
		{[]byte("p too short"), "malformed key"},
		{[]byte("zebra"), "malformed key"},
		{nil, "empty key"},
	} {
		if got := Describe(c.key); !strings.Contains(got, c.want) {
			t.Errorf("Describe(%q) = %q, want it to contain %q", c.key, got, c.want)
		}
	}
}
