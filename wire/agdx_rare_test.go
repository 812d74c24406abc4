package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ref(stream item, session item) item { return mp(tx("stream"), stream, tx("session"), session) }

func resource(session item) []byte {
	parts := []item{tx("surface"), tx("graph_node"), tx("resource"), tx("g"), tx("item"), tx("n1"), tx("relation"), tx("touched")}
	if session != nil {
		parts = append(parts, tx("session"), session)
	}
	return mp(parts...)
}

// TestRareFacts has every record that carries a link, a control request or a
// parking, and those that nearly do.
func TestRareFacts(t *testing.T) {
	other := testID(9)
	src := topicOf(RoleLane)
	node := Link{Session: testID(2), Surface: SurfaceGraphNode, Relation: RelationTouched, Resource: []byte("g"), Item: []byte("n1")}
	there := node
	there.Session = other
	m := func(op MemoryOp) []byte {
		return (&MemoryRecord{Op: op, ID: []byte("m1"), Kind: []byte("k")}).Marshal([]byte("b"))
	}
	mem := func(r LinkRelation, space, id string) *Rare {
		l := Link{Session: testID(2), Surface: SurfaceMemory, Relation: r, Item: []byte(id)}
		if space != "" {
			l.Resource = []byte(space)
		}
		return &Rare{Links: []Link{l}}
	}
	owner := Header{HeaderConversation, SessionKey(testID(2))}
	space := Header{HeaderMemorySpace, []byte("notes")}
	retrieved := []byte(`{"items":[["m1",0.5]]}`)
	park := SessionParking{Source: src.At(7), Role: []byte("a"), Request: []byte("12345678901234567890")}
	for _, c := range []struct {
		name    string
		role    Role
		value   []byte
		headers []Header
		want    *Rare
	}{
		{"pause", RoleControl, body(op(command(), OpSessionPause), []byte(`{"participants":["b","a","b"]}`)).Marshal(), nil, &Rare{Control: &Control{Op: ControlPause, Participants: [][]byte{[]byte("b"), []byte("a"), []byte("b")}}}},
		{"pause in no JSON", RoleControl, body(op(command(), OpSessionPause), []byte(`x`)).Marshal(), nil, &Rare{Control: &Control{Op: ControlPause}}},
		{"pause by no agent id", RoleControl, body(op(command(), OpSessionPause), []byte(`{"participants":["a",""]}`)).Marshal(), nil, &Rare{Control: &Control{Op: ControlPause}}},
		{"resume", RoleControl, op(command(), OpSessionResume).Marshal(), nil, &Rare{Control: &Control{Op: ControlResume}}},
		{"cancel", RoleControl, op(command(), OpSessionCancel).Marshal(), nil, &Rare{Control: &Control{Op: ControlCancel}}},
		{"force", RoleControl, op(command(), OpForceCancel).Marshal(), nil, &Rare{Control: &Control{Op: ControlCancel}}},
		{"pause elsewhere", RoleLane, op(command(), OpSessionPause).Marshal(), nil, nil},
		{"parked", RoleLane, body(op(event(), OpSessionParked), park.Marshal()).Marshal(), nil, &Rare{Parking: &Parking{SessionParking: park}}},
		{"unparked", RoleLane, user(body(op(event(), OpSessionUnparked), park.Marshal())).Marshal(), nil, &Rare{Parking: &Parking{SessionParking: park, Unparked: true}}},
		{"parked elsewhere", RoleAudit, body(op(event(), OpSessionParked), park.Marshal()).Marshal(), nil, nil},
		{"item", RoleMemory, m(MemoryItem), []Header{owner, space}, mem(RelationWrote, "notes", "m1")},
		{"forget", RoleMemory, m(MemoryForget), []Header{owner}, mem(RelationTouched, "", "m1")},
		{"feedback", RoleMemory, m(MemoryFeedback), []Header{owner}, mem(RelationTouched, "", "m1")},
		{"item of nobody", RoleMemory, m(MemoryItem), nil, nil},
		{"recalled", RoleLane, body(op(event(), OpContextRetrieved), retrieved).Marshal(), []Header{space}, mem(RelationRecalled, "notes", "m1")},
		{"recalled unreadably", RoleLane, body(op(event(), OpContextRetrieved), []byte(`{"items":[["m1"]]}`)).Marshal(), nil, nil},
		{"linked", RoleAudit, body(op(event(), OpResourceLink), resource(nil)).Marshal(), nil, &Rare{Links: []Link{node}}},
		{"linked by a user", RoleLane, user(body(op(event(), OpResourceLink), resource(nil))).Marshal(), nil, &Rare{Links: []Link{node}}},
		{"another session", RoleWork, body(op(event(), OpResourceLink), resource(ref(tx(src.Stream), bs(other[:])))).Marshal(), nil, &Rare{Links: []Link{there}}},
		{"by numbers", RoleWork, body(op(event(), OpResourceLink), resource(ref(un(uint64(src.StreamID)), tx(other.String())))).Marshal(), nil, &Rare{Links: []Link{there}}},
		{"another stream", RoleWork, body(op(event(), OpResourceLink), resource(ref(tx("else"), bs(other[:])))).Marshal(), nil, &Rare{LinkRefused: true}},
		{"another stream's number", RoleWork, body(op(event(), OpResourceLink), resource(ref(un(1), bs(other[:])))).Marshal(), nil, &Rare{LinkRefused: true}},
		{"half a session", RoleWork, body(op(event(), OpResourceLink), resource(mp(tx("stream"), tx(src.Stream)))).Marshal(), nil, nil},
		{"unknown surface", RoleLane, body(op(event(), OpResourceLink), []byte(`{"surface":"disk","resource":"","item":"i","relation":"wrote"}`)).Marshal(), nil, nil},
		{"unknown relation", RoleLane, body(op(event(), OpResourceLink), []byte(`{"surface":"kv","resource":"","item":"i","relation":"ate"}`)).Marshal(), nil, nil},
		{"no item", RoleLane, body(op(event(), OpResourceLink), []byte(`{"surface":"kv","resource":"","relation":"wrote"}`)).Marshal(), nil, nil},
		{"a command", RoleLane, body(op(command(), OpResourceLink), resource(nil)).Marshal(), nil, nil},
	} {
		rec := one(c.role, c.value, c.headers...)
		if rec.Display == DisplayInvalid || rec.Display == DisplayUndecodable {
			t.Errorf("%s: %s (%s)", c.name, rec.Display, rec.Reason)
		}
		if d := cmp.Diff(c.want, rec.Rare); d != "" {
			t.Errorf("%s: rare facts differ (-want +got):\n%s", c.name, d)
		}
	}
}

