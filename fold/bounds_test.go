package fold

import (
	"fmt"
	"slices"
	"testing"

	"sessionfold/wire"
)

// rareLog makes n records of one session, each with what fill gives.
func rareLog(n int, fill func(i int, rec *wire.Record)) []wire.Record {
	recs := slices.Repeat([]wire.Record{{}}, n)
	for i := range recs {
		recs[i] = wire.Record{
			Offset: uint64(i), Time: uint64(i) * 1000, Session: wire.ID{1}, HasSession: true,
			Kind: wire.KindEvent, Display: wire.DisplayAgentMessage, Agent: []byte("ann"),
		}
		fill(i, &recs[i])
	}
	return recs
}

func parking(i int, unparked bool) *wire.Rare {
	p := &wire.Parking{Unparked: unparked}
	p.Source.Offset, p.Role, p.Request = uint64(i), []byte("ann"), []byte("r")
	return &wire.Rare{Parking: p}
}

// foldOf folds the log in batches and gives the session's partial.
func foldOf(topic string, recs []wire.Record, batch int) *Partial {
	f := newFolded(topic, 0)
	for len(recs) > 0 {
		n := min(batch, len(recs))
		f.fold(&Config{}, recs[:n])
		recs = recs[n:]
	}
	return f.partials[wire.ID{1}]
}

// TestBounds: what a set turns away is told; those that came first are kept and
// go on being updated.
func TestBounds(t *testing.T) {
	const lane = "s.agent.sessions"
	over := func(p *Partial) bool { return p.Flags&FlagOverflow != 0 }
	for _, n := range []int{MaxSet, MaxSet + 1} {
		for _, batch := range []int{7, 5000} {
			want := n > MaxSet
			p := foldOf(lane, rareLog(n, func(i int, rec *wire.Record) { rec.Rare = parking(i, false) }), batch)
			if got := len(p.Aside.Held.Open); got != MaxSet || over(p) != want {
				t.Errorf("%d parked in batches of %d: %d wait, overflow %t", n, batch, got, over(p))
			}
			p = foldOf(lane, rareLog(n, func(i int, rec *wire.Record) { rec.Rare = parking(i, true) }), batch)
			if got := p.Aside.Held.Done; len(got) != MaxSet || got[MaxSet-1] != parkID(&parking(n-1, true).Parking.SessionParking) || over(p) != want {
				t.Errorf("%d taken up in batches of %d: %d known, overflow %t", n, batch, len(got), over(p))
			}
			p = foldOf(lane, rareLog(n+1, func(i int, rec *wire.Record) {
				l := wire.Link{Session: rec.Session, Surface: wire.SurfaceKV, Relation: wire.RelationWrote, Item: fmt.Append(nil, i)}
				if i == n { // the first link once more
					l.Item = []byte("0")
				}
				rec.Rare = &wire.Rare{Links: []wire.Link{l}}
			}), batch)
			if got := len(p.Links.List); got != MaxSet || p.Links.N != MaxSet || p.Links.Over != want || over(p) != want {
				t.Errorf("%d links in batches of %d: %d kept, over %t, overflow %t", n, batch, got, p.Links.Over, over(p))
			}
			if l := p.Links.List[0]; l.Item != "0" || l.First.Offset != 0 || l.Last.Offset != uint64(n) {
				t.Errorf("the first link: %+v", l)
			}
			p = foldOf(lane, rareLog(n+1, func(i int, rec *wire.Record) {
				at := wire.Pos{Stream: wire.NameID("s"), Topic: 7, Partition: uint32(i % n), Offset: uint64(i)}
				rec.Lifecycle = &wire.Lifecycle{Status: wire.StatusPaused, Acknowledge: &at}
			}), batch)
			if got := p.Aside.Acks; len(got) != MaxSet || got[0].Offset != uint64(n) || over(p) != want {
				t.Errorf("%d acknowledgments in batches of %d: %d kept, overflow %t", n, batch, len(got), over(p))
			}
			p = foldOf("s.agent.control", rareLog(1, func(i int, rec *wire.Record) {
				c := &wire.Control{Op: wire.ControlPause}
				for j := range n {
					c.Participants = append(c.Participants, fmt.Append(nil, j))
				}
				rec.Rare = &wire.Rare{Control: c}
			}), batch)
			if got := len(p.Aside.Control.Participants); got != MaxSet || over(p) != want {
				t.Errorf("%d participants: %d kept, overflow %t", n, got, over(p))
			}
		}
	}
	for _, n := range []int{MaxKin + 1, MaxKin + 2} {
		p := foldOf(lane, rareLog(n, func(i int, rec *wire.Record) { rec.HasParent, rec.Parent = true, sessionID(i) }), 5)
		if got := len(p.Aside.Kin); got != MaxKin || over(p) != (n > MaxKin+1) {
			t.Errorf("%d parents: %d beside the first, overflow %t", n, got, over(p))
		}
	}
}

// TestAnotherStreamIsNotAcknowledged: a locator of another stream matches
// nothing, not even by chance.
func TestAnotherStreamIsNotAcknowledged(t *testing.T) {
	p := foldOf("s.agent.sessions", rareLog(1, func(i int, rec *wire.Record) {
		rec.Lifecycle = &wire.Lifecycle{Status: wire.StatusPaused, Acknowledge: &wire.Pos{Stream: 1, Topic: wire.NameID("s.agent.control")}}
	}), 1)
	if p.Aside != nil {
		t.Errorf("kept: %+v", p.Aside)
	}
}

// TestParkIdentity: every part tells parkings apart, and parts do not run into
// each other.
func TestParkIdentity(t *testing.T) {
	base := wire.SessionParking{Source: wire.Pos{Stream: 1, Topic: 2, Generation: 3, Partition: 4, Offset: 5}, Role: []byte("ab"), Request: []byte("c")}
	seen := map[ParkID]string{parkID(&base): "base"}
	for name, change := range map[string]func(p *wire.SessionParking){
		"stream": func(p *wire.SessionParking) { p.Source.Stream++ }, "topic": func(p *wire.SessionParking) { p.Source.Topic++ },
		"generation": func(p *wire.SessionParking) { p.Source.Generation++ }, "partition": func(p *wire.SessionParking) { p.Source.Partition++ },
		"offset": func(p *wire.SessionParking) { p.Source.Offset++ }, "agent": func(p *wire.SessionParking) { p.Role = []byte("b") },
		"request": func(p *wire.SessionParking) { p.Request = []byte("d") },
		"shifted": func(p *wire.SessionParking) { p.Role, p.Request = []byte("a"), []byte("bc") },
	} {
		p := base
		change(&p)
		if other, twice := seen[parkID(&p)]; twice {
			t.Errorf("%s is the same parking as %s", name, other)
		}
		seen[parkID(&p)] = name
	}
	base.HasConversation, base.Conversation = true, wire.ID{9}
	if seen[parkID(&base)] != "base" {
		t.Error("the conversation is part of the identity")
	}
}
