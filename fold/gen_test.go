package fold

import (
	"fmt"

	"pgregory.net/rapid"

	"sessionfold/wire"
)

// sessionID is the i-th session of generated logs; the ids are not in the order
// of their numbers, so that sorting is seen.
func sessionID(i int) wire.ID {
	return wire.ID{0: byte(i*37 + 11), 7: byte(i), 15: byte(255 - i)}
}

var genLabels = []string{"", "plan", "a\x00b", "\xff\xfe", "ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé"}

// genContent draws what a record says, without place and time.
func genContent(t *rapid.T, sessions int) wire.Record {
	rec := wire.Record{Kind: wire.KindEvent, Display: wire.DisplayAgentMessage}
	if rapid.IntRange(0, 9).Draw(t, "attributed") > 0 {
		rec.Session, rec.HasSession = sessionID(rapid.IntRange(0, sessions-1).Draw(t, "session")), true
	}
	if rapid.Bool().Draw(t, "author") {
		rec.Agent = fmt.Appendf(nil, "agent-%d", rapid.IntRange(0, 29).Draw(t, "agent"))
		rec.Facts |= wire.FactAuthor
	}
	switch rapid.IntRange(0, 18).Draw(t, "shape") {
	case 0:
		rec.Display, rec.Kind = wire.DisplayUndecodable, wire.KindUndecodable
	case 1:
		rec.Display = wire.DisplayInvalid
	case 2:
		rec.Facts = wire.FactHeartbeat
	case 3:
		rec.Facts |= wire.FactNoRow
	case 4:
		rec.Facts |= wire.Fact(rapid.IntRange(0, 31).Draw(t, "facts"))
	case 5, 6:
		rec.Facts |= wire.FactUsage
		rec.Usage = genUsage(t)
	case 7:
		rec.HasParent, rec.Parent = true, sessionID(rapid.IntRange(0, 40).Draw(t, "parent"))
		rec.HasRoot, rec.Root = rapid.Bool().Draw(t, "rooted"), sessionID(rapid.IntRange(0, 40).Draw(t, "root"))
	case 8, 9:
		rec.Facts |= wire.FactLane
		rec.Lifecycle = genLifecycle(t)
	case 12, 13, 14, 15:
		rec.Rare = genRare(t, rec.Session, sessions)
	case 16, 17, 18:
		rec.Display, rec.Facts = wire.DisplayStateUpdated, rec.Facts|wire.FactLane
		rec.Rare = &wire.Rare{State: genState(t)}
	}
	return rec
}

// genRare draws what few records carry, but for state records, which lie on the
// lane.
func genRare(t *rapid.T, id wire.ID, sessions int) *wire.Rare {
	switch rapid.SampledFrom([]string{"control", "control", "parking", "parking", "refused", "links", "links", "signed"}).Draw(t, "rare") {
	case "control":
		return &wire.Rare{Control: &wire.Control{
			Op:           rapid.SampledFrom([]wire.ControlOp{wire.ControlPause, wire.ControlPause, wire.ControlPause, wire.ControlResume, wire.ControlCancel}).Draw(t, "asked"),
			Participants: rapid.SliceOfN(rapid.SampledFrom([][]byte{[]byte("ann"), []byte("bob"), []byte("eve")}), 0, 4).Draw(t, "participants"),
		}}
	case "parking":
		p := &wire.Parking{Unparked: rapid.Bool().Draw(t, "unparked")}
		p.Source.Offset, p.Role = rapid.Uint64Range(0, 4).Draw(t, "parked"), []byte("ann")
		return &wire.Rare{Parking: p}
	case "refused":
		return &wire.Rare{LinkRefused: true}
	case "signed":
		r := &wire.Rare{
			Verdict: rapid.SampledFrom([]wire.Verdict{wire.Verified, wire.UnknownKey, wire.WrongSignature}).Draw(t, "verdict"),
			Keys:    rapid.Uint64Range(0, 2).Draw(t, "keys"),
		}
		if r.Verdict == wire.Verified {
			r.Actor = "ann"
		}
		return r
	}
	links := make([]wire.Link, rapid.IntRange(1, 3).Draw(t, "links"))
	for i := range links {
		l := wire.Link{Session: id, Surface: wire.SurfaceKV, Relation: wire.LinkRelation(rapid.IntRange(1, 3).Draw(t, "relation"))}
		l.Item = []byte(rapid.SampledFrom(genLabels).Draw(t, "item"))
		if rapid.Bool().Draw(t, "other") {
			l.Session = sessionID(rapid.IntRange(0, sessions).Draw(t, "linked")) // one more than write
		}
		links[i] = l
	}
	return &wire.Rare{Links: links}
}

