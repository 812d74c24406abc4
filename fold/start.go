package fold

import "sessionfold/wire"

// Limits of the text of a start record, in bytes (spec settled.md, "Text").
const (
	maxLabel     = 256
	maxNamespace = 128
	maxTags      = 16
	maxTag       = 64
)

// newStart cleans and cuts what a start record says; cut reports a shortened
// label. Text without a place of its own is kept up to maxText. The owner is
// left to the caller, who keeps one text of it for all its places.
func newStart(w *wire.Start, at Stamp) (s *Start, cut bool) {
	s = &Start{
		At: at, HasLabel: w.HasLabel, HasNamespace: w.HasNamespace, HasSDK: w.HasSDK,
		IdleTimeout:  w.IdleTimeout,
		BudgetTokens: w.BudgetTokens, BudgetCostMicros: w.BudgetCostMicros,
		HasBudget: w.HasBudget, HasBudgetTokens: w.HasBudgetTokens, HasBudgetCost: w.HasBudgetCost,
		HasParent: w.HasParent, HasRoot: w.HasRoot, Parent: w.Parent, Root: w.Root,
	}
	if w.HasLabel {
		s.Label, cut = wire.Clean(w.Label, maxLabel)
	}
	if w.HasNamespace {
		s.Namespace, _ = wire.Clean(w.Namespace, maxNamespace)
	}
	if w.HasSDK {
		s.SDKLanguage, _ = wire.Clean(w.SDKLanguage, maxText)
		s.SDKVersion, _ = wire.Clean(w.SDKVersion, maxText)
	}
	s.NativeID, _ = wire.Clean(w.NativeID, 0)
	s.Tags = cleanTags(w.Tags)
	return s, cut
}

// cleanTags keeps the first maxTags tags as they stand; Merge sorts.
func cleanTags(raw [][]byte) []string {
	if len(raw) == 0 {
		return nil
	}
	tags := make([]string, min(len(raw), maxTags))
	for i := range tags {
		tags[i], _ = wire.Clean(raw[i], maxTag)
	}
	return tags
}

// newEnd keeps a terminal statement. The error's text is content and stays out.
func newEnd(l *wire.Lifecycle, at Stamp) *End {
	e := &End{At: at, Status: l.Status, Code: l.ErrorCode, HasCode: l.HasError, Forced: l.Forced}
	e.Reason, _ = wire.Clean(l.Reason, maxText)
	return e
}
