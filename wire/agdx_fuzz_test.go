package wire

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fuzzSeeds are values of every kind and role.
func fuzzSeeds() [][]byte {
	full := op(command(), OpExecuteTool).SetParent(testID(8)).SetRoot(testID(9)).SetCause(testID(7)).SetDeadline(1).AddMeta("k", "v").AddMetaUint("n", 3)
	full.Target, full.Tool, full.CauseAt, full.IdempotencyKey = []byte("b"), []byte("t"), make([]byte, 20), []byte("i")
	full.Metadata = append(full.Metadata, metaList(MetaValue{Type: MetaNegative, Num: 1}, MetaValue{Type: MetaFloat, Float: 0.1}, MetaValue{Type: MetaBool, Num: 1})...)
	full.SetSignature(Signature{Scheme: 1, KeyID: long(8), Bytes: long(64), HasContext: true, HasVersion: true, Version: 1, HasContentType: true, ContentType: 3})
	usage := TokenCounts{Input: 1, Output: 2, Cost: 3, Reasoning: 4, CacheRead: 5, CacheCreation: 6, Has: HasCost | HasCacheRead | HasCacheWrite | HasReasoning}
	return [][]byte{
		nil, full.Marshal(), op(response(), OpChat).SetUsage(usage).SetTaskState(TaskCompleted).Marshal(),
		firstChunk().Marshal(), lastChunk().Marshal(), task().Marshal(), failure().Marshal(),
		session(TaskWorking, fullStart().Marshal()).SetParent(testID(8)).SetRoot(testID(9)).Marshal(),
		session(TaskPaused, transition).Marshal(), session(TaskFailed, endBody).Marshal(),
		body(op(event(), OpSessionParked), parking().Marshal()).Marshal(),
		body(op(event(), OpContextRetrieved), []byte(`{"items":[["m",0.5]]}`)).Marshal(),
		body(op(event(), OpResourceLink), link("kv")).Marshal(),
		body(status(OpProgress), (&Heartbeat{Process: []byte("p"), Stream: []byte("s"), Sessions: []ID{testID(1)}}).Marshal()).Marshal(),
		(&MemoryRecord{Op: MemoryItem, ID: []byte("m"), Kind: []byte("k")}).Marshal([]byte("x")),
		(&MemoryRecord{Op: MemoryFeedback, ID: []byte("m"), Weight: 1.5, HasConversation: true}).Marshal(nil),
		(&DeadLetter{Source: make([]byte, 20), Payload: event().Marshal()}).Marshal(),
		plus(tx("metadata"), mp(tx("a"), item{0xf6})), plus(tx("x"), item{0x7f, 0x61, 'a', 0xff}),
	}
}

// cleanEnvelope compares what an envelope says: not its memory, nor floats that
// are no number.
var cleanEnvelope = cmp.Options{
	cmpopts.IgnoreFields(Envelope{}, "metaFault", "metaBuf"), cmpopts.EquateNaNs(),
}

// FuzzEnvelope: what decodes encodes to bytes that decode to the same, and the
// second encoding is the first.
func FuzzEnvelope(f *testing.F) {
	for _, b := range fuzzSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEnvelope(b)
		if err != nil {
			if _, ok := err.(Undecodable); !ok {
				t.Fatalf("%x: %T is no reason: %v", b, err, err)
			}
			return
		}
		invalid := e.Validate()
		if e.metaFault != "" {
			if invalid == nil {
				t.Fatalf("%x: metadata is at fault and the record valid", b)
			}
			return // it is not kept whole, so it cannot be written again
		}
		again := e.Marshal()
		back, err := DecodeEnvelope(again)
		if err != nil {
			t.Fatalf("%x becomes %x: %v", b, again, err)
		}
		if len(e.Body) == 0 {
			e.Body, back.Body = nil, nil // empty is absent
		}
		if diff := cmp.Diff(e, back, cleanEnvelope); diff != "" {
			t.Fatalf("%x becomes %x:\n%s", b, again, diff)
		}
		if third := back.Marshal(); !bytes.Equal(again, third) {
			t.Fatalf("%x, then %x", again, third)
		}
		if got := back.Validate(); got != invalid {
			t.Fatalf("%x: %v, written again %v", b, invalid, got)
		}
	})
}

