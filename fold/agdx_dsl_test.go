package fold

import (
	"fmt"
	"strconv"
	"strings"

	"sessionfold/wire"
)

// A line of "agdx" is a Kafka record: an envelope, encoded and decoded again.
//
//	OFFSET MILLISECONDS SESSION WHAT [key=value …]
//
// WHAT is a session state (submitted, started, working, input_required, paused,
// completed, failed, canceled, rejected), forced (a forced cancel), a kind
// (command, response, event, chunk, error), task, heartbeat, memory,
// dead_letter, bytes or null. SESSION is the envelope's conversation; for
// memory, dead_letter, bytes and null it is the header's, "-" for none.

func (w *world) decode(src *wire.Source, input string) ([]wire.Record, error) {
	var raws []wire.Raw
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		raw, err := w.raw(line)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		raws = append(raws, raw)
	}
	return wire.NewAGDXVerifier(func() *wire.Keys { return w.keys }).Decode(src, raws), nil
}

// keys are the key=value words of a line; each is to be read.
type keys map[string]string

func (k keys) take(key string) ([]byte, bool) {
	v, ok := k[key]
	delete(k, key)
	return []byte(v), ok
}

func (k keys) text(key string) []byte {
	if v, ok := k.take(key); ok {
		return v
	}
	return nil
}

func (k keys) num(key string) (uint64, bool) {
	v, ok := k.take(key)
	n, err := strconv.ParseUint(string(v), 10, 64)
	if ok && err != nil {
		panic(err)
	}
	return n, ok
}

func (w *world) raw(line string) (wire.Raw, error) {
	var raw wire.Raw
	ws, err := words(line)
	if err != nil || len(ws) < 4 {
		return raw, fmt.Errorf("want OFFSET MILLISECONDS SESSION WHAT: %v", err)
	}
	if raw.Offset, err = strconv.ParseUint(ws[0], 10, 64); err != nil {
		return raw, err
	}
	if raw.Timestamp, err = strconv.ParseInt(ws[1], 10, 64); err != nil {
		return raw, err
	}
	k := keys{}
	for _, word := range ws[4:] {
		key, val, _ := strings.Cut(word, "=")
		if k[key], err = unquote(val); err != nil {
			return raw, err
		}
	}
	session, what := ws[2], ws[3]
	if !w.capsule(&raw, session, what, k) {
		w.envelope(&raw, session, what, k)
	}
	if len(k) > 0 {
		return raw, fmt.Errorf("no such keys: %v", k)
	}
	return raw, nil
}

// capsule makes the values that are no envelope.
func (w *world) capsule(raw *wire.Raw, session, what string, k keys) bool {
	switch what {
	case "null":
	case "bytes":
		raw.Value = k.text("value")
	case "memory":
		w.memory(raw, k)
	case "dead_letter":
		d := wire.DeadLetter{Reason: 1, Attempts: 3, Source: []byte("x"), Payload: []byte("?")}
		if of, ok := k.take("of"); ok { // the payload is an envelope of that session
			inner := wire.Envelope{Kind: wire.KindEvent, Conversation: w.nameID(string(of)), Source: []byte("ann"), Body: []byte("b")}
			d.Payload = inner.SetRecord(wire.ID{1}).Marshal()
		}
		raw.Value = d.Marshal()
	default:
		return false
	}
	if session != "-" {
		raw.Headers = append(raw.Headers, wire.Header{Key: wire.HeaderConversation, Value: wire.SessionKey(w.nameID(session))})
	}
	if by := k.text("by"); by != nil {
		raw.Headers = append(raw.Headers, wire.Header{Key: wire.HeaderAgent, Value: by})
	}
	if key := k.text("key"); key != nil {
		raw.Key = wire.SessionKey(w.nameID(string(key)))
	}
	return true
}

var kindWords = map[string]wire.Kind{
	"command": wire.KindCommand, "response": wire.KindResponse, "event": wire.KindEvent, "chunk": wire.KindChunk, "error": wire.KindError,
	"task": wire.KindStatus,
}

