package wire

import (
	"testing"

	"github.com/fxamacker/cbor/v2"
)

func benchID(n byte) ID { return ID{0: 1, 1: 0x90, 15: n} }

// benchNote is an ordinary event of about 210 bytes.
func benchNote() *Envelope {
	e := &Envelope{Kind: KindEvent, Conversation: benchID(2), Source: []byte("planner-agent"), Operation: []byte("note"),
		Body: []byte(`{"observed":"the user paid the invoice and asked for a copy of it"}`)}
	return e.SetRecord(benchID(1)).SetCorrelation(benchID(3))
}

// benchTool is a tool call with its arguments in JSON.
func benchTool() *Envelope {
	e := &Envelope{Kind: KindCommand, Conversation: benchID(2), Source: []byte("planner-agent"), Target: []byte("search"),
		Operation: []byte(OpExecuteTool), Tool: []byte("web_search"),
		Body: []byte(`{"query":"cheap flights to Lisbon in May","limit":20,"filters":{"stops":0,"bags":[1,2]},"currency":"EUR"}`)}
	return e.SetRecord(benchID(1)).SetCorrelation(benchID(3)).AddMeta(MetaRequestModel, "model-1")
}

// benchModel is a model's answer with usage and metadata.
func benchModel() *Envelope {
	e := &Envelope{Kind: KindResponse, Conversation: benchID(2), Source: []byte("planner-agent"), Operation: []byte(OpChat),
		FinishReason: []byte("stop"), Body: []byte(`{"text":"Here are three flights that fit."}`)}
	e.SetRecord(benchID(1)).SetCorrelation(benchID(3)).AddMeta(MetaResponseModel, "model-1-2026").AddMeta(MetaProvider, "acme")
	return e.AddMetaUint(MetaDuration, 812_345).SetUsage(TokenCounts{Input: 1200, Output: 310, CacheRead: 900, Cost: 4120, Has: HasCacheRead | HasCost})
}

func benchSource() *Source {
	return NewSource("agents", "agents.agent.sessions", 7, 0, RoleLane, DialectAGDX)
}

// benchDecode decodes batches of 1,000 copies and reports the time of one.
func benchDecode(b *testing.B, e *Envelope) {
	const batch = 1000
	if err := e.Validate(); err != nil {
		b.Fatal(err)
	}
	value := e.Marshal()
	raw := make([]Raw, batch)
	for i := range raw {
		raw[i] = Raw{Offset: uint64(i), Timestamp: 1_700_000_000_000, Key: SessionKey(e.Conversation), Value: value, Headers: e.Headers(ContentJSON)}
	}
	d, src := NewAGDXDecoder(), benchSource()
	if rec := d.Decode(src, raw)[0]; rec.Display == DisplayUndecodable || rec.Display == DisplayInvalid {
		b.Fatalf("the record is %s: %s", rec.Display, rec.Reason)
	}
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += batch {
		d.Decode(src, raw[:min(batch, b.N-n)])
	}
}

func BenchmarkDecodeNote(b *testing.B)  { benchDecode(b, benchNote()) }
func BenchmarkDecodeTool(b *testing.B)  { benchDecode(b, benchTool()) }
func BenchmarkDecodeModel(b *testing.B) { benchDecode(b, benchModel()) }

func BenchmarkDecodeStart(b *testing.B) {
	s := &SessionStart{Label: []byte("plan a trip"), HasLabel: true, Agent: []byte("planner-agent"),
		SDKLanguage: []byte("go"), SDKVersion: []byte("1.4.0"), Tags: [][]byte{[]byte("travel")}}
	e := &Envelope{Kind: KindStatus, Conversation: benchID(2), Source: []byte("planner-agent"), Operation: []byte(OpSession), Body: s.Marshal()}
	benchDecode(b, e.SetRecord(benchID(1)).SetTaskState(TaskWorking))
}

// BenchmarkEnvelopeScanner and BenchmarkEnvelopeFxamacker read the same
// envelope into a struct: the hand-written scanner must stay worth its lines.
func BenchmarkEnvelopeScanner(b *testing.B) {
	value := benchNote().Marshal()
	b.ReportAllocs()
	for b.Loop() {
		var e Envelope
		if err := e.decode(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEnvelopeFxamacker(b *testing.B) {
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxNestedLevels: maxCBORNesting}.DecMode()
	if err != nil {
		b.Fatal(err)
	}
	value := benchNote().Marshal()
	b.ReportAllocs()
	for b.Loop() {
		var e struct {
			Kind         string `cbor:"kind"`
			Record       []byte `cbor:"record"`
			Conversation []byte `cbor:"conversation"`
			Source       string `cbor:"source"`
			Correlation  []byte `cbor:"correlation"`
			Operation    string `cbor:"operation"`
			Body         []byte `cbor:"body"`
		}
		if err := mode.Unmarshal(value, &e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEnvelopeAppend(b *testing.B) {
	e, buf := benchNote(), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		buf = e.Append(buf[:0])
	}
}
