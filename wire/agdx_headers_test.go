package wire

import (
	"bytes"
	"testing"
)

func hdr(key string, value []byte) Header { return Header{Key: key, Value: value} }

func TestVersionHeader(t *testing.T) {
	for _, c := range []struct {
		value string
		ok    bool
	}{
		{"\x00\x00\x00\x01", true}, {"1", true}, {"01", true}, {"0001", true}, {"0000000001", true},
		{"\x00\x00\x00\x02", false}, {"2", false}, {"0011", false}, {"", false}, {"\x01", false}, {"v1", false},
		{"\x00\x00\x01", false}, {"\x01\x00\x00\x00", false}, {"00000000000000000000001", false}, {" 1", false},
	} {
		rec := one(RoleLane, event().Marshal(), hdr(HeaderVersion, []byte(c.value)))
		want := ""
		if !c.ok {
			want = ReasonVersion
		}
		if rec.Reason != want || (rec.Display == DisplayInvalid) != (want != "") {
			t.Errorf("version %q: %s, reason %q, want %q", c.value, rec.Display, rec.Reason, want)
		}
	}
}

func TestHeadersAgainstTheEnvelope(t *testing.T) {
	same, other := testID(2), testID(77)
	for _, c := range []struct {
		name string
		hs   []Header
		want string
	}{
		{"none", nil, ""},
		{"all as the producer writes them", event().SetParent(testID(8)).SetRoot(testID(9)).Headers(ContentJSON), ""},
		{"conversation as text", []Header{hdr(HeaderConversation, SessionKey(same))}, ""},
		{"conversation in lower case", []Header{hdr(HeaderConversation, bytes.ToLower(SessionKey(same)))}, ""},
		{"conversation raw", []Header{hdr(HeaderConversation, same[:])}, ""},
		{"another conversation", []Header{hdr(HeaderConversation, SessionKey(other))}, ReasonConversationHeader},
		{"another conversation raw", []Header{hdr(HeaderConversation, other[:])}, ReasonConversationHeader},
		{"a conversation that does not parse", []Header{hdr(HeaderConversation, []byte("trip"))}, ""},
		{"an empty conversation", []Header{hdr(HeaderConversation, nil)}, ""},
		{"agent", []Header{hdr(HeaderAgent, []byte("a"))}, ""},
		{"another agent", []Header{hdr(HeaderAgent, []byte("b"))}, ReasonAgentHeader},
		{"an agent that does not parse", []Header{hdr(HeaderAgent, []byte("b\n"))}, ""},
		{"an agent that is no UTF-8", []Header{hdr(HeaderAgent, []byte{0xff})}, ""},
		{"an empty agent", []Header{hdr(HeaderAgent, nil)}, ""},
		{"another parent is not compared", []Header{hdr(HeaderParent, SessionKey(other))}, ""},
		{"another root is not compared", []Header{hdr(HeaderRoot, SessionKey(other))}, ""},
		{"another addressee is not compared", []Header{hdr(HeaderTarget, []byte("b"))}, ""},
		{"the last one that parses counts", []Header{hdr(HeaderConversation, other[:]), hdr(HeaderConversation, same[:]), hdr(HeaderConversation, nil)}, ""},
	} {
		rec := one(RoleLane, event().Marshal(), c.hs...)
		if rec.Reason != c.want {
			t.Errorf("%s: reason %q, want %q", c.name, rec.Reason, c.want)
		}
		if rec.Session != same || !rec.HasSession {
			t.Errorf("%s: session %s; the envelope says who it is", c.name, rec.Session)
		}
	}
}

