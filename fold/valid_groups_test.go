package fold

import (
	"slices"
	"strings"
	"testing"

	"sessionfold/wire"
)

// groupStep is a step on top of an earlier one, of a session a with every group
// and of a session m that is only linked to.
func groupStep(t *testing.T) *Step {
	t.Helper()
	f := newFolded("s.agent.sessions", 0)
	a, m := wire.ID{1}, wire.ID{2}
	rec := func(offset uint64, fill func(r *wire.Record)) wire.Record {
		r := wire.Record{Offset: offset, Time: offset * 1000, Session: a, HasSession: true, Display: wire.DisplayAgentMessage, Agent: []byte("ann")}
		fill(&r)
		return r
	}
	link := func(id wire.ID, items ...string) func(r *wire.Record) {
		return func(r *wire.Record) {
			r.Rare = &wire.Rare{}
			for _, item := range items {
				r.Rare.Links = append(r.Rare.Links, wire.Link{Session: id, Surface: wire.SurfaceKV, Relation: wire.RelationWrote, Item: []byte(item)})
			}
		}
	}
	parent := func(id wire.ID) func(r *wire.Record) {
		return func(r *wire.Record) { r.HasParent, r.Parent = true, id }
	}
	ack := func(topic uint32) func(r *wire.Record) {
		return func(r *wire.Record) {
			r.Lifecycle = &wire.Lifecycle{Status: wire.StatusPaused, Acknowledge: &wire.Pos{Stream: f.src.StreamID, Topic: topic}}
		}
	}
	one := []wire.Record{rec(0, link(a, "x", "y")), rec(1, parent(wire.ID{8})), rec(2, parent(wire.ID{9})), rec(3, ack(1))}
	one = append(one, rec(4, link(m, "z")))
	f.fold(&Config{}, one)
	return f.fold(&Config{}, []wire.Record{
		rec(5, link(a, "w")), rec(6, parent(wire.ID{8})), rec(7, ack(2)), rec(8, func(r *wire.Record) { r.Rare = parking(1, false); r.Rare.Verdict, r.Rare.Keys = wire.Verified, 7 }), rec(9, link(m, "z")),
	})
}

func TestValidSeesEveryFaultOfGroups(t *testing.T) {
	if err := groupStep(t).valid(true); err != nil {
		t.Fatalf("the good step: %v", err)
	}
	a, m := func(s *Step) *Partial { return s.Sessions[0].New }, func(s *Step) *Partial { return s.Sessions[1].New }
	// Groups are shared with the step before: each fault is made on a copy.
	aside := func(p *Partial, change func(a *Aside)) { change(p.aside()) }
	links := func(p *Partial, change func(l *Links)) {
		l := *p.Links
		l.List = slices.Clone(l.List)
		change(&l)
		p.Links = &l
	}
	for name, breakIt := range map[string]func(s *Step){
		"mention lost":         func(s *Step) { aside(m(s), func(a *Aside) { a.Mention = nil }) },
		"mention moved":        func(s *Step) { aside(m(s), func(a *Aside) { a.Mention = &Stamp{Offset: 9} }) },
		"mention late":         func(s *Step) { aside(a(s), func(a *Aside) { a.Mention = &Stamp{Offset: 9} }) },
		"naming before first":  func(s *Step) { a(s).ParentLast = Stamp{} },
		"further parent lost":  func(s *Step) { aside(a(s), func(a *Aside) { a.Kin = nil }) },
		"too many parents":     func(s *Step) { aside(a(s), func(a *Aside) { a.Kin = make([]Kin, MaxKin+1) }) },
		"acks out of order":    func(s *Step) { aside(a(s), func(a *Aside) { a.Acks = slices.Clone(a.Acks); slices.Reverse(a.Acks) }) },
		"too many acks":        func(s *Step) { aside(a(s), func(a *Aside) { a.Acks = make([]Ack, MaxSet+1) }) },
		"too much held":        func(s *Step) { aside(a(s), func(a *Aside) { a.Held = &Held{Open: make([]Parked, MaxSet+1)} }) },
		"links lost":           func(s *Step) { a(s).Links = nil },
		"link count":           func(s *Step) { links(a(s), func(l *Links) { l.N++ }) },
		"links out of order":   func(s *Step) { links(a(s), func(l *Links) { l.List[0], l.List[1] = l.List[1], l.List[0] }) },
		"a link forgotten":     func(s *Step) { links(a(s), func(l *Links) { l.List, l.N = l.List[:1], 1 }) },
		"links not written":    func(s *Step) { m(s).Links = s.Sessions[1].Old.Links },
		"last of a link":       func(s *Step) { s.Sessions[1].Last-- },
		"last before the link": func(s *Step) { links(m(s), func(l *Links) { l.List[0].Last.Offset = 8 }) },
		"refused fell":         func(s *Step) { s.Before.LinksRefused = 1 },
		"verified fell":        func(s *Step) { s.Before.Signatures.Verified = 2 },
		"unknown keys fell":    func(s *Step) { s.Before.Signatures.Unknown = 1 },
		"wrong fell":           func(s *Step) { s.Before.Signatures.Wrong = 1 },
		"more than records":    func(s *Step) { s.Frontier.Signatures.Wrong = 99 },
		"keys of nobody":       func(s *Step) { s.Before.Signatures.Verified = 1; s.Before.Signatures.Keys = 6 },
		"keys of the future":   func(s *Step) { s.Frontier.Signatures.From = 100 },
		"keys of the past":     func(s *Step) { s.Frontier.Signatures.From = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			s := groupStep(t)
			breakIt(s)
			err := s.valid(true)
			if err == nil {
				t.Fatal("not seen")
			}
			if !strings.Contains(err.Error(), "s.agent.sessions[0] offsets") {
				t.Errorf("without a position: %v", err)
			}
		})
	}
}
