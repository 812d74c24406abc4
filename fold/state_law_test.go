package fold

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sessionfold/fold/state"
	"sessionfold/testenv/reach"
	"sessionfold/wire"
)

// genStateBody draws a state record for a session at a revision, mostly one
// that applies.
func genStateBody(t *rapid.T, revision uint64) (operation string, content wire.ContentType, body []byte) {
	base := int64(revision) + int64(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "off"))
	long := fmt.Sprintf("%q", strings.Repeat("v", rapid.SampledFrom([]int{0, 3, 3, 3, 200, 70_000}).Draw(t, "size")))
	if rapid.IntRange(0, 11).Draw(t, "snapshot") == 0 {
		return wire.OpStateSnapshot, wire.ContentJSON, fmt.Appendf(nil, `{"base_revision":%d,"document":{"list":[1,[2],{"x":%s}]}}`, max(0, base), long)
	}
	var ops []string
	for range rapid.IntRange(0, 4).Draw(t, "operations") {
		op := rapid.SampledFrom([]string{
			`{"op":"add","path":"/K","value":V}`, `{"op":"add","path":"/K","value":V}`, `{"op":"add","path":"/K","value":[V,{}]}`,
			`{"op":"add","path":"/K/0","value":V}`, `{"op":"replace","path":"/K","value":{"a":V}}`, `{"op":"remove","path":"/K"}`,
			`{"op":"copy","from":"/K","path":"/c"}`, `{"op":"move","from":"/K","path":"/K2"}`, `{"op":"test","path":"/K","value":V}`,
		}).Draw(t, "op")
		op = strings.ReplaceAll(op, "K", rapid.SampledFrom([]string{"a", "b", "list", "list/1"}).Draw(t, "key"))
		ops = append(ops, strings.ReplaceAll(op, "V", long))
	}
	body = fmt.Appendf(nil, `{"base_revision":%d,"op_id":"op-%d","patch":[%s]}`, max(0, base), rapid.IntRange(0, 200).Draw(t, "id"), strings.Join(ops, ","))
	if rapid.Bool().Draw(t, "cbor") {
		return wire.OpStateDelta, wire.ContentCBOR, toCBOR(t, string(body))
	}
	return wire.OpStateDelta, wire.ContentJSON, body
}

// TestLawOneOfState: the same state records give the same documents, outcomes
// and durable rows whatever the batch boundaries, and whether the documents were
// kept or made again from what was stored.
func TestLawOneOfState(t *testing.T) {
	applied, rebased, others := 0, 0, 0
	cases := map[string]*int{"applied": &applied, "a new base": &rebased, "not applied": &others}
	reach.Check(t, cases, func(t *rapid.T) {
		one := newStateSource(wire.RoleLane)
		ids := []wire.ID{{15: 1}, {15: 2}}
		var log []wire.Raw
		for i := range rapid.IntRange(1, 40).Draw(t, "records") {
			id := rapid.SampledFrom(ids).Draw(t, "session")
			var revision uint64
			if s := one.states[id]; s != nil {
				revision = s.Revision
			}
			operation, content, body := genStateBody(t, revision)
			log = append(log, one.raw(uint64(i), id, operation, content, body))
			one.fold(t, log[i:])
		}
		many := newStateSource(wire.RoleLane)
		for rest := log; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			many.fold(t, rest[:n])
			rest = rest[n:]
			if rapid.IntRange(0, 2).Draw(t, "restart") == 0 {
				many.restart(t)
			}
		}
		if !reflect.DeepEqual(one.partials, many.partials) {
			t.Fatalf("partials differ")
		}
		for _, id := range ids {
			a, b := one.states[id], many.states[id]
			if (a == nil) != (b == nil) {
				t.Fatalf("session %s: a document in one fold only", id)
			}
			if a == nil {
				continue
			}
			if !state.Same(a, b) {
				t.Fatalf("session %s: %+v, in batches %+v", id, a.Info, b.Info)
			}
			x, y := one.rows[id], many.rows[id]
			if x.base != y.base || !slices.Equal(x.log[:a.Slots], y.log[:a.Slots]) || !slices.Equal(x.history, y.history) {
				t.Fatalf("session %s: durable rows differ", id)
			}
			applied += int(a.Applied)
			others += int(a.Rejected + a.StaleCount + a.Duplicates)
			if a.Base > 0 {
				rebased++
			}
		}
		one.restart(t)
	})
}