// FuzzDecoder: one record per raw record, whatever the bytes, for every role,
// and the same whatever was decoded before.
func FuzzDecoder(f *testing.F) {
	for _, b := range fuzzSeeds() {
		f.Add(b, []byte("1"), SessionKey(testID(2)), []byte("a"), SessionKey(testID(2)))
	}
	signed := event().SignAs(rfcKey(0), ContentJSON).Marshal()
	f.Add(signed, []byte("1"), SessionKey(testID(2)), []byte("a"), SessionKey(testID(2)))
	keys := rfcKeys(f)
	decoder := func() Decoder { return NewAGDXVerifier(func() *Keys { return keys }) }
	used := decoder()
	f.Fuzz(func(t *testing.T, value, version, conversation, agent, key []byte) {
		raw := []Raw{
			{Offset: 1, Timestamp: -5, Key: key, Value: value},
			{Offset: 2, Timestamp: 7, Key: key, Value: value, Headers: []Header{hdr(HeaderVersion, version), hdr(HeaderConversation, conversation), hdr(HeaderAgent, agent), hdr(HeaderContentType, version)}},
			{Offset: 3, Timestamp: 7, Value: nil},
		}
		for role := RoleNone; role <= RoleHeartbeats; role++ {
			src := topicOf(role)
			recs := used.Decode(src, raw)
			if len(recs) != len(raw) {
				t.Fatalf("%d records in, %d out", len(raw), len(recs))
			}
			for i := range recs {
				checkRecord(t, role, &raw[i], &recs[i])
			}
			fresh := decoder().Decode(src, raw)
			if reflect.DeepEqual(fresh, recs) {
				continue // cmp takes a hundred times as long
			}
			if diff := cmp.Diff(fresh, recs, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: a used decoder says something else:\n%s", role, diff)
			}
		}
	})
}

// checkRecord holds a record against what must be true of every one.
func checkRecord(t *testing.T, role Role, raw *Raw, rec *Record) {
	t.Helper()
	bad := rec.Display == DisplayUndecodable || rec.Display == DisplayInvalid
	switch {
	case rec.Offset != raw.Offset:
		t.Fatalf("offset %d became %d", raw.Offset, rec.Offset)
	case bad != (rec.Reason != ""):
		t.Fatalf("%s: %s with reason %q", role, rec.Display, rec.Reason)
	case bad && (rec.Facts&^FactHeartbeat != 0 || rec.Usage != nil || rec.Lifecycle != nil || rec.Summary != nil || rec.HasParent || rec.HasRoot):
		t.Fatalf("%s: a record that is %s says %+v", role, rec.Display, rec)
	case role == RoleHeartbeats != (rec.Facts&FactHeartbeat != 0) || role == RoleHeartbeats && (rec.HasSession || rec.Facts != FactHeartbeat):
		t.Fatalf("%s: facts %b", role, rec.Facts)
	case rec.Facts&FactUsage != 0 != (rec.Usage != nil) || rec.Facts&FactUnpriced != 0 && rec.Usage == nil:
		t.Fatalf("%s: facts %b with usage %+v", role, rec.Facts, rec.Usage)
	case rec.Facts&FactAuthor != 0 && len(rec.Agent) == 0:
		t.Fatalf("%s: an author without a name", role)
	case rec.Lifecycle != nil && role != RoleLane && !(role == RoleControl && rec.Lifecycle.Forced):
		t.Fatalf("%s: a lifecycle statement counts", role)
	case rec.Facts&FactLane != 0 && role != RoleLane:
		t.Fatalf("%s: a lane record", role)
	}
	for i := 1; i < len(rec.Summary); i++ {
		if rec.Summary[i-1].Key >= rec.Summary[i].Key {
			t.Fatalf("%s: summary keys %s, %s", rec.Display, rec.Summary[i-1].Key, rec.Summary[i].Key)
		}
	}
}

// FuzzBodies: every body that decodes is written to bytes that mean the same.
func FuzzBodies(f *testing.F) {
	for _, b := range append(fuzzSeeds(), fullStart().Marshal(), transition, endBody, parking().Marshal(), (&ErrorBody{Detail: mp()}).Marshal(),
		(&Heartbeat{Process: []byte("p"), Stream: []byte("s"), Sessions: []ID{{}}}).Marshal(), (&Signature{}).Append(nil)) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		stable(t, b, DecodeSessionStart, (*SessionStart).Marshal)
		stable(t, b, DecodeSessionTransition, (*SessionTransition).Marshal)
		stable(t, b, DecodeSessionEnd, (*SessionEnd).Marshal)
		stable(t, b, DecodeErrorBody, (*ErrorBody).Marshal)
		stable(t, b, DecodeSessionParking, (*SessionParking).Marshal)
		stable(t, b, DecodeHeartbeat, (*Heartbeat).Marshal)
		stable(t, b, DecodeDeadLetter, (*DeadLetter).Marshal)
		stable(t, b, DecodeSignature, func(g *Signature) []byte { return g.Append(nil) })
		stable(t, b, DecodeMemory, func(m *MemoryRecord) []byte { return m.Marshal(make([]byte, m.Size)) })
	})
}

func stable[T any](t *testing.T, b []byte, decode func([]byte) (T, error), encode func(*T) []byte) {
	t.Helper()
	v, err := decode(b)
	if err != nil {
		if _, ok := err.(Undecodable); !ok {
			t.Fatalf("%T of %x: %T is no reason: %v", v, b, err, err)
		}
		return
	}
	again := encode(&v)
	back, err := decode(again)
	if err != nil {
		t.Fatalf("%T of %x becomes %x: %v", v, b, again, err)
	}
	if diff := cmp.Diff(v, back, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%x becomes %x:\n%s", b, again, diff)
	}
	if third := encode(&back); !bytes.Equal(again, third) {
		t.Fatalf("%x, then %x", again, third)
	}
}