// TestLinksOfOneRecordLieTogether: the slab grows under the records of a batch
// and each keeps its own.
func TestLinksOfOneRecordLieTogether(t *testing.T) {
	var raws []Raw
	for n := range 40 {
		b := []byte(`{"items":[`)
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, `["`...), byte('a'+n%26), byte('a'+i%26)), `",1]`...)
		}
		e := body(op(event(), OpContextRetrieved), append(b, "]}"...))
		raws = append(raws, Raw{Offset: uint64(n), Value: e.Marshal()})
	}
	d := NewAGDXDecoder()
	for range 2 {
		for n, rec := range d.Decode(topicOf(RoleLane), raws) {
			var links []Link
			if rec.Rare != nil {
				links = rec.Rare.Links
			}
			if len(links) != n {
				t.Fatalf("record %d has %d links", n, len(links))
			}
			for i, l := range links {
				if want := string([]byte{byte('a' + n%26), byte('a' + i%26)}); string(l.Item) != want {
					t.Fatalf("record %d, link %d is %s, want %s", n, i, l.Item, want)
				}
			}
		}
	}
}

func TestLinkWords(t *testing.T) {
	for s := SurfaceChild; s < surfaceEnd; s++ {
		if got, ok := ParseSurface(s.String()); !ok || got != s {
			t.Errorf("surface %d reads back as %d", s, got)
		}
	}
	for r := RelationRecalled; r < relationEnd; r++ {
		if got, ok := ParseRelation([]byte(r.String())); !ok || got != r {
			t.Errorf("relation %d reads back as %d", r, got)
		}
	}
	if _, ok := ParseSurface(""); ok {
		t.Error("the empty word is a surface")
	}
}
