package serve

import (
	"encoding/hex"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index"
	"sessionfold/wire"
)

// document gives the state document of a session with its last outcomes, oldest
// first. A session without state records has the empty document at revision 0.
func (v *view) document(q *wire.SessionState) (*wire.SessionStateView, error) {
	limit, err := limitOf(q.HistoryLimit)
	if err != nil {
		return nil, err
	}
	s, err := v.session(q.ID, index.PartState)
	if err != nil {
		return nil, err
	}
	k := s.State
	if k == nil {
		return &wire.SessionStateView{Document: wire.Document("{}"), Complete: true}, nil
	}
	st, err := v.snap.State(q.ID, k)
	if err != nil {
		return nil, err
	}
	history, err := v.snap.History(q.ID, k, limit)
	if err != nil {
		return nil, err
	}
	out := &wire.SessionStateView{
		Revision: st.Revision, Document: wire.Document(st.Doc.Text()), Complete: st.Complete(),
		History: make([]wire.StateChange, len(history)), Frontier: v.frontier(s, k),
	}
	for i := range history {
		out.History[i] = stateChange(k.Source, &history[i])
	}
	return out, nil
}

// frontier gives the row of one source.
func (v *view) frontier(s *fold.Session, k *fold.Keyed) *wire.SourceFrontier {
	rows := v.info(s).Frontier
	for i := range rows {
		if s.Sources[i].Source.Key() == k.Source.Key() {
			return &rows[i]
		}
	}
	return nil
}

func stateChange(src *wire.Source, e *state.Entry) wire.StateChange {
	before, after := wire.Digest(e.Old), wire.Digest(e.New)
	return wire.StateChange{
		Revision: e.Revision, OpID: present(e.OpText()), Outcome: e.Outcome.String(),
		At: src.At(e.Offset).Locator(), BrokerTS: e.Time, OldDigest: &before, NewDigest: &after,
		Reason: present(wire.FaultText(e.Why, e.At)),
		AtText: src.PositionText(e.Offset), OldDigestHex: hex.EncodeToString(e.Old[:]), NewDigestHex: hex.EncodeToString(e.New[:]),
	}
}

// outcomes puts what the fold did with state records into their rows, as far as
// the history reaches back. Rows do not hold it: they follow from their record
// alone, so that they can be folded again without the documents.
func (v *view) outcomes(s *fold.Session, items []wire.SessionEvent, offsets func(i int) (*wire.Source, uint64)) error {
	wanted := false
	for i := range items {
		wanted = wanted || items[i].Operation != nil && (*items[i].Operation == wire.OpStateDelta || *items[i].Operation == wire.OpStateSnapshot)
	}
	if !wanted {
		return nil
	}
	for j := range s.Sources {
		k := &s.Sources[j]
		if k.Partial.State == nil {
			continue
		}
		history, err := v.snap.History(s.ID, k, state.HistoryLen)
		if err != nil {
			return err
		}
		by := make(map[uint64]*state.Entry, len(history))
		for h := range history {
			by[history[h].Offset] = &history[h]
		}
		for i := range items {
			src, offset := offsets(i)
			e := by[offset]
			if e == nil || src.Key() != k.Source.Key() {
				continue
			}
			if items[i].Summary == nil {
				items[i].Summary = wire.Summary{}
			}
			items[i].Summary[wire.SumOutcome.String()] = e.Outcome.String()
			items[i].Summary[wire.SumRevision.String()] = e.Revision
			if why := wire.FaultText(e.Why, e.At); why != "" {
				items[i].Summary[wire.SumReason.String()] = why
			}
		}
	}
	return nil
}