func TestSessionOfAnUndecodableRecord(t *testing.T) {
	head, key := testID(1), testID(2)
	for _, c := range []struct {
		name   string
		role   Role
		header []byte
		key    []byte
		want   ID
		has    bool
	}{
		{"header", RoleLane, SessionKey(head), SessionKey(key), head, true},
		{"header raw", RoleLane, head[:], nil, head, true},
		{"key", RoleLane, nil, SessionKey(key), key, true},
		{"key in lower case", RoleWork, nil, bytes.ToLower(SessionKey(key)), key, true},
		{"header that does not parse", RoleLane, []byte("x"), SessionKey(key), key, true},
		{"neither", RoleLane, nil, nil, ID{}, false},
		{"key that is no id", RoleLane, nil, []byte("trip"), ID{}, false},
		{"key of the zero id", RoleLane, nil, SessionKey(ID{}), ID{}, true},
		{"dead letter", RoleDeadLetters, nil, SessionKey(key), key, true},
		{"memory: header", RoleMemory, SessionKey(head), SessionKey(key), head, true},
		{"memory: never the key", RoleMemory, nil, SessionKey(key), ID{}, false},
	} {
		for _, value := range [][]byte{nil, []byte("garbage")} {
			raw := Raw{Key: c.key, Value: value}
			if c.header != nil {
				raw.Headers = []Header{hdr(HeaderConversation, c.header)}
			}
			d := NewAGDXDecoder()
			rec := d.Decode(topicOf(c.role), []Raw{raw})[0]
			if rec.Session != c.want || rec.HasSession != c.has || rec.Display != DisplayUndecodable || rec.Kind != KindUndecodable {
				t.Errorf("%s: session %s, %v, %s", c.name, rec.Session, rec.HasSession, rec.Display)
			}
			if want := map[bool]string{true: "null_value", false: "field_type"}[value == nil]; rec.Reason != want {
				t.Errorf("%s: reason %q, want %q", c.name, rec.Reason, want)
			}
		}
	}
}

func TestMemoryRecords(t *testing.T) {
	head, own := testID(1), testID(2)
	forget := &MemoryRecord{Op: MemoryForget, ID: []byte("m1"), HasConversation: true, Conversation: own}
	item16 := mp(tx("Item"), mp(tx("id"), bs(make([]byte, 16)), tx("kind"), tx("fact"), tx("body"), item{0x83, 1, 2, 3}, tx("origin"), mp(), tx("producer"), item{0xf6}))
	for _, c := range []struct {
		name    string
		value   []byte
		header  []byte
		want    ID
		has     bool
		display Display
		refs    string
	}{
		{"item", (&MemoryRecord{Op: MemoryItem, ID: []byte("m1"), Kind: []byte("fact")}).Marshal([]byte("x")), SessionKey(head), head, true, DisplayMemoryCreated, "m1"},
		{"item without session", (&MemoryRecord{Op: MemoryItem, ID: []byte("m1"), Kind: []byte("fact")}).Marshal(nil), nil, ID{}, false, DisplayMemoryCreated, "m1"},
		{"item with a raw id and a body in numbers", item16, SessionKey(head), head, true, DisplayMemoryCreated, "00000000000000000000000000"},
		{"forget", forget.Marshal(nil), nil, own, true, DisplayMemoryForgotten, "m1"},
		{"forget, header agrees", forget.Marshal(nil), SessionKey(own), own, true, DisplayMemoryForgotten, "m1"},
		{"forget, header disagrees", forget.Marshal(nil), SessionKey(head), head, true, DisplayInvalid, ""},
		{"feedback with a raw conversation", mp(tx("Feedback"), mp(tx("target"), tx("m1"), tx("weight"), item{0xf9, 0x3e, 0}, tx("conversation"), bs(own[:]))), nil, own, true, DisplayMemoryFeedback, "m1"},
		{"feedback with a whole weight", mp(tx("Feedback"), mp(tx("target"), tx("m1"), tx("weight"), un(2), tx("conversation"), item{0xf6})), SessionKey(head), head, true, DisplayMemoryFeedback, "m1"},
		{"an item has no conversation field", mp(tx("Item"), mp(tx("id"), tx("m1"), tx("kind"), tx("k"), tx("body"), bs(nil), tx("conversation"), un(1))), nil, ID{}, false, DisplayMemoryCreated, "m1"},
		{"feedback without weight", mp(tx("Feedback"), mp(tx("target"), tx("m1"))), SessionKey(head), head, true, DisplayUndecodable, ""},
		{"two tags", mp(tx("Forget"), mp(tx("target"), tx("a")), tx("Forget"), mp(tx("target"), tx("b"))), nil, ID{}, false, DisplayUndecodable, ""},
		{"no tag", mp(), nil, ID{}, false, DisplayUndecodable, ""},
		{"another tag", mp(tx("Merge"), mp(tx("target"), tx("a"))), nil, ID{}, false, DisplayUndecodable, ""},
		{"conversation that is no id", mp(tx("Forget"), mp(tx("target"), tx("a"), tx("conversation"), tx("trip"))), nil, ID{}, false, DisplayUndecodable, ""},
		{"unit variant", tx("Forget"), nil, ID{}, false, DisplayUndecodable, ""},
	} {
		hs := []Header{hdr(HeaderAgent, []byte("writer")), hdr(HeaderMemorySpace, []byte("notes"))}
		if c.header != nil {
			hs = append(hs, hdr(HeaderConversation, c.header))
		}
		rec := one(RoleMemory, c.value, hs...)
		if rec.Display != c.display || rec.Session != c.want || rec.HasSession != c.has {
			t.Errorf("%s: %s (%s), session %s, %v", c.name, rec.Display, rec.Reason, rec.Session, rec.HasSession)
		}
		good := c.refs != ""
		if (rec.Facts == FactAuthor) != good || good && string(rec.Agent) != "writer" {
			t.Errorf("%s: facts %b, agent %q", c.name, rec.Facts, rec.Agent)
		}
		if good {
			if it := find(rec, SumRefs); it == nil || len(it.List) != 1 || string(it.List[0]) != c.refs {
				t.Errorf("%s: refs %+v, want %q", c.name, it, c.refs)
			}
		}
	}
}

