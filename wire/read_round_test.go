package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func drawPtr[T any](t *rapid.T, name string, g *rapid.Generator[T]) *T {
	if !rapid.Bool().Draw(t, name+"?") {
		return nil
	}
	v := g.Draw(t, name)
	return &v
}

func drawID(t *rapid.T, name string) (id ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name))
	return id
}

func drawSource(t *rapid.T) *Source {
	return NewSource("s", rapid.SampledFrom([]string{"s.agent.sessions", "s.agent.control"}).Draw(t, "topic"),
		rapid.Uint64().Draw(t, "generation"), rapid.Uint32().Draw(t, "partition"), RoleLane, DialectAGDX)
}

func drawFrontier(t *rapid.T) SourceFrontier {
	f := NewSourceFrontier(drawSource(t))
	u := rapid.Uint64()
	f.Folded, f.Head, f.RetainedFrom = drawPtr(t, "folded", u), drawPtr(t, "head", u), drawPtr(t, "retained", u)
	return f
}

func drawInfo(t *rapid.T) SessionInfo {
	u, s := rapid.Uint64(), rapid.String()
	i := SessionInfo{
		Stream: s.Draw(t, "stream"), ID: drawID(t, "id"), Label: drawPtr(t, "label", s), Namespace: drawPtr(t, "namespace", s),
		Agent: s.Draw(t, "agent"), Status: rapid.SampledFrom(statusNames[1:]).Draw(t, "status"), Idle: rapid.Bool().Draw(t, "idle"),
		StartedAt: drawPtr(t, "started", u), EndedAt: drawPtr(t, "ended", u), FirstEventAt: drawPtr(t, "first", u),
		LastEventAt: drawPtr(t, "last", u), Events: u.Draw(t, "events"), CostMicros: u.Draw(t, "cost"), Held: u.Draw(t, "held"),
		Flags: SessionFlags{Overflow: rapid.Bool().Draw(t, "overflow"), LaneConflict: rapid.Bool().Draw(t, "conflict")},
	}
	if rapid.Bool().Draw(t, "parent?") {
		p := drawID(t, "parent")
		i.Parent = &p
		i.Budget = &Budget{Tokens: drawPtr(t, "tokens", u), CostMicros: drawPtr(t, "micros", u)}
		i.SDK = &SDKInfo{Language: s.Draw(t, "language"), Version: s.Draw(t, "version")}
		i.Frontier = []SourceFrontier{drawFrontier(t)}
	}
	return i
}

func drawEvent(t *rapid.T) SessionEvent {
	s, src := rapid.String(), drawSource(t)
	e := SessionEvent{
		At: src.At(rapid.Uint64().Draw(t, "offset")).Ref(drawID(t, "conversation")), Session: drawID(t, "session"),
		BrokerTS: rapid.Uint64().Draw(t, "ts"), Kind: "event", Operation: drawPtr(t, "operation", s), Display: "agent.message",
		Agent: s.Draw(t, "agent"), Addressee: drawPtr(t, "addressee", s), Tool: drawPtr(t, "tool", s), AfterEnd: rapid.Bool().Draw(t, "after"),
	}
	if rapid.Bool().Draw(t, "more?") {
		l := src.At(7).Locator()
		c := drawID(t, "correlation")
		e.Cause, e.Correlation = &l, &c
		e.Usage = &TokenUsage{InputTokens: rapid.Uint64().Draw(t, "in"), CostMicros: drawPtr(t, "cost", rapid.Uint64())}
		e.Summary = Summary{
			"n": rapid.Uint64().Draw(t, "n"), "t": s.Draw(t, "t"), "b": rapid.Bool().Draw(t, "b"),
			"l": rapid.SliceOfN(s, 0, 3).Draw(t, "l"),
		}
	}
	return e
}

// Whatever is encoded decodes to the same value, in both encodings. CBOR has no
// additive fields, so a value that has been through CBOR once is compared.
func TestReadTypesRoundTrip(t *testing.T) {
	opts := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Lane{})}
	rapid.Check(t, func(t *rapid.T) {
		u, s := rapid.Uint64(), rapid.String()
		src := drawSource(t)
		checkBoth(t, opts, drawInfo(t))
		checkBoth(t, opts, SessionPage{
			Items: List[SessionInfo]{drawInfo(t)}, Cursor: s.Draw(t, "cursor"), Total: drawPtr(t, "total", u),
			Searched: drawPtr(t, "searched", u), Truncated: rapid.Bool().Draw(t, "truncated"),
		})
		checkBoth(t, opts, SessionEventsPage{
			Items: List[SessionEvent]{drawEvent(t)}, Ranges: []PayloadRange{NewPayloadRange(src, 1, 2)},
			Frontier: []SourceFrontier{drawFrontier(t)}, Gaps: []SourceGap{NewSourceGap(src, 3, u.Draw(t, "to"), "pruned")},
		})
		checkBoth(t, opts, SessionSources{
			Sources: List[SourceFrontier]{drawFrontier(t)},
			Lane:    &Lane{TopicID: src.TopicID, TopicGeneration: src.Generation, Partitions: src.Partition},
		})
		checkBoth(t, opts, SessionChanges{Rows: List[SessionChangeRow]{{
			Seq: u.Draw(t, "seq"), Sessions: List[ID]{drawID(t, "changed")}, Positions: []Locator{src.At(1).Locator()},
		}}, Floor: u.Draw(t, "floor")})
		d := Digest{0: 1, 31: 255}
		checkBoth(t, opts, SessionStateView{
			Revision: u.Draw(t, "revision"), Document: Document(`{"a":[1,-2,true,null,"x"]}`),
			History: []StateChange{{Outcome: "applied", At: src.At(2).Locator(), NewDigest: &d, OpID: drawPtr(t, "op", s)}},
		})
		checkBoth(t, opts, SessionLinksView{Links: List[SessionLink]{{
			Surface: "kv", Resource: s.Draw(t, "resource"), Relation: "wrote", First: src.At(1).Locator(), Last: src.At(2).Locator(),
		}}})
	})
}

func checkBoth[T any](t *rapid.T, opts cmp.Options, v T) {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	var fromJSON T
	if err := json.Unmarshal(b, &fromJSON); err != nil {
		t.Fatalf("%T from %s: %v", v, b, err)
	}
	if d := cmp.Diff(v, fromJSON, opts); d != "" {
		t.Fatalf("%T through JSON (-want +got):\n%s", v, d)
	}
	c, err := EncodeRead(v)
	if err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	var once, twice T
	if err := DecodeRead(c, &once); err != nil {
		t.Fatalf("%T from %x: %v", v, c, err)
	}
	again, err := EncodeRead(once)
	if err != nil || string(again) != string(c) {
		t.Fatalf("%T: CBOR changed on the way\n %x\n %x (%v)", v, c, again, err)
	}
	if err := DecodeRead(again, &twice); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(once, twice, opts); d != "" {
		t.Fatalf("%T through CBOR (-want +got):\n%s", v, d)
	}
}

func TestReplyRoundTrip(t *testing.T) {
	for k := ErrorKind(0); k < errorKindEnd; k++ {
		b, err := EncodeRead(SessionReply{Err: Errorf(k, "m")})
		if err != nil {
			t.Fatal(err)
		}
		var r SessionReply
		if err := DecodeRead(b, &r); err != nil || r.Ok != nil || r.Err == nil || r.Err.Kind != k || r.Err.Message != "m" {
			t.Errorf("%s: got %+v, %v", k, r, err)
		}
	}
}
