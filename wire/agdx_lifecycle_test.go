package wire

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLifecycleOnTheLane(t *testing.T) {
	at := Pos{Stream: 1, Topic: 2, Partition: 3, Offset: 4}
	loc := at.Locator()
	ack := (&SessionTransition{Acknowledges: loc[:]}).Marshal()
	failed := (&SessionEnd{Reason: []byte("quota"), HasError: true, Error: ErrorBody{Code: 6, Message: []byte("secret"), Retryable: true}}).Marshal()
	for _, c := range []struct {
		name  string
		state TaskState
		body  []byte
		want  Lifecycle
	}{
		{"submitted", TaskSubmitted, startBody().Marshal(), Lifecycle{Status: StatusSubmitted, Start: startBody()}},
		{"started", TaskWorking, startBody().Marshal(), Lifecycle{Status: StatusActive, Start: startBody()}},
		{"resumed", TaskWorking, empty, Lifecycle{Status: StatusActive}},
		{"resume acknowledged", TaskWorking, ack, Lifecycle{Status: StatusActive, Acknowledge: &at}},
		{"pause acknowledged", TaskPaused, ack, Lifecycle{Status: StatusPaused, Acknowledge: &at}},
		{"locator that does not parse", TaskPaused, (&SessionTransition{Acknowledges: []byte("x")}).Marshal(), Lifecycle{Status: StatusPaused}},
		{"input required", TaskInputRequired, empty, Lifecycle{Status: StatusActive}},
		{"auth required", TaskAuthRequired, empty, Lifecycle{Status: StatusActive}},
		{"unknown", TaskUnknown, empty, Lifecycle{}},
		{"no known code", 99, empty, Lifecycle{}},
		{"completed", TaskCompleted, endBody, Lifecycle{Status: StatusCompleted, Reason: []byte("done")}},
		{"failed", TaskFailed, failed, Lifecycle{Status: StatusFailed, Reason: []byte("quota"), HasError: true, ErrorCode: 6, ErrorText: true}},
		{"rejected", TaskRejected, empty, Lifecycle{Status: StatusFailed}},
		{"canceled", TaskCanceled, empty, Lifecycle{Status: StatusCanceled}},
		{"forced is a word of the control topic", TaskCanceled, (&SessionEnd{Reason: []byte("forced")}).Marshal(), Lifecycle{Status: StatusCanceled, Reason: []byte("forced")}},
	} {
		rec := one(RoleLane, session(c.state, c.body).Marshal())
		if rec.Lifecycle == nil {
			t.Errorf("%s: no lifecycle (%s)", c.name, rec.Reason)
			continue
		}
		if diff := cmp.Diff(c.want, *rec.Lifecycle); diff != "" {
			t.Errorf("%s: lifecycle differs (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestLifecycleElsewhereDoesNotCount(t *testing.T) {
	forced := (&SessionEnd{Reason: []byte("forced")}).Marshal()
	for _, c := range []struct {
		name  string
		role  Role
		state TaskState
		body  []byte
		want  *Lifecycle
	}{
		{"start in an inbox", RoleWork, TaskWorking, startBody().Marshal(), nil},
		{"start on control", RoleControl, TaskSubmitted, startBody().Marshal(), nil},
		{"end on chunks", RoleChunks, TaskCompleted, endBody, nil},
		{"cancel on control for another reason", RoleControl, TaskCanceled, endBody, nil},
		{"cancel on control without reason", RoleControl, TaskCanceled, empty, nil},
		{"Forced is another word", RoleControl, TaskCanceled, (&SessionEnd{Reason: []byte("Forced")}).Marshal(), nil},
		{"forced failure on control", RoleControl, TaskFailed, forced, nil},
		{"forced cancel in an inbox", RoleWork, TaskCanceled, forced, nil},
		{"forced cancel on control", RoleControl, TaskCanceled, forced, &Lifecycle{Status: StatusCanceled, Reason: []byte("forced"), Forced: true}},
	} {
		rec := one(c.role, session(c.state, c.body).Marshal())
		if diff := cmp.Diff(c.want, rec.Lifecycle); diff != "" {
			t.Errorf("%s: lifecycle differs (-want +got):\n%s", c.name, diff)
		}
		if rec.Facts&FactLane != 0 {
			t.Errorf("%s: counts as a lane record", c.name)
		}
	}
	invalid := session(TaskCanceled, forced)
	invalid.MustUnderstand = 2
	if rec := one(RoleControl, invalid.Marshal()); rec.Lifecycle != nil {
		t.Error("an invalid forced cancel ends the session")
	}
}

// fullStart is a start with every field.
func fullStart() *SessionStart {
	return &SessionStart{
		Label: []byte("plan"), HasLabel: true, Namespace: []byte("team"), HasNamespace: true, Agent: []byte("a"),
		SDKLanguage: []byte("go"), SDKVersion: []byte("1"), HasSDK: true, HasParent: true, Parent: testID(8), HasRoot: true, Root: testID(9),
		IdleTimeout: 5_000_000, HasIdleTimeout: true, HasBudget: true, HasBudgetTokens: true, BudgetTokens: 100,
		HasBudgetCost: true, BudgetCostMicros: 9, Tags: [][]byte{[]byte("x"), []byte("y")},
	}
}

func TestBodiesRoundTrip(t *testing.T) {
	check := func(name string, want, got any, err error, again, b []byte) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
		if !bytes.Equal(again, b) {
			t.Errorf("%s is written again as %x, want %x", name, again, b)
		}
	}
	for _, s := range []*SessionStart{startBody(), fullStart(), {Agent: []byte("b"), HasSDK: true, SDKLanguage: []byte{}, SDKVersion: []byte{}, HasBudget: true}} {
		b := s.Marshal()
		got, err := DecodeSessionStart(b)
		check("start", *s, got, err, got.Marshal(), b)
	}
	for _, x := range []*SessionTransition{{}, {Actor: []byte("a")}, {Actor: []byte("a"), Acknowledges: make([]byte, 20)}} {
		b := x.Marshal()
		got, err := DecodeSessionTransition(b)
		check("transition", *x, got, err, got.Marshal(), b)
	}
	failure := ErrorBody{Code: 6, Message: []byte("m"), Retryable: true, Detail: mp(tx("k"), un(1))}
	for _, x := range []*SessionEnd{{}, {Reason: []byte("r")}, {Reason: []byte("r"), HasError: true, Error: failure}, {HasError: true}} {
		b := x.Marshal()
		got, err := DecodeSessionEnd(b)
		check("end", *x, got, err, got.Marshal(), b)
	}
	withConversation := parking()
	withConversation.HasConversation, withConversation.Conversation = true, testID(7)
	for _, x := range []*SessionParking{parking(), withConversation} {
		b := x.Marshal()
		got, err := DecodeSessionParking(b)
		check("parking", *x, got, err, got.Marshal(), b)
	}
	for _, x := range []*Heartbeat{{Process: []byte("p"), Stream: []byte("s")}, {Process: []byte("p"), Stream: []byte("s"), Sessions: []ID{testID(1), testID(2)}}} {
		b := x.Marshal()
		got, err := DecodeHeartbeat(b)
		check("heartbeat", *x, got, err, got.Marshal(), b)
	}
	for _, x := range []*DeadLetter{{Source: make([]byte, 20), Reason: 1, Attempts: 5, Payload: []byte("x")}, {Source: []byte{}, Detail: []byte("d"), Payload: []byte{}}} {
		b := x.Marshal()
		got, err := DecodeDeadLetter(b)
		check("dead letter", *x, got, err, got.Marshal(), b)
	}
}

func TestStartKeepsTheFirstTags(t *testing.T) {
	s := startBody()
	for i := range 40 {
		s.Tags = append(s.Tags, []byte{'a' + byte(i%26)})
	}
	got, err := DecodeSessionStart(s.Marshal())
	if err != nil || len(got.Tags) != 16 || string(got.Tags[15]) != "p" {
		t.Errorf("%d tags, %v", len(got.Tags), err)
	}
	s.Tags[39] = []byte{0xff}
	if _, err := DecodeSessionStart(s.Marshal()); err == nil {
		t.Error("a tag that is dropped must be text all the same")
	}
}

func TestFixtureBodiesRoundTrip(t *testing.T) {
	vectors := fixtures(t, "agent_")
	b := vectors["agent_error_body"]
	body, err := DecodeErrorBody(b)
	if err != nil || !bytes.Equal(body.Marshal(), b) {
		t.Errorf("agent_error_body: %v, written as %x", err, body.Marshal())
	}
	if body.Code != 6 || !body.Retryable || string(body.Message) != "search timed out" {
		t.Errorf("agent_error_body: %+v", body)
	}
	b = vectors["agent_dead_letter"]
	capsule, err := DecodeDeadLetter(b)
	if err != nil || !bytes.Equal(capsule.Marshal(), b) {
		t.Errorf("agent_dead_letter: %v, written as %x", err, capsule.Marshal())
	}
	inner, err := DecodeEnvelope(capsule.Payload)
	if err != nil || string(inner.Body) != "poison" {
		t.Errorf("agent_dead_letter: payload %v, body %q", err, inner.Body)
	}
	rec := one(RoleDeadLetters, b)
	if rec.Session != inner.Conversation || !rec.HasSession || rec.Facts != FactError || !bytes.Equal(rec.Cause, capsule.Source) {
		t.Errorf("agent_dead_letter: %+v", rec)
	}
}

func TestBodiesThatDoNotFit(t *testing.T) {
	parked := func(parts ...item) item {
		return mp(tx("source"), mp(tx("Message"), mp(parts...)), tx("role"), tx("a"), tx("request"), bs(nil))
	}
	at := []item{tx("stream"), un(1), tx("topic"), un(2), tx("partition"), un(3), tx("offset"), un(4)}
	sdk := mp(tx("language"), tx("go"), tx("version"), tx("1"))
	many := appendHead(nil, majorArray, MaxHeartbeatSessions+1)
	for range MaxHeartbeatSessions + 1 {
		many = append(many, bs(make([]byte, 16))...)
	}
	null := item{0xf6}
	for _, c := range []struct {
		name   string
		decode func([]byte) error
		in     item
		ok     bool
	}{
		{"start", decodes(DecodeSessionStart), mp(tx("agent"), tx("a"), tx("sdk"), sdk), true},
		{"start with nulls", decodes(DecodeSessionStart), mp(tx("agent"), tx("a"), tx("sdk"), sdk, tx("label"), null, tx("parent"), null, tx("budget"), null), true},
		{"start with an empty agent", decodes(DecodeSessionStart), mp(tx("agent"), tx(""), tx("sdk"), sdk), false},
		{"start with half an sdk", decodes(DecodeSessionStart), mp(tx("agent"), tx("a"), tx("sdk"), mp(tx("language"), tx("go"))), false},
		{"start with a field twice", decodes(DecodeSessionStart), mp(tx("agent"), tx("a"), tx("agent"), tx("a"), tx("sdk"), sdk), false},
		{"start with a number as tag", decodes(DecodeSessionStart), mp(tx("agent"), tx("a"), tx("sdk"), sdk, tx("tags"), item{0x81, 1}), false},
		{"start with a negative timeout", decodes(DecodeSessionStart), mp(tx("agent"), tx("a"), tx("sdk"), sdk, tx("idle_timeout_micros"), item{0x20}), false},
		{"parking", decodes(DecodeSessionParking), parked(append(at, tx("generation"), un(5))...), true},
		{"parking without generation", decodes(DecodeSessionParking), parked(at...), false},
		{"parking with null as generation", decodes(DecodeSessionParking), parked(append(at, tx("generation"), null)...), false},
		{"parking without offset", decodes(DecodeSessionParking), parked(append(at[:6:6], tx("generation"), un(5))...), false},
		{"parking of a kv entry", decodes(DecodeSessionParking), mp(tx("source"), mp(tx("Kv"), mp()), tx("role"), tx("a"), tx("request"), bs(nil)), false},
		{"parking without role", decodes(DecodeSessionParking), mp(tx("source"), mp(tx("Message"), mp(append(at, tx("generation"), un(5))...)), tx("request"), bs(nil)), false},
		{"parking without request", decodes(DecodeSessionParking), mp(tx("source"), mp(tx("Message"), mp(append(at, tx("generation"), un(5))...)), tx("role"), tx("a")), false},
		{"heartbeat of too many", decodes(DecodeHeartbeat), mp(tx("process"), tx("p"), tx("stream"), tx("s"), tx("sessions"), many), false},
		{"heartbeat without stream", decodes(DecodeHeartbeat), mp(tx("process"), tx("p"), tx("sessions"), item{0x80}), false},
		{"error body without code", decodes(DecodeErrorBody), mp(tx("retryable"), item{0xf5}), false},
		{"error body without retryable", decodes(DecodeErrorBody), mp(tx("code"), un(1)), true},
		{"error body with a list as detail", decodes(DecodeErrorBody), mp(tx("code"), un(1), tx("detail"), item{0x80}), false},
		{"dead letter without payload", decodes(DecodeDeadLetter), mp(tx("source"), bs(nil), tx("reason"), un(1), tx("attempts"), un(1)), false},
		{"dead letter with trailing bytes", decodes(DecodeDeadLetter), append((&DeadLetter{}).Marshal(), 0), false},
	} {
		if err := c.decode(c.in); (err == nil) != c.ok {
			t.Errorf("%s: %v, want ok %v", c.name, err, c.ok)
		}
	}
}

func decodes[T any](f func([]byte) (T, error)) func([]byte) error {
	return func(b []byte) error { _, err := f(b); return err }
}

func TestReadHeartbeat(t *testing.T) {
	beat := (&Heartbeat{Process: []byte("p"), Stream: []byte("agents"), Sessions: []ID{testID(1)}}).Marshal()
	h, err := ReadHeartbeat(&Raw{Value: body(status(OpProgress), beat).Marshal()})
	if err != nil || string(h.Stream) != "agents" || len(h.Sessions) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	old := Raw{Value: body(status(OpProgress), beat).Marshal(), Headers: []Header{hdr(HeaderVersion, []byte("2"))}}
	if _, err := ReadHeartbeat(&old); err != ErrHeartbeat {
		t.Errorf("a heartbeat of another version: %v", err)
	}
	for name, value := range map[string][]byte{
		"null": nil, "another operation": body(status(OpCard), beat).Marshal(), "no body": status(OpProgress).Marshal(),
		"an event": body(op(event(), OpProgress), beat).Marshal(), "invalid": with(body(status(OpProgress), beat), func(e *Envelope) { e.MustUnderstand = 1 }).Marshal(),
	} {
		if _, err := ReadHeartbeat(&Raw{Value: value}); err != ErrHeartbeat {
			t.Errorf("%s: %v", name, err)
		}
	}
}
