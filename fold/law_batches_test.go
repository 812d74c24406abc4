package fold

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessionfold/testenv/reach"
	"sessionfold/wire"
)

// rowText is a row as a digest sees it.
type rowText struct {
	Time, Offset uint64
	Display      wire.Display
}

// outcome is all that the fold of a log leaves, but for what batches are free
// to differ in: the number of change rows.
type outcome struct {
	Partials map[wire.ID]*Partial
	Docs     map[wire.ID]string // state documents
	Rows     map[wire.ID][]rowText
	Frontier Frontier
	Changed  map[wire.ID]uint64 // session → last position that a change row named
}

// foldCut folds the log in batches that end before the indexes in cuts, and
// with the log start moved to expire[i] before the record i.
func foldCut(t interface{ Fatalf(string, ...any) }, cfg *Config, recs []wire.Record, cuts []int, expire map[int]uint64) outcome {
	f := newFolded("s.agent.sessions", 0)
	out := outcome{Docs: map[wire.ID]string{}, Rows: map[wire.ID][]rowText{}, Changed: map[wire.ID]uint64{}}
	next, seq := uint64(0), uint64(0)
	step := func(batch []wire.Record) {
		s := f.fold(cfg, batch)
		if s == nil {
			return
		}
		if s.From != next || s.To < s.From {
			t.Fatalf("step %d to %d does not follow %d", s.From, s.To, next)
		}
		next = s.To + 1
		for i := range s.Sessions {
			for _, r := range s.Sessions[i].Rows {
				out.Rows[s.Sessions[i].ID] = append(out.Rows[s.Sessions[i].ID], rowText{r.Time, r.Rec.Offset, r.Rec.Display})
			}
		}
		for _, c := range s.Changes {
			if seq++; c.Seq != seq {
				t.Fatalf("change row %d where %d is due", c.Seq, seq)
			}
			for i, id := range c.Sessions {
				out.Changed[id] = c.Positions[i].Offset
			}
		}
	}
	from := 0
	for i := range recs {
		to, gone := expire[i]
		if i > from && (gone || slices.Contains(cuts, i)) {
			step(recs[from:i])
			from = i
		}
		if gone {
			f.front = f.front.Expire(to, GapExpiredBeforeFold)
			if slices.Contains(cuts, -i) { // the gap is committed before anything is read behind it
				step(nil)
			}
		}
	}
	step(recs[from:])
	f.front.Seq = 0
	out.Partials, out.Frontier = f.partials, f.front
	for id, s := range f.states {
		out.Docs[id] = s.Doc.Text()
	}
	return out
}

// everything counts partials with what few records bring about, and those that
// have several of it at once.
type everything struct{ applied, notApplied, links, controls, acks, held, several int }

func (e *everything) cases() map[string]*int {
	return map[string]*int{
		"an applied state record": &e.applied, "a state record that is not applied": &e.notApplied, "links": &e.links,
		"a control request": &e.controls, "an acknowledgment": &e.acks, "held work": &e.held, "state, links, control and held work of one session": &e.several,
	}
}

func (e *everything) count(p *Partial) {
	a := p.Aside
	if a == nil {
		a = &Aside{}
	}
	kinds := 0
	add := func(to *int, is bool) {
		if is {
			*to++
			kinds++
		}
	}
	if s := p.State; s != nil {
		add(&e.applied, s.Applied > 0)
		if s.Rejected+s.StaleCount+s.Duplicates > 0 {
			e.notApplied++
		}
	}
	add(&e.links, p.Links != nil)
	add(&e.controls, a.Control != nil)
	add(&e.held, a.Held != nil && len(a.Held.Open) > 0)
	if kinds == 4 {
		e.several++
	}
	if len(a.Acks) > 0 {
		e.acks++
	}
}