func TestDeadLetterSession(t *testing.T) {
	head, key := testID(10), testID(11)
	capsule := func(payload []byte) []byte {
		return (&DeadLetter{Source: make([]byte, 20), Payload: payload}).Marshal()
	}
	for _, c := range []struct {
		name        string
		payload     []byte
		header, key []byte
		want        ID
		has         bool
	}{
		{"payload", event().Marshal(), SessionKey(head), SessionKey(key), testID(2), true},
		{"an invalid payload still names its session", with(event(), func(e *Envelope) { e.Body = nil }).Marshal(), SessionKey(head), nil, testID(2), true},
		{"header", []byte("?"), SessionKey(head), SessionKey(key), head, true},
		{"key", []byte("?"), nil, SessionKey(key), key, true},
		{"none", []byte("?"), nil, nil, ID{}, false},
	} {
		raw := Raw{Key: c.key, Value: capsule(c.payload)}
		if c.header != nil {
			raw.Headers = []Header{hdr(HeaderConversation, c.header)}
		}
		d := NewAGDXDecoder()
		rec := d.Decode(topicOf(RoleDeadLetters), []Raw{raw})[0]
		if rec.Session != c.want || rec.HasSession != c.has || rec.Display != DisplayDeadLetter || rec.Facts != FactError || rec.Agent != nil {
			t.Errorf("%s: %+v", c.name, rec)
		}
	}
}

func TestContentTypeNames(t *testing.T) {
	for c, want := range map[ContentType]string{0: "raw", 1: "json", 2: "msgpack", 3: "cbor", 4: "bson", 5: "avro", 6: "protobuf", 7: "arrow", 8: "ref", 9: "unrecognized", 254: "unrecognized", 255: "any"} {
		if c.String() != want {
			t.Errorf("content type %d is %q, want %q", c, c, want)
		}
	}
}

func TestTaskStates(t *testing.T) {
	for s := range TaskState(255) {
		if want := s >= 4 && s <= 7; s.Terminal() != want {
			t.Errorf("state %d: terminal %v", s, s.Terminal())
		}
		if named := s.String() != "unrecognized"; named != (s >= 1 && s <= 10) {
			t.Errorf("state %d is %q", s, s)
		}
	}
}
