package fold

import (
	"fmt"
	"testing"

	"sessionfold/wire"
)

// story folds DeepStrike values of one session, in batches.
func story(t *testing.T, batch int, values []string) *Partial {
	t.Helper()
	f := nativeSource(wire.DialectDeepStrike, "tasks")
	dec := wire.NewDeepStrikeDecoder()
	for from := 0; from < len(values); from += batch {
		var raws []wire.Raw
		for i, v := range values[from:min(from+batch, len(values))] {
			raws = append(raws, wire.Raw{Offset: uint64(from + i), Timestamp: 1, Key: []byte("s"), Value: []byte(v)})
		}
		f.fold(&Config{}, dec.Decode(f.src, raws))
	}
	return f.partials[wire.NativeID(wire.DialectDeepStrike, "s", []byte("s"))]
}

func numbered(n int, format string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// The window of sequence numbers holds the last 1,000 and says nothing of those
// before.
func TestRedeliveriesBeyondTheWindowCount(t *testing.T) {
	values := numbered(1100, `{"seq":%d,"event":{"kind":"page_in","turn":1}}`)
	again := append(values, values[100], values[99])
	for _, batch := range []int{1, 7, len(again)} {
		p := story(t, batch, again)
		if n := p.Native; n.Redelivered != 1 || n.Audit.PageIn != 1101 || n.Seen.N != 1101 || p.Flags&(FlagOverflow|FlagSeqConflict) != 0 {
			t.Errorf("batches of %d: %d redelivered, %d applied, %d seen, flags %s", batch, n.Redelivered, n.Audit.PageIn, n.Seen.N, flagText(p.Flags))
		}
	}
}

// Attempts are told apart up to 1,000; what comes behind counts and is marked.
func TestAttemptsBeyondTheSetCount(t *testing.T) {
	values := numbered(1001, `{"kind":"provider_attempt","effect_id":"e%d","attempt_seq":1,"usage":{"inputTokens":1,"outputTokens":0}}`)
	p := story(t, 100, append(values, values[0], values[999], values[1000]))
	if got := p.Native.Levels.Attempts.In; got != 1002 || p.Native.Attempts.N != MaxSet || p.Flags&FlagOverflow == 0 {
		t.Errorf("%d attempts count, %d are known, flags %s", got, p.Native.Attempts.N, flagText(p.Flags))
	}
}

// Lists of the audit snapshot keep the newest 1,000, and tell how many there were.
func TestAuditListsKeepTheNewest(t *testing.T) {
	values := numbered(2500, `{"kind":"signal_disposed","turn":%d,"signal_id":"s","disposition":"d","queue_depth":1}`)
	values = append(values, numbered(1001, `{"kind":"agent_process_changed","turn":1,"agent_id":"a%d","parent_session_id":"p","state":"running"}`)...)
	values = append(values, `{"kind":"agent_process_changed","turn":2,"agent_id":"a1","parent_session_id":"p","state":"joined"}`)
	a := story(t, 333, values).Native.Audit
	v, first := a.View(), a.ViewV1()
	if len(v.Signals) != 1000 || v.Signals[0].Turn != 1500 || v.Signals[999].Turn != 2499 || v.SignalsTotal != 2500 || first.SignalsTotal != 2500 {
		t.Errorf("%d signals of %d, from turn %d", len(v.Signals), v.SignalsTotal, v.Signals[0].Turn)
	}
	if p := v.ProcessByAgent; len(p) != 1000 || p[0].AgentID != "a1" || p[0].State != "joined" || v.ProcessByAgentTotal != 1001 {
		t.Errorf("%d processes, the first %+v, of %d", len(p), p[0], v.ProcessByAgentTotal)
	}
	if v.BudgetExceededTotal != 0 {
		t.Errorf("a total of a list that was not capped: %d", v.BudgetExceededTotal)
	}
}

// More than 100 holes in seq: the first ones stay, and the session says so.
func TestNativeGapsAreBounded(t *testing.T) {
	var values []string
	for i := range 102 {
		values = append(values, fmt.Sprintf(`{"seq":%d,"event":{"kind":"page_in","turn":1}}`, 10*i))
	}
	p := story(t, 5, values[:101])
	if len(p.Native.Missing) != MaxNativeGaps || p.Flags&FlagOverflow != 0 {
		t.Fatalf("%d gaps, flags %s", len(p.Native.Missing), flagText(p.Flags))
	}
	p = story(t, 5, values)
	if last := p.Native.Missing[MaxNativeGaps-1]; len(p.Native.Missing) != MaxNativeGaps || last.To != 999 || p.Flags&FlagOverflow == 0 {
		t.Errorf("%d gaps up to %+v, flags %s", len(p.Native.Missing), last, flagText(p.Flags))
	}
}
