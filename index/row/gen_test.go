package row

import (
	"reflect"

	"pgregory.net/rapid"

	"sessionfold/fold"
	"sessionfold/wire"
)

// Generators of values that a fold can make.

var (
	genNumber = rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(0, 1<<20), rapid.Uint64())
	genText   = rapid.OneOf(rapid.SampledFrom([]string{"", "a", "planner", "naïve ☃"}), rapid.StringN(0, 20, 60))
	genID     = rapid.Custom(func(t *rapid.T) (id wire.ID) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		return id
	})
	genStamp = rapid.Custom(func(t *rapid.T) fold.Stamp {
		return fold.Stamp{Time: genNumber.Draw(t, "time"), Offset: genNumber.Draw(t, "offset")}
	})
	genNamed = rapid.Custom(func(t *rapid.T) fold.Named {
		if !rapid.Bool().Draw(t, "set") {
			return fold.Named{}
		}
		return fold.Named{ID: genID.Draw(t, "id"), At: genStamp.Draw(t, "at"), Set: true}
	})
	genStart = rapid.Custom(func(t *rapid.T) *fold.Start {
		s := &fold.Start{
			At: genStamp.Draw(t, "at"), Agent: genText.Draw(t, "agent"), NativeID: genText.Draw(t, "native"),
			IdleTimeout: genNumber.Draw(t, "idle"), HasBudget: rapid.Bool().Draw(t, "budget"),
		}
		if s.HasLabel = rapid.Bool().Draw(t, "has label"); s.HasLabel {
			s.Label = genText.Draw(t, "label")
		}
		if s.HasNamespace = rapid.Bool().Draw(t, "has namespace"); s.HasNamespace {
			s.Namespace = genText.Draw(t, "namespace")
		}
		if s.HasSDK = rapid.Bool().Draw(t, "has sdk"); s.HasSDK {
			s.SDKLanguage, s.SDKVersion = genText.Draw(t, "language"), genText.Draw(t, "version")
		}
		if n := rapid.IntRange(0, 16).Draw(t, "tags"); n > 0 {
			s.Tags = rapid.SliceOfN(genText, n, n).Draw(t, "tag")
		}
		if s.HasBudgetTokens = rapid.Bool().Draw(t, "has tokens"); s.HasBudgetTokens {
			s.BudgetTokens = genNumber.Draw(t, "tokens")
		}
		if s.HasBudgetCost = rapid.Bool().Draw(t, "has cost"); s.HasBudgetCost {
			s.BudgetCostMicros = genNumber.Draw(t, "cost")
		}
		if s.HasParent = rapid.Bool().Draw(t, "has parent"); s.HasParent {
			s.Parent = genID.Draw(t, "parent")
		}
		if s.HasRoot = rapid.Bool().Draw(t, "has root"); s.HasRoot {
			s.Root = genID.Draw(t, "root")
		}
		return s
	})
	genEnd = rapid.Custom(func(t *rapid.T) *fold.End {
		e := &fold.End{
			At: genStamp.Draw(t, "at"), Status: wire.Status(rapid.Uint8().Draw(t, "status")),
			Reason: genText.Draw(t, "reason"), Forced: rapid.Bool().Draw(t, "forced"),
		}
		if e.HasCode = rapid.Bool().Draw(t, "has code"); e.HasCode {
			e.Code = rapid.Uint8().Draw(t, "code")
		}
		return e
	})
	genPartial = rapid.Custom(func(t *rapid.T) *fold.Partial {
		p := &fold.Partial{
			First: genStamp.Draw(t, "first"), Last: genStamp.Draw(t, "last"),
			Records: genNumber.Draw(t, "records"), Rows: genNumber.Draw(t, "rows"),
			Flags:  fold.Flag(rapid.Uint16().Draw(t, "flags")),
			Parent: genNamed.Draw(t, "parent"), Root: genNamed.Draw(t, "root"),
		}
		if rapid.Bool().Draw(t, "start") {
			p.Start = genStart.Draw(t, "a start")
		}
		if rapid.Bool().Draw(t, "status") {
			p.Status, p.StatusAt = wire.Status(rapid.Uint8Range(1, 9).Draw(t, "which")), genStamp.Draw(t, "since")
		}
		if rapid.Bool().Draw(t, "end") {
			p.End = genEnd.Draw(t, "an end")
		}
		for _, n := range counterList(&p.Counters) {
			*n = genNumber.Draw(t, "counter")
		}
		if n := rapid.IntRange(0, fold.MaxAgents).Draw(t, "agents"); n > 0 {
			p.Agents = rapid.SliceOfN(genText, n, n).Draw(t, "agent")
		}
		if p.Truncated = rapid.Bool().Draw(t, "truncated"); p.Truncated {
			p.TruncatedFrom = genNumber.Draw(t, "from")
		}
		if rapid.Bool().Draw(t, "silent") {
			p.Silent = genNumber.Draw(t, "silence")
		}
		if rapid.Bool().Draw(t, "state") {
			p.State = &fold.StateInfo{First: genStamp.Draw(t, "first state")}
			p.State.Known, p.State.Stale = rapid.Bool().Draw(t, "known"), rapid.Bool().Draw(t, "stale")
			for _, n := range stateNumbers(p.State) {
				*n = genNumber.Draw(t, "state number")
			}
		}
		if p.ParentLast = p.Parent.At; p.Parent.Set && rapid.Bool().Draw(t, "named again") {
			p.ParentLast = genStamp.Draw(t, "last naming")
		}
		if rapid.Bool().Draw(t, "links") {
			p.Links = &fold.Links{N: genNumber.Draw(t, "how many"), Over: rapid.Bool().Draw(t, "over")}
		}
		if a := genAside.Draw(t, "aside"); !reflect.DeepEqual(*a, fold.Aside{}) {
			p.Aside = a
		}
		return p
	})
	genAside = rapid.Custom(func(t *rapid.T) *fold.Aside {
		a := &fold.Aside{}
		if rapid.Bool().Draw(t, "control") {
			c := &fold.Control{HasResume: rapid.Bool().Draw(t, "resume"), HasCancel: rapid.Bool().Draw(t, "cancel")}
			if c.HasPause = !c.HasResume && !c.HasCancel || rapid.Bool().Draw(t, "pause"); c.HasPause {
				c.Pause = genStamp.Draw(t, "pause at")
				if n := rapid.IntRange(0, 3).Draw(t, "participants"); n > 0 {
					c.Participants = rapid.SliceOfN(genText, n, n).Draw(t, "participant")
				}
			}
			if c.HasResume {
				c.Resume = genStamp.Draw(t, "resume at")
			}
			if c.HasCancel {
				c.Cancel = genStamp.Draw(t, "cancel at")
			}
			a.Control = c
		}
		for range rapid.IntRange(0, 3).Draw(t, "acks") {
			a.Acks = append(a.Acks, fold.Ack{
				Agent: genText.Draw(t, "agent"), Topic: rapid.Uint32().Draw(t, "topic"), Partition: rapid.Uint32().Draw(t, "partition"),
				Offset: genNumber.Draw(t, "offset"), Paused: rapid.Bool().Draw(t, "paused"),
			})
		}
		if open, done := rapid.IntRange(0, 3).Draw(t, "open"), rapid.IntRange(0, 3).Draw(t, "done"); open+done > 0 {
			a.Held = &fold.Held{}
			for range open {
				a.Held.Open = append(a.Held.Open, fold.Parked{ID: fold.ParkID(genID.Draw(t, "id")), At: genStamp.Draw(t, "at")})
			}
			for range done {
				a.Held.Done = append(a.Held.Done, fold.ParkID(genID.Draw(t, "id")))
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "kin") {
			a.Kin = append(a.Kin, fold.Kin{ID: genID.Draw(t, "id"), First: genStamp.Draw(t, "first"), Last: genStamp.Draw(t, "last")})
		}
		if rapid.Bool().Draw(t, "mentioned") {
			at := genStamp.Draw(t, "mention")
			a.Mention = &at
		}
		return a
	})
	genLink = rapid.Custom(func(t *rapid.T) fold.Link {
		l := fold.Link{First: genStamp.Draw(t, "first"), Last: genStamp.Draw(t, "last")}
		l.Surface, l.Relation = wire.LinkSurface(rapid.Byte().Draw(t, "surface")), wire.LinkRelation(rapid.Byte().Draw(t, "relation"))
		l.Resource, l.Item = genText.Draw(t, "resource"), genText.Draw(t, "item")
		return l
	})
	genMeta = rapid.Custom(func(t *rapid.T) SourceMeta {
		m := SourceMeta{Stream: genText.Draw(t, "stream"), Topic: genText.Draw(t, "topic"), Role: wire.Role(rapid.Uint8().Draw(t, "role")), Dialect: wire.Dialect(rapid.Uint8().Draw(t, "dialect"))}
		f := &m.Frontier
		for _, n := range [...]*uint64{&f.Next, &f.Time, &f.Seq, &f.Records, &f.Undecodable, &f.Invalid, &f.Unattributed, &f.LinksRefused} {
			*n = genNumber.Draw(t, "number")
		}
		if f.Unattributed > 0 {
			f.UnattributedLast = genNumber.Draw(t, "last")
		}
		if rapid.Bool().Draw(t, "signed") {
			s := &f.Signatures
			for _, n := range signatureNumbers(s) {
				*n = rapid.Uint64Range(0, 1<<40).Draw(t, "signatures")
			}
			s.Verified++
			s.Keys = rapid.Uint64().Draw(t, "keys")
		}
		for range rapid.IntRange(0, 3).Draw(t, "gaps") {
			f.Gaps = append(f.Gaps, fold.Gap{From: genNumber.Draw(t, "from"), To: genNumber.Draw(t, "to"), Reason: fold.GapReason(rapid.Uint8().Draw(t, "reason"))})
		}
		return m
	})
)
