package row

import (
	"encoding/binary"

	"sessionfold/fold"
	"sessionfold/wire"
)

// The parts of a native group, in the order in which they are written.
const (
	nativeID = 1 << iota
	nativeRedelivered
	nativeRuns
	nativeSeq
	nativeMissing
	nativeSaid
	nativeLevels
	nativeRings
	nativeAudit
	nativeKnown = 1<<iota - 1
)

// appendNative writes the group of a foreign dialect; of its lists in chunks only
// how many entries they ever had (see AppendChunkValue).
func appendNative(b []byte, base fold.Stamp, n *fold.Native) []byte {
	var parts uint64
	set := func(on bool, part uint64) {
		if on {
			parts |= part
		}
	}
	set(n.ID != "", nativeID)
	set(n.Redelivered > 0, nativeRedelivered)
	set(n.Runs > 0, nativeRuns)
	set(n.HasSeq, nativeSeq)
	set(len(n.Missing) > 0, nativeMissing)
	set(len(n.Said) > 0, nativeSaid)
	set(n.Levels != fold.Levels{}, nativeLevels)
	set(n.Seen.N+n.Attempts.N+n.Kids.N > 0, nativeRings)
	set(n.Audit != nil, nativeAudit)
	b = binary.AppendUvarint(b, parts)
	if n.ID != "" {
		b = appendText(b, n.ID)
	}
	if n.Redelivered > 0 {
		b = binary.AppendUvarint(b, n.Redelivered)
	}
	if n.Runs > 0 {
		b = binary.AppendUvarint(b, n.Runs)
	}
	if n.HasSeq {
		b = binary.AppendUvarint(binary.AppendUvarint(b, n.Min), n.Max-n.Min)
	}
	if len(n.Missing) > 0 {
		b = binary.AppendUvarint(b, uint64(len(n.Missing)))
		for _, g := range n.Missing {
			b = binary.AppendUvarint(binary.AppendUvarint(b, g.From), g.To-g.From)
		}
	}
	if len(n.Said) > 0 {
		b = binary.AppendUvarint(b, uint64(len(n.Said)))
		for i := range n.Said {
			b = appendSaid(b, base, &n.Said[i])
		}
	}
	if parts&nativeLevels != 0 {
		b = appendLevels(b, &n.Levels)
	}
	if parts&nativeRings != 0 {
		for _, c := range [...]uint64{n.Seen.N, n.Attempts.N, n.Kids.N} {
			b = binary.AppendUvarint(b, c)
		}
	}
	if n.Audit != nil {
		b = appendAudit(b, n.Audit)
	}
	return b
}

func (r *reader) native(base fold.Stamp) *fold.Native {
	n := &fold.Native{}
	parts := r.mask(nativeKnown)
	if parts&nativeID != 0 {
		n.ID = r.filled()
	}
	if parts&nativeRedelivered != 0 {
		n.Redelivered = r.positive()
	}
	if parts&nativeRuns != 0 {
		n.Runs = r.positive()
	}
	if n.HasSeq = parts&nativeSeq != 0; n.HasSeq {
		n.Min = r.uint()
		n.Max = n.Min + r.uint()
	}
	if parts&nativeMissing != 0 {
		n.Missing = make([]wire.NativeGap, r.some("native gaps", 2))
		for i := range n.Missing {
			g := wire.NativeGap{From: r.uint()}
			g.To = g.From + r.uint()
			n.Missing[i] = g
		}
	}
	if parts&nativeSaid != 0 {
		n.Said = make([]fold.Said, r.some("statements", 5))
		for i := range n.Said {
			n.Said[i] = r.said(base)
		}
	}
	if parts&nativeLevels != 0 {
		n.Levels = r.levels()
	}
	if parts&nativeRings != 0 {
		n.Seen.N, n.Attempts.N, n.Kids.N = r.uint(), r.uint(), r.uint()
		if n.Seen.N+n.Attempts.N+n.Kids.N == 0 {
			r.fail("lists without entries")
		}
	}
	if parts&nativeAudit != 0 {
		n.Audit = r.audit()
	}
	return n
}

// positive reads a number that is only written when it is not 0.
func (r *reader) positive() uint64 {
	n := r.uint()
	if n == 0 {
		r.fail("a 0 written out")
	}
	return n
}

// The parts of a statement.
const (
	saidSequenced = 1 << iota
	saidSeq
	saidAux
	saidText
	saidList
	saidKnown = 1<<iota - 1
)

