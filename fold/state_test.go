package fold

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/fxamacker/cbor/v2"

	"sessionfold/fold/state"
	"sessionfold/wire"
)

// stateSource folds state records of one lane, decoded from envelopes, and
// keeps what is durable the way a store does.
type stateSource struct {
	src      *wire.Source
	front    Frontier
	partials map[wire.ID]*Partial
	states   map[wire.ID]*state.State
	rows     map[wire.ID]*stateRows
	time     int64
}

// stateRows are the durable rows of one document.
type stateRows struct {
	base    string
	log     []string
	history []state.Entry
}

func newStateSource(role wire.Role) *stateSource {
	return &stateSource{
		src: wire.NewSource("s", "s.agent.sessions", 1, 0, role, wire.DialectAGDX), time: 1000,
		partials: map[wire.ID]*Partial{}, states: map[wire.ID]*state.State{}, rows: map[wire.ID]*stateRows{},
	}
}

// raw makes a record of an event with a body; content 254 leaves the header out.
func (s *stateSource) raw(offset uint64, session wire.ID, operation string, content wire.ContentType, body []byte) wire.Raw {
	e := wire.Envelope{Kind: wire.KindEvent, Conversation: session, Source: []byte("writer"), Operation: []byte(operation), Body: body}
	e.SetRecord(wire.ID{15: byte(offset), 14: byte(offset >> 8), 0: 1})
	hs := e.Headers(content)
	if content == 254 {
		hs = append(hs[:1], hs[2:]...)
	}
	s.time++
	return wire.Raw{Offset: offset, Timestamp: s.time, Key: wire.SessionKey(session), Value: e.Append(nil), Headers: hs}
}

// fold folds a batch and stores what became durable.
func (s *stateSource) fold(t interface{ Fatal(...any) }, raw []wire.Raw) *Step {
	recs := wire.NewAGDXDecoder().Decode(s.src, raw)
	step := new(Scratch).Apply(&Config{}, s.src, s.front, s.partials, s.states, recs)
	if step == nil {
		return nil
	}
	if err := step.valid(true); err != nil {
		t.Fatal(err)
	}
	s.front = step.Frontier
	for i := range step.Sessions {
		ss := &step.Sessions[i]
		s.partials[ss.ID] = ss.New
		if ss.State != nil {
			s.states[ss.ID] = ss.State.State
			s.store(ss)
		}
	}
	return step
}

func (s *stateSource) store(ss *SessionStep) {
	r := s.rows[ss.ID]
	if r == nil {
		r = &stateRows{}
		s.rows[ss.ID] = r
	}
	if ss.State.Rebased {
		r.base = ss.State.Base
	}
	for i, slot := range ss.State.Log {
		at := int(ss.State.First) + i
		for len(r.log) <= at {
			r.log = append(r.log, "")
		}
		r.log[at] = string(slot)
	}
	r.history = append(r.history, ss.State.History...)
	r.history = r.history[max(0, len(r.history)-state.HistoryLen):]
}

// restart makes every document again from what is durable.
func (s *stateSource) restart(t interface{ Fatal(...any) }) {
	for id, p := range s.partials {
		if p.State == nil {
			continue
		}
		r := s.rows[id]
		got, err := state.Restore(p.State.Info, r.base, strings.Join(r.log[:p.State.Slots], ""), r.history)
		if err != nil {
			t.Fatal(err)
		}
		if !state.Same(got, s.states[id]) {
			t.Fatal(fmt.Sprintf("after a restart %+v %s, before %+v %s", got.Info, got.Doc.Text(), s.states[id].Info, s.states[id].Doc.Text()))
		}
		s.states[id] = got
	}
}

