package state

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sessionfold/wire"
)

// Info is a state document without the document: what a partial keeps of it.
type Info struct {
	Revision uint64
	Known    bool // something was applied
	Stale    bool // a stale record was seen while nothing was applied

	Applied, Rejected, StaleCount, Duplicates uint64

	Size uint64 // canonical bytes of the document

	// The durable form. Base is the number of outcomes when the base was taken;
	// 0: the base is the empty document and is not written.
	Base, BaseSize  uint64
	Slots, LogBytes uint64 // of the log since
}

// Outcomes is how many outcomes there were; the next one has this number.
func (i *Info) Outcomes() uint64 { return i.Applied + i.Rejected + i.StaleCount + i.Duplicates }

// Complete says that the document is all there is: not when only stale records
// of a state were seen whose beginning is gone.
func (i *Info) Complete() bool { return i.Known || !i.Stale }

// State is a session's state document in one source.
type State struct {
	Info
	Doc    *Document
	recent []opRef // of the last outcomes, oldest first, at most HistoryLen
}

// New is the state of a session without state records.
func New() *State { return &State{Info: Info{Size: 2}, Doc: Empty} }

// Memory estimates the bytes a state takes.
func (s *State) Memory() int {
	n := 512 + len(s.Doc.marks)*192 + int(s.BaseSize+s.LogBytes)
	if s.Doc.root.box != nil {
		n += s.Doc.Size()/4 + int(s.LogBytes)
	}
	return n + len(s.recent)*64
}

// Restore makes a state of its durable form: the base's text (anything when
// Info.Base is 0), the log's slots joined, and the kept history, oldest first.
// The error says that they do not belong together.
func Restore(info Info, base, log string, history []Entry) (s *State, err error) {
	defer func() {
		// Canonical text is walked without checks. A text that is none was
		// damaged where it was stored, which is no fault of this process.
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("state: the stored document is damaged: %v", p)
		}
	}()
	s = &State{Info: info, Doc: Empty}
	if info.Base > 0 {
		if uint64(len(base)) != info.BaseSize || base == "" {
			return nil, fmt.Errorf("state: the base has %d bytes, not %d", len(base), info.BaseSize)
		}
		s.Doc = Parse(base)
	}
	if uint64(len(log)) != info.LogBytes {
		return nil, fmt.Errorf("state: the log has %d bytes, not %d", len(log), info.LogBytes)
	}
	ops, err := readLog(nil, log)
	if err != nil {
		return nil, err
	}
	doc, fault := s.Doc.Apply(ops)
	if fault != nil {
		return nil, fmt.Errorf("state: the log does not apply to its base: %w", fault)
	}
	s.Doc = doc
	outcomes := info.Outcomes()
	if want := min(outcomes, HistoryLen); uint64(len(history)) != want {
		return nil, fmt.Errorf("state: %d history entries, not %d", len(history), want)
	}
	s.recent = make([]opRef, len(history))
	for i := range history {
		if n := outcomes - uint64(len(history)-i); history[i].Number != n {
			return nil, fmt.Errorf("state: history entry %d stands where %d belongs", history[i].Number, n)
		}
		s.recent[i] = recentOf(&history[i])
	}
	sum := Empty.sum
	if n := len(history); n > 0 {
		sum = history[n-1].New
	}
	if uint64(doc.Size()) != info.Size || doc.sum != sum {
		return nil, fmt.Errorf("state: the document of %d bytes does not have the digest or the %d bytes of the last outcome", doc.Size(), info.Size)
	}
	return s, nil
}

// Step is what a batch did to a state: what becomes durable.
type Step struct {
	State   *State   // after the batch
	Rebased bool     // Base is the text of a new base, and Log begins at slot 0
	Base    string   // set when Rebased
	First   uint64   // slot of Log[0]
	Log     [][]byte // new slots
	History []Entry  // new outcomes, oldest first, at most HistoryLen
}

// Work applies the state records of one batch to a state.
type Work struct {
	s    *State
	step Step
}

// Begin starts a batch; the state itself is not changed.
func (s *State) Begin() *Work {
	c := *s
	c.recent = slices.Clip(s.recent) // the first outcome moves it
	return &Work{s: &c, step: Step{First: s.Slots}}
}

// End gives what the batch did. The work is over.
func (w *Work) End() *Step {
	w.step.State = w.s
	if n := len(w.step.History); n > HistoryLen {
		w.step.History = w.step.History[n-HistoryLen:]
	}
	return &w.step
}