// TestApplyLeavesStateAlone: folding changes neither the documents nor the
// partials that it was given.
func TestApplyLeavesStateAlone(t *testing.T) {
	s := newStateSource(wire.RoleLane)
	id := wire.ID{15: 1}
	for i := range 30 {
		s.fold(t, []wire.Raw{s.raw(uint64(i), id, wire.OpStateDelta, wire.ContentJSON, fmt.Appendf(nil, `{"base_revision":%d,"op_id":"%d","patch":[{"op":"add","path":"/k%d","value":[%d]}]}`, i, i, i%7, i))})
	}
	raw := s.raw(30, id, wire.OpStateDelta, wire.ContentJSON, []byte(`{"base_revision":30,"op_id":"x","patch":[{"op":"add","path":"/k1/0","value":1},{"op":"remove","path":"/k2"}]}`))
	recs := wire.NewAGDXDecoder().Decode(s.src, []wire.Raw{raw})
	before, info := s.states[id].Doc.Text(), *s.partials[id].State
	first := new(Scratch).Apply(&Config{}, s.src, s.front, s.partials, s.states, recs)
	for range 50 {
		again := new(Scratch).Apply(&Config{}, s.src, s.front, s.partials, s.states, recs)
		if !state.Same(again.Sessions[0].State.State, first.Sessions[0].State.State) || !reflect.DeepEqual(again.Sessions[0].New, first.Sessions[0].New) {
			t.Fatal("the same fold gives another result")
		}
	}
	if s.states[id].Doc.Text() != before || *s.partials[id].State != info {
		t.Error("the state that was given has changed")
	}
}

// TestStateNeedsItsDocument: a batch whose document was not loaded is a broken
// invariant, not a fresh start.
func TestStateNeedsItsDocument(t *testing.T) {
	s := newStateSource(wire.RoleLane)
	id := wire.ID{15: 1}
	body := []byte(`{"base_revision":0,"op_id":"a","patch":[]}`)
	s.fold(t, []wire.Raw{s.raw(0, id, wire.OpStateDelta, wire.ContentJSON, body)})
	recs := wire.NewAGDXDecoder().Decode(s.src, []wire.Raw{s.raw(1, id, wire.OpStateDelta, wire.ContentJSON, body)})
	for name, states := range map[string]map[wire.ID]*state.State{"none": nil, "another": {id: state.New()}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: folded without the document", name)
				}
			}()
			new(Scratch).Apply(&Config{}, s.src, s.front, s.partials, states, recs)
		}()
	}
}

// TestHistoryIsAWindow: after 1,000 outcomes the oldest go, and their ids may be
// used again.
func TestHistoryIsAWindow(t *testing.T) {
	s := newStateSource(wire.RoleLane)
	id := wire.ID{15: 1}
	next := uint64(0)
	delta := func(base uint64, op string) string {
		s.fold(t, []wire.Raw{s.raw(next, id, wire.OpStateDelta, wire.ContentJSON, fmt.Appendf(nil, `{"base_revision":%d,"op_id":%q,"patch":[]}`, base, op))})
		next++
		return s.rows[id].history[len(s.rows[id].history)-1].Outcome.String()
	}
	if got := delta(0, "first"); got != "applied" {
		t.Fatal(got)
	}
	for range 999 {
		if got := delta(1, "first"); got != "duplicate" {
			t.Fatalf("at %d: %s", next-1, got)
		}
	}
	// The applied operation is the oldest of 1,000 kept outcomes: still known.
	// With one more it is not.
	s.restart(t)
	if got := delta(1, "second"); got != "applied" {
		t.Fatal(got)
	}
	s.restart(t)
	if got := delta(2, "first"); got != "applied" {
		t.Errorf("an id that left the history: %s", got)
	}
	if n := len(s.rows[id].history); n != state.HistoryLen {
		t.Errorf("%d entries", n)
	}
}

// TestLaneConflictDocument: of two lanes the document shows whose first state
// record has the smaller address.
func TestLaneConflictDocument(t *testing.T) {
	id := wire.ID{15: 1}
	a, b := newStateSource(wire.RoleLane), newStateSource(wire.RoleLane)
	b.src = wire.NewSource("s", "s.agent.sessions", 1, 1, wire.RoleLane, wire.DialectAGDX)
	body := []byte(`{"base_revision":0,"op_id":"a","patch":[]}`)
	a.time = 5000
	b.fold(t, []wire.Raw{b.raw(0, id, wire.OpStateDelta, wire.ContentJSON, body)})
	a.fold(t, []wire.Raw{a.raw(0, id, wire.OpStateDelta, wire.ContentJSON, body)})
	ks := []Keyed{{a.src, a.partials[id], 1}, {b.src, b.partials[id], 1}}
	for range 2 {
		if s := Merge(id, ks); s.State == nil || s.State.Source.Partition != 1 || !s.LaneConflict {
			t.Errorf("the document of %v, lane_conflict %v", s.State, s.LaneConflict)
		}
		slices.Reverse(ks)
	}
}