// TestLawBatches: the same records give the same partials, rows, gaps and
// changed sessions, however they are cut into batches (law 1).
func TestLawBatches(t *testing.T) {
	met := everything{}
	reach.Check(t, met.cases(), func(t *rapid.T) {
		cfg := &Config{TimelineCap: uint64(rapid.IntRange(1, 12).Draw(t, "cap"))}
		recs := genLog(t, "records", 80, rapid.IntRange(1, 4).Draw(t, "sessions"))
		expire := map[int]uint64{}
		cuts := []int{}
		for i := 1; i < len(recs); i++ {
			if rapid.IntRange(0, 9).Draw(t, "expire") == 0 {
				expire[i] = recs[i].Offset
				cuts = append(cuts, rapid.SampledFrom([]int{0, -i}).Draw(t, "commitGap"))
			}
			if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
				cuts = append(cuts, i)
			}
		}
		whole := foldCut(t, cfg, recs, nil, expire)
		for _, p := range whole.Partials {
			met.count(p)
		}
		if d := cmp.Diff(whole, foldCut(t, cfg, recs, cuts, expire)); d != "" {
			t.Fatalf("cut before %v (whole -, cut +):\n%s", cuts, d)
		}
		single := make([]int, len(recs))
		for i := range single {
			single[i] = i
		}
		if d := cmp.Diff(whole, foldCut(t, cfg, recs, single, expire)); d != "" {
			t.Fatalf("one record a batch (whole -, cut +):\n%s", d)
		}
		checkAccounting(t, recs, whole)
	})
}

// checkAccounting: every record is a row, or a number that says why not.
func checkAccounting(t *rapid.T, recs []wire.Record, o outcome) {
	rows, hidden, heartbeats := 0, 0, 0
	for id, p := range o.Partials {
		rows += len(o.Rows[id])
		hidden += int(p.Records) - len(o.Rows[id])
		if p.Truncated == (p.TruncatedFrom == 0) && p.Records > 0 {
			t.Fatalf("%s: truncated=%t from %d", id, p.Truncated, p.TruncatedFrom)
		}
	}
	for i := range recs {
		if recs[i].Facts&wire.FactHeartbeat != 0 {
			heartbeats++
		}
	}
	if n := rows + hidden + heartbeats + int(o.Frontier.Unattributed); n != len(recs) {
		t.Fatalf("%d records: %d rows, %d counted without a row, %d unattributed, %d heartbeats", len(recs), rows, hidden, o.Frontier.Unattributed, heartbeats)
	}
}

// cloneGroups gives a partial groups of its own, so that a change to them is
// seen beside the original.
func cloneGroups(p *Partial) {
	if p.Links != nil {
		l := *p.Links
		l.List = slices.Clone(l.List)
		p.Links = &l
	}
	if p.State != nil {
		s := *p.State
		p.State = &s
	}
	if p.Aside == nil {
		return
	}
	a := *p.Aside
	a.Acks, a.Kin = slices.Clone(a.Acks), slices.Clone(a.Kin)
	if a.Control != nil {
		c := *a.Control
		c.Participants = slices.Clone(c.Participants)
		a.Control = &c
	}
	if a.Held != nil {
		a.Held = &Held{Open: slices.Clone(a.Held.Open), Done: slices.Clone(a.Held.Done)}
	}
	p.Aside = &a
}

// TestApplyIsAFunction: 50 runs over 32 sessions give the same bytes, with maps
// filled in another order each time, and change none of what they were given.
func TestApplyIsAFunction(t *testing.T) {
	recs := rapid.Custom(func(t *rapid.T) []wire.Record { return genLog(t, "records", 400, 32) }).
		Filter(func(recs []wire.Record) bool { return len(recs) > 200 }).Example(1)
	half := len(recs) / 2
	before := newFolded("s.agent.sessions", 0)
	before.fold(&Config{}, recs[:half])
	d := dumper{names: map[wire.ID]string{}}
	var want string
	for run := range 50 {
		f := &folded{src: before.src, front: before.front, partials: map[wire.ID]*Partial{}}
		ids := slices.Collect(maps.Keys(before.partials)) // in the map's own random order
		for _, id := range ids {
			p := *before.partials[id]
			p.Agents = slices.Clone(p.Agents)
			cloneGroups(&p)
			f.partials[id] = &p
		}
		given := maps.Clone(f.partials)
		step := new(Scratch).Apply(&Config{TimelineCap: 9}, f.src, f.front, f.partials, before.states, recs[half:])
		if len(step.Sessions) < 20 {
			t.Fatalf("only %d sessions: the log says too little", len(step.Sessions))
		}
		got := d.step(step)
		if run == 0 {
			want = got
		} else if got != want {
			t.Fatalf("run %d differs:\n%s", run, cmp.Diff(want, got))
		}
		if !maps.Equal(given, f.partials) {
			t.Fatal("the map was changed")
		}
		for id, p := range before.partials {
			if !reflect.DeepEqual(p, f.partials[id]) {
				t.Fatalf("partial of %s was changed", id)
			}
		}
	}
}
