package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"testing"
)

func goldenID(last byte) ID { return ID{0: 1, 15: last} }

func goldenJSON(t *testing.T, v any, want string) {
	t.Helper()
	got, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("JSON\n got %s\nwant %s", got, want)
	}
}

// The least session: every required field is written, no optional one is.
func TestSessionInfoJSONLeast(t *testing.T) {
	goldenJSON(t, SessionInfo{Stream: "s", ID: goldenID(1), Status: "active"},
		`{"stream":"s","id":"01000000000000000000000001","status":"active","idle":false,"over_budget":false,`+
			`"pause_requested":false,"cancel_requested":false,"events":0,"model_calls":0,"tool_calls":0,`+
			`"tokens_in":0,"tokens_out":0,"cost_micros":0,"errors":0,"flags":{}}`)
}

func TestSessionInfoJSONFieldOrder(t *testing.T) {
	label, parent, started := "", goldenID(2), uint64(7)
	gen := uint64(1<<63 + 1)
	src := NewSource("s", "s.agent.sessions", gen, 3, RoleLane, DialectAGDX)
	f := NewSourceFrontier(src)
	f.Folded = new(uint64(0))
	info := SessionInfo{
		Stream: "s", ID: goldenID(1), Label: &label, Agent: "a", Parent: &parent, Status: "paused", StartedAt: &started,
		Budget: &Budget{CostMicros: new(uint64(0))}, SDK: &SDKInfo{Language: "go"}, Held: 2,
		Flags: SessionFlags{Overflow: true, TimesApproximate: true}, Frontier: []SourceFrontier{f},
		Dialect: "agdx", Agents: []string{"a"},
	}
	goldenJSON(t, info,
		`{"stream":"s","id":"01000000000000000000000001","label":"","agent":"a","parent":"01000000000000000000000002",`+
			`"status":"paused","idle":false,"over_budget":false,"pause_requested":false,"cancel_requested":false,`+
			`"started_at":7,"events":0,"model_calls":0,"tool_calls":0,"tokens_in":0,"tokens_out":0,"cost_micros":0,"errors":0,`+
			`"budget":{"cost_micros":0},"sdk":{"language":"go","version":""},"flags":{"overflow":true,"times_approximate":true},"held":2,`+
			`"frontier":[{"topic_id":2470056049,"topic_generation":9223372036854775809,"partition_id":3,"folded":0,`+
			`"topic":"s.agent.sessions","topic_generation_text":"9223372036854775809"}],`+
			`"dialect":"agdx","agents":["a"]}`)
}

func TestEventJSON(t *testing.T) {
	src := NewSource("s", "s.agent.sessions", 9, 3, RoleLane, DialectAGDX)
	loc := src.At(41).Locator()
	e := SessionEvent{
		At: src.At(42).Ref(goldenID(1)), Session: goldenID(1), BrokerTS: 5, Kind: "command", Operation: new("chat"),
		Display: "model.request", Agent: "a", Cause: &loc, AfterEnd: true,
		Summary: Summary{"size": uint64(3), "model": "<m>", "argument_keys": []string{"a", "b"}, "last": true},
		AtText:  src.PositionText(42), Topic: src.Topic, TopicGenerationText: GenerationText(9),
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		t.Fatal(err)
	}
	want := `{"at":{"Message":{"stream":817231016,"topic":2470056049,"partition":3,"offset":42,"conversation":"01000000000000000000000001","generation":9}},` +
		`"session":"01000000000000000000000001","broker_ts":5,"kind":"command","operation":"chat","display":"model.request","agent":"a",` +
		`"cause":[48,181,244,168,147,58,16,113,0,0,0,3,0,0,0,0,0,0,0,41],"after_end":true,` +
		`"summary":{"argument_keys":["a","b"],"last":true,"model":"<m>","size":3},` +
		`"at_text":"s.agent.sessions[3]@42","topic":"s.agent.sessions","topic_generation_text":"9"}` + "\n"
	if buf.String() != want {
		t.Errorf("JSON\n got %s\nwant %s", buf.String(), want)
	}
}

// Lists that the seed always writes are [] and never null.
func TestEmptyListsJSON(t *testing.T) {
	goldenJSON(t, SessionPage{}, `{"items":[],"truncated":false}`)
	goldenJSON(t, SessionEventsPage{}, `{"items":[],"fixed_frontier":false}`)
	goldenJSON(t, SessionLinksView{}, `{"links":[],"truncated":false}`)
	goldenJSON(t, SessionSources{Lane: &Lane{TopicID: 1, TopicGeneration: 2, Partitions: 3}}, `{"sources":[],"lane":[1,2,3]}`)
	goldenJSON(t, SessionChanges{Rows: List[SessionChangeRow]{{Seq: 1}}}, `{"rows":[{"seq":1,"sessions":[],"truncated":false}],"floor":0,"resync":false}`)
	goldenJSON(t, SessionStateView{}, `{"revision":0,"document":null,"complete":false}`)
}

func goldenCBOR(t *testing.T, v any, want string) {
	t.Helper()
	got, err := EncodeRead(v)
	if err != nil {
		t.Fatal(err)
	}
	if hex.EncodeToString(got) != want {
		t.Errorf("CBOR of %T\n got %x\nwant %s", v, got, want)
	}
}

// Written out by hand from RFC 8949 and the seed's field order.
func TestReadCBOR(t *testing.T) {
	goldenCBOR(t, SessionReply{Err: Errorf(ErrNotFound, "no")}, "a1"+"63"+hex.EncodeToString([]byte("Err"))+
		"a1"+"68"+hex.EncodeToString([]byte("NotFound"))+"62"+hex.EncodeToString([]byte("no")))
	goldenCBOR(t, SessionReply{Ok: Outcome(&SessionPage{Truncated: true})}, "a1"+"62"+hex.EncodeToString([]byte("Ok"))+
		"a1"+"64"+hex.EncodeToString([]byte("Page"))+
		"a2"+"65"+hex.EncodeToString([]byte("items"))+"80"+"69"+hex.EncodeToString([]byte("truncated"))+"f5")
	goldenCBOR(t, SessionGet{Stream: "s", ID: goldenID(1)}, "a2"+"66"+hex.EncodeToString([]byte("stream"))+"61"+"73"+
		"62"+hex.EncodeToString([]byte("id"))+"50"+"01000000000000000000000000000001")
	goldenCBOR(t, SessionSources{Lane: &Lane{TopicID: 1, TopicGeneration: 2, Partitions: 3}, LaneTopic: "additive"},
		"a2"+"67"+hex.EncodeToString([]byte("sources"))+"80"+"64"+hex.EncodeToString([]byte("lane"))+"83010203")
	// Additive fields and names of topics stay out of CBOR.
	f := NewSourceFrontier(&Source{Topic: "t", TopicID: 1, Generation: 2, Partition: 3})
	goldenCBOR(t, f, "a3"+"68"+hex.EncodeToString([]byte("topic_id"))+"01"+
		"70"+hex.EncodeToString([]byte("topic_generation"))+"02"+"6c"+hex.EncodeToString([]byte("partition_id"))+"03")
	goldenCBOR(t, Document(`{"b":[1,-1,1.5,null,"x"],"a":true}`), "a2"+"6161"+"f5"+"6162"+"8501"+"20"+"f93e00"+"f6"+"6178")
}
