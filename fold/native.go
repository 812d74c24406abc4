package fold

import (
	"slices"

	"sessionfold/wire"
)

// MaxNativeGaps is the most ranges of missing sequence numbers that are kept.
const MaxNativeGaps = 100

// Native is what a partial keeps of a session of another dialect than AGDX
// (spec deepstrike.md, everruns.md). One is never changed once a step holds it.
type Native struct {
	ID          string // the session's id as the first record spells it
	Redelivered uint64
	Runs        uint64 // that were started

	HasSeq   bool // sequence numbers were seen, from Min to Max,
	Min, Max uint64
	Missing  []wire.NativeGap // but for these: ascending, apart, at most MaxNativeGaps

	Said   []Said // ascending by key, each once
	Levels Levels

	Seen     Ring[uint64] // marks of the last records
	Attempts Ring[uint64] // of model calls, the first ones: at most MaxSet
	Kids     Ring[Kid]    // at most MaxSet
	Audit    *Audit       // nil: no kernel decision was seen
}

// Said is the statement that holds of a key.
type Said struct {
	Key       wire.SayKey
	Num       uint8
	Sequenced bool   // the statement's record had the sequence number Seq
	Seq       uint64 // the highest of a statement that held
	Aux       uint64
	At        Stamp
	Text      string
	List      []string
}

// said gives the statement of a key, nil when there is none.
func (n *Native) said(k wire.SayKey) *Said {
	for i := range n.Said {
		if n.Said[i].Key == k {
			return &n.Said[i]
		}
	}
	return nil
}

// put replaces the statement of a key. The list is the batch's own.
func (n *Native) put(s Said) {
	i, known := slices.BinarySearchFunc(n.Said, s.Key, func(x Said, k wire.SayKey) int { return int(x.Key) - int(k) })
	if known {
		n.Said[i] = s
	} else {
		n.Said = slices.Insert(n.Said, i, s)
	}
}

// ownNative gives the group to change: copied once a batch. What hangs behind it
// is still shared.
func (t *touched) ownNative() *Native {
	if t.owns&ownsNative == 0 {
		n := &Native{}
		if old := t.new.Native; old != nil {
			*n = *old
			if len(old.Said) > 0 {
				n.Said = append(make([]Said, 0, len(old.Said)+2), old.Said...)
			}
		}
		t.new.Native, t.owns = n, t.owns|ownsNative
	}
	return t.new.Native
}

// native folds what a record of a foreign dialect says, after what came before;
// the result says whether the rest of the record counts too.
func (b *batch) native(t *touched, rec *wire.Record, at Stamp) bool {
	w, n, p := rec.Rare.Native, t.ownNative(), t.new
	if n.ID == "" {
		n.ID, _ = wire.Clean(w.ID, 0)
	}
	if rec.Display == wire.DisplayUndecodable || rec.Display == wire.DisplayInvalid {
		return false
	}
	p.Flags |= FlagLane
	fresh := w.Paired && (!n.HasSeq || w.Seq > n.Max) // nothing to look up
	if w.HasSeq && n.sequence(w.Seq) {
		p.Flags |= FlagOverflow
	}
	if w.HasMark && t.repeated(w, fresh) {
		n.Redelivered++
		return false
	}
	if n.copied(rec) {
		n.Levels.Generated = n.Levels.Generated || w.Level == wire.LevelGeneration
		return false
	}
	if w.Inert {
		return false
	}
	for i := range w.Says {
		b.say(t, w, &w.Says[i], at)
	}
	if over := t.levels(rec); over {
		p.Flags |= FlagOverflow
	}
	if w.Child != nil {
		t.child(w.Child)
	}
	if w.Audit != nil {
		n.Audit = n.Audit.after(w.Audit)
	}
	return true
}

// repeated says that the record came before, among the last ones. One sequence
// number with other bytes is a conflict, and such a record counts.
func (t *touched) repeated(w *wire.Native, fresh bool) bool {
	n := t.new.Native
	if !fresh {
		conflict := false
		if _, again := n.Seen.find(func(mark *uint64) bool {
			conflict = conflict || w.Paired && *mark>>32 == w.Mark>>32 && *mark != w.Mark
			return *mark == w.Mark
		}); again {
			return true
		}
		if conflict {
			t.new.Flags |= FlagSeqConflict
		}
	}
	n.Seen.add(w.Mark, t.owns&ownsSeen != 0)
	t.owns |= ownsSeen
	return false
}

// copied: a fork begins with copies of its origin's events, which add nothing
// once the lineage is known (spec everruns.md, section 3).
func (n *Native) copied(rec *wire.Record) bool {
	f := n.said(wire.SayFork)
	return f != nil && rec.Kind != wire.KindSession && rec.Rare.Native.HasSeq && rec.Rare.Native.Seq <= f.Aux
}

// sequence notes a sequence number; it reports a gap that found no place.
func (n *Native) sequence(seq uint64) (over bool) {
	switch {
	case !n.HasSeq:
		n.HasSeq, n.Min, n.Max = true, seq, seq
	case seq > n.Max:
		if seq-n.Max > 1 {
			over = n.miss(len(n.Missing), wire.NativeGap{From: n.Max + 1, To: seq - 1})
		}
		n.Max = seq
	case seq < n.Min:
		if n.Min-seq > 1 {
			over = n.miss(0, wire.NativeGap{From: seq + 1, To: n.Min - 1})
		}
		n.Min = seq
	default:
		over = n.fill(seq)
	}
	return over
}

// miss adds a gap at a place of the list, which is shared with earlier steps.
func (n *Native) miss(at int, g wire.NativeGap) (over bool) {
	if len(n.Missing) >= MaxNativeGaps {
		return true
	}
	n.Missing = slices.Insert(slices.Clone(n.Missing), at, g)
	return false
}

// fill takes a number out of the gaps.
func (n *Native) fill(seq uint64) (over bool) {
	i := slices.IndexFunc(n.Missing, func(g wire.NativeGap) bool { return g.From <= seq && seq <= g.To })
	if i < 0 {
		return false
	}
	g := n.Missing[i]
	gaps := slices.Clone(n.Missing)
	switch {
	case g.From == g.To && len(gaps) == 1:
		n.Missing = nil
	case g.From == g.To:
		n.Missing = slices.Delete(gaps, i, i+1)
	case seq == g.From:
		gaps[i].From++
		n.Missing = gaps
	case seq == g.To:
		gaps[i].To--
		n.Missing = gaps
	default:
		gaps[i].To = seq - 1
		n.Missing = gaps
		return n.miss(i+1, wire.NativeGap{From: seq + 1, To: g.To})
	}
	return false
}