func appendSaid(b []byte, base fold.Stamp, s *fold.Said) []byte {
	parts := bit(s.Sequenced)*saidSequenced | bit(s.Seq != 0)*saidSeq | bit(s.Aux != 0)*saidAux | bit(s.Text != "")*saidText | bit(len(s.List) > 0)*saidList
	b = append(b, byte(s.Key), s.Num, parts)
	b = appendStamp(b, base, s.At)
	if s.Seq != 0 {
		b = binary.AppendUvarint(b, s.Seq)
	}
	if s.Aux != 0 {
		b = binary.AppendUvarint(b, s.Aux)
	}
	if s.Text != "" {
		b = appendText(b, s.Text)
	}
	if len(s.List) > 0 {
		b = appendTexts(b, s.List)
	}
	return b
}

func (r *reader) said(base fold.Stamp) fold.Said {
	s := fold.Said{Key: wire.SayKey(r.byte()), Num: r.byte()}
	parts := r.mask(saidKnown)
	s.At = r.stamp(base)
	s.Sequenced = parts&saidSequenced != 0
	if parts&saidSeq != 0 {
		s.Seq = r.positive()
	}
	if parts&saidAux != 0 {
		s.Aux = r.positive()
	}
	if parts&saidText != 0 {
		s.Text = r.filled()
	}
	if parts&saidList != 0 {
		if s.List = r.texts(); len(s.List) == 0 {
			r.fail("a list without entries")
		}
	}
	return s
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, t := range list {
		b = appendText(b, t)
	}
	return b
}

// texts gives nil for none.
func (r *reader) texts() []string {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

// The parts of levels.
const (
	levelAttempts = 1 << iota
	levelCalls
	levelEstimated
	levelTotal
	levelWhole
	levelWholeSeq
	levelGenerated
	levelKnown = 1<<iota - 1
)

func appendLevels(b []byte, l *fold.Levels) []byte {
	none := fold.Sums{}
	parts := bit(l.HasAttempts)*levelAttempts | bit(l.Calls != none)*levelCalls | bit(l.Estimated)*levelEstimated | bit(l.Total != 0)*levelTotal |
		bit(l.HasWhole)*levelWhole | bit(l.WholeSeq != 0)*levelWholeSeq | bit(l.Generated)*levelGenerated
	b = append(b, parts)
	if l.HasAttempts {
		b = appendSums(b, &l.Attempts)
	}
	if l.Calls != none {
		b = appendSums(b, &l.Calls)
	}
	if l.Total != 0 {
		b = binary.AppendUvarint(b, l.Total)
	}
	if l.HasWhole {
		b = appendSums(b, &l.Whole)
	}
	if l.WholeSeq != 0 {
		b = binary.AppendUvarint(b, l.WholeSeq)
	}
	return b
}

func (r *reader) levels() (l fold.Levels) {
	parts := r.mask(levelKnown)
	if parts == 0 {
		r.fail("levels without any")
	}
	l.Estimated, l.Generated = parts&levelEstimated != 0, parts&levelGenerated != 0
	if l.HasAttempts = parts&levelAttempts != 0; l.HasAttempts {
		l.Attempts = r.sums()
	}
	if parts&levelCalls != 0 {
		if l.Calls = r.sums(); l.Calls == (fold.Sums{}) {
			r.fail("sums of 0 written out")
		}
	}
	if parts&levelTotal != 0 {
		l.Total = r.positive()
	}
	if l.HasWhole = parts&levelWhole != 0; l.HasWhole {
		l.Whole = r.sums()
	}
	if parts&levelWholeSeq != 0 {
		l.WholeSeq = r.positive()
	}
	return l
}

// sumList gives the sums in their stored order. Only append.
func sumList(s *fold.Sums) [6]*uint64 {
	return [...]*uint64{&s.In, &s.Out, &s.CacheRead, &s.CacheWrite, &s.Reasoning, &s.CostNano}
}

func appendSums(b []byte, s *fold.Sums) []byte {
	list := sumList(s)
	return appendNonzero(b, list[:])
}

func (r *reader) sums() (s fold.Sums) {
	list := sumList(&s)
	r.nonzero(list[:])
	return s
}

// appendNonzero writes which numbers are not 0, then those.
func appendNonzero(b []byte, list []*uint64) []byte {
	var mask uint64
	for i, n := range list {
		if *n != 0 {
			mask |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, mask)
	for _, n := range list {
		if *n != 0 {
			b = binary.AppendUvarint(b, *n)
		}
	}
	return b
}

func (r *reader) nonzero(list []*uint64) {
	mask := r.mask(1<<len(list) - 1)
	for i, n := range list {
		if mask&(1<<i) != 0 {
			*n = r.positive()
		}
	}
}
