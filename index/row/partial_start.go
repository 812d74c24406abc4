package row

import (
	"encoding/binary"

	"sessionfold/fold"
	"sessionfold/wire"
)

// The parts of a start that are there. Numbers are stored: only append.
const (
	startLabel = 1 << iota
	startNamespace
	startAgent
	startSDK
	startTags
	startIdle
	startBudget
	startBudgetTokens
	startBudgetCost
	startParent
	startRoot
	startNative
	startKnown = 1<<iota - 1
)

func startMask(s *fold.Start) (m uint64) {
	set := func(on bool, bit uint64) {
		if on {
			m |= bit
		}
	}
	set(s.HasLabel, startLabel)
	set(s.HasNamespace, startNamespace)
	set(s.Agent != "", startAgent)
	set(s.HasSDK, startSDK)
	set(len(s.Tags) > 0, startTags)
	set(s.IdleTimeout != 0, startIdle)
	set(s.HasBudget, startBudget)
	set(s.HasBudgetTokens, startBudgetTokens)
	set(s.HasBudgetCost, startBudgetCost)
	set(s.HasParent, startParent)
	set(s.HasRoot, startRoot)
	set(s.NativeID != "", startNative)
	return m
}

func appendStart(b []byte, base fold.Stamp, s *fold.Start) []byte {
	m := startMask(s)
	b = appendStamp(b, base, s.At)
	b = binary.AppendUvarint(b, m)
	if m&startLabel != 0 {
		b = appendText(b, s.Label)
	}
	if m&startNamespace != 0 {
		b = appendText(b, s.Namespace)
	}
	if m&startAgent != 0 {
		b = appendText(b, s.Agent)
	}
	if m&startSDK != 0 {
		b = appendText(appendText(b, s.SDKLanguage), s.SDKVersion)
	}
	if m&startTags != 0 {
		b = binary.AppendUvarint(b, uint64(len(s.Tags)))
		for _, t := range s.Tags {
			b = appendText(b, t)
		}
	}
	if m&startIdle != 0 {
		b = binary.AppendUvarint(b, s.IdleTimeout)
	}
	if m&startBudgetTokens != 0 {
		b = binary.AppendUvarint(b, s.BudgetTokens)
	}
	if m&startBudgetCost != 0 {
		b = binary.AppendUvarint(b, s.BudgetCostMicros)
	}
	if m&startParent != 0 {
		b = append(b, s.Parent[:]...)
	}
	if m&startRoot != 0 {
		b = append(b, s.Root[:]...)
	}
	if m&startNative != 0 {
		b = appendText(b, s.NativeID)
	}
	return b
}

func (r *reader) start(base fold.Stamp) *fold.Start {
	s := &fold.Start{At: r.stamp(base)}
	m := r.mask(startKnown)
	if s.HasLabel = m&startLabel != 0; s.HasLabel {
		s.Label = r.text()
	}
	if s.HasNamespace = m&startNamespace != 0; s.HasNamespace {
		s.Namespace = r.text()
	}
	if m&startAgent != 0 {
		s.Agent = r.filled()
	}
	if s.HasSDK = m&startSDK != 0; s.HasSDK {
		s.SDKLanguage, s.SDKVersion = r.text(), r.text()
	}
	if m&startTags != 0 {
		n := r.count(1)
		if n == 0 {
			r.fail("tags without a tag")
		}
		s.Tags = make([]string, n)
		for i := range s.Tags {
			s.Tags[i] = r.text()
		}
	}
	if m&startIdle != 0 {
		if s.IdleTimeout = r.uint(); s.IdleTimeout == 0 {
			r.fail("an idle timeout of 0 written out")
		}
	}
	s.HasBudget = m&startBudget != 0
	if s.HasBudgetTokens = m&startBudgetTokens != 0; s.HasBudgetTokens {
		s.BudgetTokens = r.uint()
	}
	if s.HasBudgetCost = m&startBudgetCost != 0; s.HasBudgetCost {
		s.BudgetCostMicros = r.uint()
	}
	if s.HasParent = m&startParent != 0; s.HasParent {
		s.Parent = r.id16()
	}
	if s.HasRoot = m&startRoot != 0; s.HasRoot {
		s.Root = r.id16()
	}
	if m&startNative != 0 {
		s.NativeID = r.filled()
	}
	return s
}

// filled reads a text that is only written when it is not empty.
func (r *reader) filled() string {
	s := r.text()
	if s == "" {
		r.fail("an empty text written out")
	}
	return s
}

// The parts of a terminal.
const (
	endReason = 1 << iota
	endCode
	endForced
	endKnown = 1<<iota - 1
)

func appendEnd(b []byte, base fold.Stamp, e *fold.End) []byte {
	var m byte
	if e.Reason != "" {
		m |= endReason
	}
	if e.HasCode {
		m |= endCode
	}
	if e.Forced {
		m |= endForced
	}
	b = appendStamp(b, base, e.At)
	b = append(b, m, byte(e.Status))
	if e.Reason != "" {
		b = appendText(b, e.Reason)
	}
	if e.HasCode {
		b = append(b, e.Code)
	}
	return b
}

func (r *reader) sessionEnd(base fold.Stamp) *fold.End {
	e := &fold.End{At: r.stamp(base)}
	m := r.mask(endKnown)
	e.Status = wire.Status(r.byte())
	if m&endReason != 0 {
		e.Reason = r.filled()
	}
	if e.HasCode = m&endCode != 0; e.HasCode {
		e.Code = r.byte()
	}
	e.Forced = m&endForced != 0
	return e
}