// genState draws a state record without knowing the revision that it meets: what
// becomes of it differs, and now and then it applies.
func genState(t *rapid.T) *wire.StateRecord {
	base := rapid.IntRange(0, 3).Draw(t, "base")
	value := rapid.SampledFrom([]string{`1`, `"text"`, `[]`, `{"deep":[null]}`}).Draw(t, "value")
	if rapid.IntRange(0, 5).Draw(t, "snapshot") == 0 {
		return wire.DecodeState(true, wire.ContentJSON, fmt.Appendf(nil, `{"base_revision":%d,"document":{"a":%s}}`, base, value))
	}
	op := rapid.SampledFrom([]string{"add", "add", "add", "remove", "no operation"}).Draw(t, "operation")
	path := rapid.SampledFrom([]string{"/a", "/b", "/a/-"}).Draw(t, "path")
	return wire.DecodeState(false, wire.ContentJSON, fmt.Appendf(nil,
		`{"base_revision":%d,"op_id":"op-%d","patch":[{"op":%q,"path":%q,"value":%s}]}`, base, rapid.IntRange(0, 9).Draw(t, "op id"), op, path, value))
}

func genUsage(t *rapid.T) *wire.Usage {
	n := rapid.OneOf(rapid.Uint64Range(0, 1000), rapid.Uint64())
	return &wire.Usage{
		In: n.Draw(t, "in"), Out: n.Draw(t, "out"), CacheRead: n.Draw(t, "cacheRead"), CacheWrite: n.Draw(t, "cacheWrite"),
		Reasoning: n.Draw(t, "reasoning"), CostNano: n.Draw(t, "cost"), Has: wire.UsageHas(rapid.IntRange(0, 15).Draw(t, "has")),
	}
}

func genLifecycle(t *rapid.T) *wire.Lifecycle {
	l := &wire.Lifecycle{Status: wire.Status(rapid.IntRange(int(wire.StatusNone), int(wire.StatusCanceled)).Draw(t, "status"))}
	if l.Status.Terminal() {
		l.Reason = []byte(rapid.SampledFrom(genLabels).Draw(t, "reason"))
		l.HasError, l.ErrorCode = rapid.Bool().Draw(t, "failed"), rapid.Byte().Draw(t, "code")
	} else if rapid.Bool().Draw(t, "acknowledges") {
		// Which record of the log this is, the layouts say; elsewhere it is none.
		l.Acknowledge = &wire.Pos{Stream: wire.NameID("s"), Offset: rapid.Uint64Range(0, 40).Draw(t, "request")}
	} else if rapid.Bool().Draw(t, "starts") {
		l.Start = &wire.Start{
			HasLabel: true, Label: []byte(rapid.SampledFrom(genLabels).Draw(t, "label")),
			Agent:  fmt.Appendf(nil, "agent-%d", rapid.IntRange(0, 29).Draw(t, "owner")),
			Tags:   [][]byte{[]byte("t1"), []byte(rapid.SampledFrom(genLabels).Draw(t, "tag"))},
			HasSDK: true, SDKLanguage: []byte("go"), SDKVersion: []byte("1"),
			HasBudget: true, HasBudgetTokens: true, BudgetTokens: rapid.Uint64Range(0, 2000).Draw(t, "budget"),
			HasParent: rapid.Bool().Draw(t, "child"), Parent: sessionID(41),
		}
	}
	return l
}

// genLog draws the log of one source: offsets ascend with holes, times wander
// and may fall.
func genLog(t *rapid.T, label string, most, sessions int) []wire.Record {
	n := rapid.IntRange(0, most).Draw(t, label)
	recs := make([]wire.Record, n)
	offset, time := uint64(0), uint64(1_000_000)
	for i := range recs {
		recs[i] = genContent(t, sessions)
		offset += uint64(rapid.SampledFrom([]int{0, 0, 0, 1, 7}).Draw(t, "hole"))
		time += uint64(rapid.IntRange(-3, 5).Draw(t, "step") * 1000)
		recs[i].Offset, recs[i].Time = offset, time
		offset++
	}
	return recs
}

// newFolded is an empty source.
func newFolded(topic string, partition uint32) *folded {
	return &folded{
		src:      wire.NewSource("s", topic, 1, partition, wire.RoleOf("s", topic), wire.DialectAGDX),
		partials: map[wire.ID]*Partial{},
	}
}

// keyed gives the session's partials of the sources.
func keyed(id wire.ID, sources []*folded) []Keyed {
	var ks []Keyed
	for _, f := range sources {
		if p := f.partials[id]; p != nil {
			ks = append(ks, Keyed{Source: f.src, Partial: p, Next: f.front.Next})
		}
	}
	return ks
}
