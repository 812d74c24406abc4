package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// find gives the entry of a summary.
func find(rec *Record, k SummaryKey) *SummaryItem {
	for i := range rec.Summary {
		if rec.Summary[i].Key == k {
			return &rec.Summary[i]
		}
	}
	return nil
}

// printed writes a summary as "key=value" in its order.
func printed(rec *Record) string {
	var out []string
	for _, it := range rec.Summary {
		v := ""
		switch it.Type {
		case SumNumber:
			v = fmt.Sprint(it.Num)
		case SumText:
			v = string(it.Text)
		case SumBool:
			v = fmt.Sprint(it.Num == 1)
		case SumBytes:
			v = hex.EncodeToString(it.Text)
		case SumList:
			v = "[" + joined(it.List) + "]"
		}
		out = append(out, it.Key.String()+"="+v)
	}
	return strings.Join(out, " ")
}

func joined(list [][]byte) string {
	var out []string
	for _, b := range list {
		out = append(out, string(b))
	}
	return strings.Join(out, ",")
}

func digest(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }

func TestSummaries(t *testing.T) {
	const secret = "SECRET"
	args := `{"query":"` + secret + `","limit":5,"deep":{"inner":"` + secret + `"},"` + `\u0061b":[1,{"x":2}],"limit":6}`
	cborArgs := string(mp(tx("z"), tx(secret), tx("a"), mp(tx("inner"), tx(secret))))
	errBody := (&ErrorBody{Code: 6, Message: []byte(secret), Retryable: true, Detail: mp(tx("k"), tx(secret))}).Marshal()
	endFailed := (&SessionEnd{Reason: []byte(secret), HasError: true, Error: ErrorBody{Code: 3, Message: []byte(secret)}}).Marshal()
	message := mp(tx("Message"), mp(tx("stream"), un(1), tx("topic"), un(2), tx("partition"), un(3), tx("offset"), un(4)))
	jsonHeader, refHeader := hdr(HeaderContentType, []byte{1}), hdr(HeaderContentType, []byte{8})
	for _, c := range []struct {
		name  string
		role  Role
		value []byte
		hs    []Header
		want  string
	}{
		{"plain event", RoleLane, body(event(), []byte(secret)).Marshal(), nil, ""},
		{"user message", RoleLane, body(user(op(command(), OpChat)), []byte(secret)).Marshal(), nil, ""},
		{"tool call in JSON", RoleLane, body(op(command(), OpExecuteTool), []byte(args)).Marshal(), []Header{jsonHeader},
			"argument_keys=[ab,deep,limit,query] sha256=" + digest(args) + " size=" + fmt.Sprint(len(args))},
		{"tool call in JSON by its first byte", RoleLane, body(op(command(), OpExecuteTool), []byte(`{"k":"v"}`)).Marshal(), nil,
			"argument_keys=[k] sha256=" + digest(`{"k":"v"}`) + " size=9"},
		{"tool call in CBOR", RoleLane, body(op(command(), OpExecuteTool), []byte(cborArgs)).Marshal(), nil,
			"argument_keys=[a,z] sha256=" + digest(cborArgs) + " size=" + fmt.Sprint(len(cborArgs))},
		{"tool call with broken JSON", RoleLane, body(op(command(), OpExecuteTool), []byte(`{"a":1,"SECRET`)).Marshal(), nil,
			"sha256=" + digest(`{"a":1,"SECRET`) + " size=14"},
		{"tool call with trailing text", RoleLane, body(op(command(), OpExecuteTool), []byte(`{"a":1} SECRET`)).Marshal(), nil,
			"sha256=" + digest(`{"a":1} SECRET`) + " size=14"},
		{"tool call with a list", RoleLane, body(op(command(), OpExecuteTool), []byte(`["SECRET"]`)).Marshal(), []Header{jsonHeader},
			"sha256=" + digest(`["SECRET"]`) + " size=10"},
		{"tool call by reference", RoleLane, body(op(command(), OpExecuteTool), []byte(`{"SECRET":1}`)).Marshal(), []Header{refHeader},
			"content_type=ref sha256=" + digest(`{"SECRET":1}`) + " size=12"},
		{"tool result", RoleLane, body(op(response(), OpExecuteTool), []byte(secret)).AddMetaUint(MetaDuration, 812).SetTaskState(TaskCompleted).Marshal(), nil,
			"duration_micros=812 size=6 status=ok task_state=completed"},
		{"tool error", RoleLane, body(op(failure(), OpExecuteTool), errBody).AddMetaUint(MetaDuration, 9).Marshal(), nil,
			"code=6 duration_micros=9 retryable=true size=" + fmt.Sprint(len(errBody)) + " status=error"},
		{"error", RoleLane, body(failure(), errBody).Marshal(), nil, "code=6 retryable=true"},
		{"error with a body of its own", RoleLane, body(failure(), []byte(secret)).Marshal(), nil, ""},
		{"model request", RoleLane, op(command(), OpChat).AddMeta(MetaRequestModel, "m-1").AddMeta(MetaProvider, "acme").AddMeta("prompt", secret).Marshal(), nil,
			"model=m-1 provider=acme"},
		{"model response", RoleLane, with(op(response(), OpChat), func(e *Envelope) { e.FinishReason = []byte("stop") }).AddMeta(MetaRequestModel, "m-1").AddMeta(MetaResponseModel, "m-1-b").Marshal(), nil,
			"finish_reason=stop model=m-1-b"},
		{"model response names the requested model only", RoleLane, op(response(), OpChat).AddMeta(MetaRequestModel, "m-1").Marshal(), nil, "model=m-1"},
		{"a model that is a number", RoleLane, op(command(), OpChat).AddMetaUint(MetaRequestModel, 4).Marshal(), nil, ""},
		{"chunk", RoleChunks, laterChunk().Marshal(), nil, "sequence=7"},
		{"last chunk", RoleChunks, with(lastChunk(), func(e *Envelope) { e.FinishReason = []byte("length") }).Marshal(), nil, "finish_reason=length last=true sequence=7"},
		{"task", RoleLane, task().Marshal(), nil, "task_state=working"},
		{"session failed", RoleLane, session(TaskFailed, endFailed).Marshal(), nil, "code=3 retryable=false"},
		{"session waits for input", RoleLane, session(TaskInputRequired, empty).Marshal(), nil, "task_state=input_required"},
		{"forced cancel", RoleControl, session(TaskCanceled, (&SessionEnd{Reason: []byte("forced")}).Marshal()).Marshal(), nil, "forced=true"},
		{"dead letter", RoleDeadLetters, (&DeadLetter{Source: []byte("x"), Reason: 2, Attempts: 5, Detail: []byte(secret), Payload: []byte(secret)}).Marshal(), nil,
			"attempts=5 code=2 size=6"},
		{"memory item", RoleMemory, (&MemoryRecord{Op: MemoryItem, ID: []byte("m"), Kind: []byte("fact")}).Marshal([]byte(secret)), nil, "size=6 refs=[m] memory_kind=fact"},
		{"memory feedback", RoleMemory, (&MemoryRecord{Op: MemoryFeedback, ID: []byte("m"), Weight: -1.5}).Marshal(nil), nil, "weight=-1.5 refs=[m]"},
		{"context retrieved", RoleLane, body(op(event(), OpContextRetrieved), mp(tx("query"), tx(secret), tx("items"),
			cat(item{0x82}, item{0x82}, tx("m1"), item{0xfa, 0x3f, 0x4c, 0xcc, 0xcd}, item{0x82}, tx("m2"), un(1)))).Marshal(), nil,
			"items=2 refs=[m1,m2] scores=[0.8,1]"},
		{"context retrieved in JSON", RoleLane, body(op(event(), OpContextRetrieved), []byte(`{"items":[["m1",0.25]],"query":"SECRET"}`)).Marshal(), nil,
			"items=1 refs=[m1] scores=[0.25]"},
		{"context retrieved in deep JSON", RoleLane, body(op(event(), OpContextRetrieved), []byte(`{"items":[],"x":`+strings.Repeat("[", 255)+strings.Repeat("]", 255)+`}`)).Marshal(), nil, "items=0"},
		{"context retrieved in too deep JSON", RoleLane, body(op(event(), OpContextRetrieved), []byte(`{"items":[],"x":`+strings.Repeat("[", 256)+strings.Repeat("]", 256)+`}`)).Marshal(), nil, ""},
		{"context retrieved, nothing found", RoleLane, body(op(event(), OpContextRetrieved), []byte(`{"items":[]}`)).Marshal(), nil, "items=0"},
		{"context retrieved, unreadable", RoleLane, body(op(event(), OpContextRetrieved), []byte(`{"items":["SECRET"]}`)).Marshal(), nil, ""},
		{"context assembled", RoleLane, body(op(event(), OpContextAssembled), mp(tx("policy"), tx("p"), tx("fragments"), cat(item{0x84},
			mp(tx("Message"), mp(tx("at"), message, tx("tokens"), un(9))), mp(tx("Memory"), mp(tx("id"), tx("m1"))),
			mp(tx("Kv"), mp(tx("namespace"), tx("n"), tx("key"), tx("k"))), mp(tx("State"), mp(tx("key"), tx("s"), tx("revision"), un(1)))))).Marshal(), nil,
			"items=4 refs=[message:2/3@4,memory:m1,kv:n/k,state:s]"},
		{"context compacted", RoleLane, body(op(event(), OpContextCompacted), mp(tx("summary_at"), message, tx("covered"), item{0x82, 0x80, 0x80})).Marshal(), nil,
			"items=2 refs=[message:2/3@4]"},
		{"resource link", RoleLane, body(op(event(), OpResourceLink), link("kv")).Marshal(), nil, "surface=kv relation=wrote"},
		{"resource link to no surface", RoleLane, body(op(event(), OpResourceLink), link(secret)).Marshal(), nil, ""},
		{"invalid record", RoleLane, with(body(op(command(), OpExecuteTool), []byte(args)), func(e *Envelope) { e.MustUnderstand = 1 }).Marshal(), nil, ""},
	} {
		rec := one(c.role, c.value, c.hs...)
		got := printed(rec)
		if got != c.want {
			t.Errorf("%s (%s %s): summary is\n%s\nwant\n%s", c.name, rec.Display, rec.Reason, got, c.want)
		}
		if strings.Contains(got, secret) {
			t.Errorf("%s: content is kept: %s", c.name, got)
		}
		for i := range rec.Summary[min(1, len(rec.Summary)):] {
			if rec.Summary[i].Key >= rec.Summary[i+1].Key {
				t.Errorf("%s: keys do not ascend: %s", c.name, got)
			}
		}
	}
}