// Apply folds one state record at a moment: raised broker time in µs and offset.
func (w *Work) Apply(rec *wire.StateRecord, time, offset uint64) Entry {
	s := w.s
	e := Entry{Number: s.Outcomes(), Time: time, Offset: offset, Old: s.Doc.sum, At: -1}
	if !rec.Snapshot && !rec.Malformed {
		e.OpID = opIdentity(rec.OpID)
	}
	switch {
	case rec.Malformed:
		e.Outcome = Rejected
	case rec.Snapshot:
		e.Outcome = w.snapshot(rec)
	case among(s.recent, e.OpID):
		e.Outcome = Duplicate
	case rec.Base != s.Revision:
		e.Outcome = Stale
	default:
		e.Outcome = w.delta(rec, &e)
	}
	if e.Outcome == Rejected && e.Why == wire.FaultNone {
		e.Why, e.At = rec.Fault, rec.FaultAt
	}
	w.count(e.Outcome)
	e.Revision, e.New = s.Revision, s.Doc.sum
	s.Size = uint64(s.Doc.Size())
	s.recent = append(s.recent, recentOf(&e))
	if n := len(s.recent); n > HistoryLen {
		s.recent = s.recent[n-HistoryLen:]
	}
	w.step.History = append(w.step.History, e)
	if e.Outcome == Applied && (rec.Snapshot || s.LogBytes >= max(minLogBytes, s.Size)) {
		w.rebase()
	}
	return e
}

func (w *Work) count(o Outcome) {
	s := w.s
	switch o {
	case Applied:
		s.Applied++
		s.Known = true
	case Rejected:
		s.Rejected++
	case Stale:
		s.StaleCount++
		s.Stale = s.Stale || !s.Known
	case Duplicate:
		s.Duplicates++
	}
}

// snapshot: a checkpoint at the revision, or the baseline of a state whose
// beginning is not known.
func (w *Work) snapshot(rec *wire.StateRecord) Outcome {
	s := w.s
	switch {
	case rec.Fault != wire.FaultNone:
		return Rejected
	case rec.Base != s.Revision && s.Known:
		return Stale
	}
	s.Revision = rec.Base
	s.Doc = Parse(strings.Clone(rec.Document)) // the record's text may be larger
	return Applied
}

func (w *Work) delta(rec *wire.StateRecord, e *Entry) Outcome {
	s := w.s
	if rec.Fault != wire.FaultNone {
		return Rejected
	}
	doc, fault := s.Doc.Apply(rec.Patch)
	if fault != nil {
		e.Why, e.At = fault.Why, fault.At
		return Rejected
	}
	s.Doc = doc
	s.Revision++
	entry := appendLog(make([]byte, 0, rec.Size), rec.Patch)
	put := slots(entry)
	w.step.Log = append(w.step.Log, put...)
	s.Slots += uint64(len(put))
	s.LogBytes += uint64(len(entry))
	return Applied
}

// rebase makes the present document the base. It follows from the records
// alone, never from where a batch ends, so that every fold of a log has the
// same durable form.
func (w *Work) rebase() {
	s := w.s
	s.Doc = s.Doc.flat()
	s.Base, s.BaseSize = s.Outcomes(), s.Size
	s.Slots, s.LogBytes = 0, 0
	w.step.Rebased, w.step.Base = true, s.Doc.root.text
	w.step.First, w.step.Log = 0, nil
}

// Same says that two states are the same, histories aside: for tests.
func Same(a, b *State) bool {
	return a.Info == b.Info && a.Doc.sum == b.Doc.sum && bytes.Equal([]byte(a.Doc.Text()), []byte(b.Doc.Text())) && slices.Equal(a.recent, b.recent)
}

// After gives the state that the step makes of the one before it: what End gave
// as State, for who has not kept it.
func (st *Step) After(s *State, info Info) (*State, error) {
	out := &State{Info: info, Doc: s.Doc}
	if st.Rebased {
		out.Doc = Parse(st.Base)
	}
	var ops []wire.PatchOp
	var err error
	if ops, err = readLog(nil, string(bytes.Join(st.Log, nil))); err != nil {
		return nil, err
	}
	doc, fault := out.Doc.Apply(ops)
	if fault != nil {
		return nil, fmt.Errorf("state: a step's log does not apply: %w", fault)
	}
	out.Doc = doc
	out.recent = slices.Clip(s.recent)
	for i := range st.History {
		out.recent = append(out.recent, recentOf(&st.History[i]))
	}
	if n := len(out.recent); n > HistoryLen {
		out.recent = out.recent[n-HistoryLen:]
	}
	return out, nil
}
