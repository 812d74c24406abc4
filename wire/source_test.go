package wire

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNameID(t *testing.T) {
	// The check value of CRC-32C, from its definition.
	if got := NameID("123456789"); got != 0xe3069283 {
		t.Errorf("NameID is %#x: not CRC-32C", got)
	}
	if NameID("") != 0 {
		t.Error("the empty name has a number")
	}
}

func TestRoles(t *testing.T) {
	for topic, want := range map[string]Role{
		"s.agent.sessions": RoleLane, "s.agent.streams": RoleChunks, "s.agent.control": RoleControl, "s.agent.memory": RoleMemory,
		"s.agent.dlq": RoleDeadLetters, "s.agent.audit": RoleAudit, "s.agent.workflow_journal": RoleJournal, "s.agent.heartbeats": RoleHeartbeats,
		"s.agent.other": RoleNone, "s.x.agent.sessions": RoleNone, "agent.sessions": RoleNone, "t.agent.sessions": RoleNone,
		"s": RoleNone, "s.": RoleNone, "": RoleNone, "S.agent.sessions": RoleNone, "sagent.sessions": RoleNone,
	} {
		if got := RoleOf("s", topic); got != want {
			t.Errorf("RoleOf(s, %q) = %s, want %s", topic, got, want)
		}
	}
	if got := RoleOf("a.b", "a.b.agent.dlq"); got != RoleDeadLetters {
		t.Errorf("a stream with a dot in its name: %s", got)
	}
	topics := TopicsOf("s")
	if len(topics) != 8 {
		t.Errorf("%d topics", len(topics))
	}
	for _, x := range topics {
		if x.Role == RoleNone || RoleOf("s", x.Topic) != x.Role {
			t.Errorf("%s has the roles %s and %s", x.Topic, x.Role, RoleOf("s", x.Topic))
		}
	}
	if Role(200).String() != "none" || Dialect(9).String() != "unknown" {
		t.Error("a number without a name has one")
	}
}

func TestLocator(t *testing.T) {
	p := Pos{Stream: 0x01020304, Topic: 0x05060708, Generation: 99, Partition: 0x090a0b0c, Offset: 0x0d0e0f1011121314}
	l := p.Locator()
	if got := hex.EncodeToString(l[:]); got != "0102030405060708090a0b0c0d0e0f1011121314" {
		t.Errorf("the locator is %s: stream, topic, partition and offset, big-endian", got)
	}
	back, ok := ParseLocator(l[:])
	p.Generation = 0
	if !ok || back != p {
		t.Errorf("reads back as %+v, %v; it has no generation", back, ok)
	}
	for _, n := range []int{0, 19, 21, 28} {
		if _, ok := ParseLocator(make([]byte, n)); ok {
			t.Errorf("%d bytes are read as a locator", n)
		}
	}
	src := NewSource("agents", "agents.agent.sessions", 7, 3, RoleLane, DialectAGDX)
	if at := src.At(42); at != (Pos{Stream: NameID("agents"), Topic: NameID("agents.agent.sessions"), Generation: 7, Partition: 3, Offset: 42}) {
		t.Errorf("At gives %+v", at)
	}
	if src.String() != "agents.agent.sessions[3]" {
		t.Errorf("the source is called %s", src)
	}
}

func TestSourceKey(t *testing.T) {
	seen := map[SourceKey]bool{}
	for _, s := range []*Source{
		NewSource("s", "a", 1, 0, RoleLane, DialectAGDX), NewSource("s", "a", 1, 1, RoleLane, DialectAGDX),
		NewSource("s", "a", 2, 0, RoleLane, DialectAGDX), NewSource("s", "b", 1, 0, RoleLane, DialectAGDX),
	} {
		if seen[s.Key()] {
			t.Errorf("%s shares its key", s)
		}
		seen[s.Key()] = true
	}
	uuid := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	if g := GenerationOf(uuid); g != 0x0102030405060708 {
		t.Errorf("generation is %#x: the first 8 bytes, big-endian", g)
	}
	k := NewSource("s", "123456789", GenerationOf(uuid), 0x0a0b0c0d, RoleLane, DialectAGDX).Key()
	if got := hex.EncodeToString(k[:]); got != "e306928301020304050607080a0b0c0d" {
		t.Errorf("key is %s", got)
	}
}

// TestAddressOrder walks a list in ascending order: each field decides where
// all before it agree.
func TestAddressOrder(t *testing.T) {
	want := []Address{
		{},
		{Generation: 1},
		{Offset: 1},
		{Partition: 1},
		{Partition: 1, Offset: 1},
		{Topic: "a"},
		{Topic: "a.b", Offset: 0},
		{Topic: "b"},
		{Topic: "é"}, // by bytes: behind all ASCII
		{Time: 1},
		{Time: 1, Topic: "B"},
		{Time: 1, Topic: "a", Partition: 9, Offset: 9, Generation: 9},
		{Time: 2},
	}
	for i, a := range want {
		for j, b := range want {
			sign := 0
			if i < j {
				sign = -1
			} else if i > j {
				sign = 1
			}
			if got := a.Compare(b); got != sign {
				t.Errorf("Compare(%+v, %+v) = %d, want %d", a, b, got, sign)
			}
		}
	}
	got := slices.Clone(want)
	rng := rand.New(rand.NewPCG(3, 4))
	rng.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, Address.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted as %+v", got)
	}
}