func TestSummaryListsAreBounded(t *testing.T) {
	var args, items []string
	for i := range 500 {
		args = append(args, fmt.Sprintf(`"k%03d":0`, 499-i))
		items = append(items, fmt.Sprintf(`["m%d",1]`, i))
	}
	rec := one(RoleLane, body(op(command(), OpExecuteTool), []byte("{"+strings.Join(args, ",")+"}")).Marshal())
	if it := find(rec, SumArgKeys); len(it.List) != maxSummaryList || string(it.List[0]) != "k436" {
		t.Errorf("%d argument keys, the first %q", len(it.List), it.List[0])
	}
	rec = one(RoleLane, body(op(event(), OpContextRetrieved), []byte(`{"items":[`+strings.Join(items, ",")+`]}`)).Marshal())
	if n, refs, scores := find(rec, SumItems), find(rec, SumRefs), find(rec, SumScores); n.Num != 500 || len(refs.List) != maxSummaryList || len(scores.List) != maxSummaryList {
		t.Errorf("%d items, %d refs, %d scores", n.Num, len(refs.List), len(scores.List))
	}
}

func TestSummaryNames(t *testing.T) {
	seen := map[string]bool{}
	for k := SumNone + 1; k < sumEnd; k++ {
		if k.String() == "" || seen[k.String()] {
			t.Errorf("summary key %d has the name %q", k, k)
		}
		seen[k.String()] = true
	}
}