// toCBOR encodes a JSON text as CBOR.
func toCBOR(t interface{ Fatal(...any) }, text string) []byte {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	b, err := cbor.Marshal(numbers(v))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

// TestStateTranscripts reads testdata/state: every line of the outcome table,
// from envelopes to documents.
//
//	delta base=N op=ID    the input is the patch as JSON
//	snapshot base=N       the input is the document
//	body [op=state_delta] the input is the body: JSON, or with hex bytes
//
// ct=cbor|json|none|N is the content type, default cbor; none leaves it out.
// Each prints the outcome and what the session then has. restart makes the
// documents again from their durable rows; every step does that too, aside.
func TestStateTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/state/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := newStateSource(wire.RoleLane)
			id := wire.ID{15: 1}
			next := uint64(0)
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				base, opID, ct, times, role := "0", "", "cbor", 1, ""
				d.MaybeScanArgs(t, "base", &base)
				d.MaybeScanArgs(t, "op", &opID)
				d.MaybeScanArgs(t, "ct", &ct)
				d.MaybeScanArgs(t, "times", &times)
				d.MaybeScanArgs(t, "role", &role)
				operation, body, input := wire.OpStateDelta, "", strings.TrimSpace(d.Input)
				switch d.Cmd {
				case "new":
					s, next = newStateSource(wire.RoleLane), 0
					if role == "work" {
						s = newStateSource(wire.RoleWork)
					}
					return ""
				case "delta":
					quoted, _ := json.Marshal(opID)
					body = fmt.Sprintf(`{"base_revision":%s,"op_id":%s,"patch":%s}`, base, quoted, input)
				case "snapshot":
					operation = wire.OpStateSnapshot
					body = fmt.Sprintf(`{"base_revision":%s,"document":%s}`, base, input)
				case "body":
					body = input
					if opID != "" {
						operation = opID
					}
				default:
					t.Fatalf("unknown command %s", d.Cmd)
				}
				content, bytes := wire.ContentCBOR, []byte(body)
				switch {
				case ct == "json":
					content = wire.ContentJSON
				case ct == "none":
					content = 254
				case d.HasArg("hex"):
					if bytes, err = hex.DecodeString(strings.Join(strings.Fields(body), "")); err != nil {
						t.Fatal(err)
					}
				case ct == "cbor":
					bytes = toCBOR(t, body)
				default:
					var n int
					d.ScanArgs(t, "ct", &n)
					content = wire.ContentType(n)
				}
				var out string
				for range times {
					s.fold(t, []wire.Raw{s.raw(next, id, operation, content, bytes)})
					next++
					s.restart(t)
					out = s.tell(id)
				}
				return out
			})
		})
	}
}

// tell prints the last outcome and the document.
func (s *stateSource) tell(id wire.ID) string {
	p := s.partials[id]
	if p.State == nil {
		return fmt.Sprintf("no state, %d records, lane %v\n", p.Records, p.Flags&FlagLane != 0)
	}
	var b bytes.Buffer
	e := s.rows[id].history[len(s.rows[id].history)-1]
	fmt.Fprintf(&b, "%s", e.Outcome)
	if e.OpID != "" {
		fmt.Fprintf(&b, " op=%q", e.OpText())
	}
	if why := wire.FaultText(e.Why, e.At); why != "" {
		fmt.Fprintf(&b, " because %s", why)
	}
	digest := "kept"
	if e.Old != e.New {
		digest = fmt.Sprintf("%x…→%x…", e.Old[:3], e.New[:3])
	}
	i := &p.State.Info
	fmt.Fprintf(&b, ", outcome %d at %d, digest %s\n", e.Number, e.Offset, digest)
	fmt.Fprintf(&b, "revision %d complete %v: applied %d rejected %d stale %d duplicates %d\n", i.Revision, i.Complete(), i.Applied, i.Rejected, i.StaleCount, i.Duplicates)
	text := s.states[id].Doc.Text()
	if len(text) > 200 {
		text = fmt.Sprintf("%s… (%d bytes)", text[:200], len(text))
	}
	fmt.Fprintf(&b, "%s\n", text)
	return b.String()
}