func (w *world) envelope(raw *wire.Raw, session, what string, k keys) {
	e := wire.Envelope{Kind: wire.KindStatus, Conversation: w.nameID(session), Source: []byte("host"), Target: k.text("to")}
	e.SetRecord(wire.ID{1})
	if by := k.text("by"); by != nil {
		e.Source = by
	}
	if v, ok := k.take("parent"); ok {
		e.SetParent(w.nameID(string(v)))
	}
	if v, ok := k.take("root"); ok {
		e.SetRoot(w.nameID(string(v)))
	}
	if v, ok := k.take("role"); ok {
		e.AddMeta("role", string(v))
	}
	if in, ok := k.num("in"); ok {
		u := wire.TokenCounts{Input: in}
		u.Output, _ = k.num("out")
		if u.Cost, ok = k.num("cost"); ok {
			u.Has = wire.HasCost
		}
		e.SetUsage(u)
	}
	if n, ok := k.num("must_understand"); ok {
		e.MustUnderstand = n
	}
	kind, plain := kindWords[what]
	switch {
	case what == "heartbeat":
		e.Operation = []byte(wire.OpProgress)
		e.Body = (&wire.Heartbeat{Process: []byte("p"), Stream: []byte("s"), Sessions: []wire.ID{e.Conversation}}).Marshal()
	case plain:
		e.Kind, e.Operation, e.Tool = kind, k.text("op"), k.text("tool")
		e.Body = []byte("body")
		switch kind {
		case wire.KindStatus:
			e.SetCorrelation(wire.ID{2}).SetTaskState(wire.TaskWorking)
			e.Operation = []byte(wire.OpTask)
		case wire.KindChunk:
			seq, _ := k.num("seq")
			e.SetCorrelation(wire.ID{2}).SetChunk(wire.ID{3}, seq)
		case wire.KindCommand, wire.KindResponse, wire.KindError:
			e.SetCorrelation(wire.ID{2})
		}
	case w.rare(&e, what, k):
	default:
		w.status(&e, what, k)
	}
	if _, ok := k.take("last"); ok {
		e.Last = !e.Last
	}
	content := wire.ContentCBOR
	if len(e.Body) > 0 && e.Body[0] == '{' {
		content = wire.ContentJSON
	}
	signEnvelope(&e, content, k)
	raw.Key, raw.Headers = wire.SessionKey(e.Conversation), e.Headers(content)
	raw.Value = e.Marshal()
}

var stateWords = map[string]wire.TaskState{
	"submitted": wire.TaskSubmitted, "started": wire.TaskWorking, "working": wire.TaskWorking, "input_required": wire.TaskInputRequired,
	"paused": wire.TaskPaused, "completed": wire.TaskCompleted, "failed": wire.TaskFailed, "canceled": wire.TaskCanceled,
	"rejected": wire.TaskRejected, "forced": wire.TaskCanceled,
}

// status makes a session status with the body that its state has.
func (w *world) status(e *wire.Envelope, what string, k keys) {
	state, ok := stateWords[what]
	if !ok {
		panic("no such record: " + what)
	}
	e.Operation = []byte(wire.OpSession)
	e.SetTaskState(state)
	switch {
	case state.Terminal():
		end := wire.SessionEnd{Reason: k.text("reason")}
		if what == "forced" {
			end.Reason = []byte(wire.ReasonForced)
		}
		if code, ok := k.num("code"); ok {
			end.HasError, end.Error = true, wire.ErrorBody{Code: uint8(code), Message: []byte("secret")}
		}
		e.Body, e.Last = end.Marshal(), true
	case what == "submitted" || what == "started":
		e.Body = w.startBody(e, k)
	default:
		tr := wire.SessionTransition{Actor: e.Source}
		if v, ok := k.take("ack"); ok {
			l := w.at(v).Locator()
			tr.Acknowledges = l[:]
		}
		e.Body = tr.Marshal()
	}
}

func (w *world) startBody(e *wire.Envelope, k keys) []byte {
	s := wire.SessionStart{
		Agent: []byte("host"), HasParent: e.Has&wire.FieldParent != 0, Parent: e.Parent, HasRoot: e.Has&wire.FieldRoot != 0, Root: e.Root,
		HasSDK: true, SDKLanguage: []byte("go"), SDKVersion: []byte("1"),
	}
	if v := k.text("owner"); v != nil {
		s.Agent = v
	}
	s.Label, s.HasLabel = k.take("label")
	s.Namespace, s.HasNamespace = k.take("namespace")
	if v := k.text("tags"); v != nil {
		for _, tag := range strings.Split(string(v), ",") {
			s.Tags = append(s.Tags, []byte(tag))
		}
	}
	s.IdleTimeout, s.HasIdleTimeout = k.num("idle")
	s.BudgetTokens, s.HasBudgetTokens = k.num("budget_tokens")
	s.BudgetCostMicros, s.HasBudgetCost = k.num("budget_cost")
	s.HasBudget = s.HasBudgetTokens || s.HasBudgetCost
	return s.Marshal()
}