// TestDecoderReusesItsMemory decodes a mixed batch twice: the records of one
// batch must not disturb each other, and the second pass must say the same.
func TestDecoderReusesItsMemory(t *testing.T) {
	var raw []Raw
	for i := range 300 {
		e := []*Envelope{
			body(op(command(), OpExecuteTool), fmt.Appendf(nil, `{"a%d":1,"b%d":2}`, i, i)),
			op(response(), OpChat).SetUsage(TokenCounts{Input: uint64(i)}).AddMeta(MetaResponseModel, fmt.Sprint("m", i)),
			session(TaskWorking, labelled(fmt.Append(nil, "l", i)).Marshal()),
			event(),
			session(TaskPaused, (&SessionTransition{Acknowledges: append(make([]byte, 18), byte(i>>8), byte(i))}).Marshal()),
		}[i%5]
		raw = append(raw, Raw{Offset: uint64(i), Value: e.Marshal()})
	}
	d := NewAGDXDecoder()
	for pass := range 2 {
		for i, rec := range d.Decode(topicOf(RoleLane), raw) {
			ok := rec.Offset == uint64(i)
			switch i % 5 {
			case 0:
				ok = ok && joined(find(&rec, SumArgKeys).List) == fmt.Sprintf("a%d,b%d", i, i) &&
					hex.EncodeToString(find(&rec, SumSHA256).Text) == digest(fmt.Sprintf(`{"a%d":1,"b%d":2}`, i, i))
			case 1:
				ok = ok && rec.Usage.In == uint64(i) && string(find(&rec, SumModel).Text) == fmt.Sprint("m", i)
			case 2:
				ok = ok && string(rec.Lifecycle.Start.Label) == fmt.Sprint("l", i)
			case 3:
				ok = ok && rec.Summary == nil && rec.Usage == nil && rec.Lifecycle == nil
			case 4:
				ok = ok && rec.Lifecycle.Acknowledge.Offset == uint64(i)
			}
			if !ok {
				t.Fatalf("pass %d, record %d: %+v %s", pass, i, rec, printed(&rec))
			}
		}
	}
	src := topicOf(RoleLane)
	if n := testing.AllocsPerRun(10, func() { d.Decode(src, raw) }); n != 0 {
		t.Errorf("a batch costs %v allocations once the slabs have grown", n)
	}
	if got := d.Decode(topicOf(RoleLane), raw[:1]); len(got) != 1 {
		t.Errorf("one record in, %d out", len(got))
	}
	if got := d.Decode(topicOf(RoleLane), nil); len(got) != 0 {
		t.Errorf("no record in, %d out", len(got))
	}
}
