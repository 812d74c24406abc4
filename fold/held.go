package fold

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"sessionfold/wire"
)

// ParkID is the identity of a parking: the parked record's position with its
// generation, the agent and the position of the pause request, in one digest.
// A repeat of the same counts once (spec agdx.md, section 5).
type ParkID [16]byte

func parkID(p *wire.SessionParking) (id ParkID) {
	h := sha256.New()
	var b [28 + 4]byte
	binary.BigEndian.PutUint32(b[0:], p.Source.Stream)
	binary.BigEndian.PutUint32(b[4:], p.Source.Topic)
	binary.BigEndian.PutUint32(b[8:], p.Source.Partition)
	binary.BigEndian.PutUint64(b[12:], p.Source.Offset)
	binary.BigEndian.PutUint64(b[20:], p.Source.Generation)
	binary.BigEndian.PutUint32(b[28:], uint32(len(p.Role)))
	h.Write(b[:])
	h.Write(p.Role)
	h.Write(p.Request)
	var sum [sha256.Size]byte
	copy(id[:], h.Sum(sum[:0]))
	return id
}

// Held is the work of a session that a lane put aside: what waits, and what was
// taken up again, so that a repeat of either changes nothing whatever the order.
type Held struct {
	Open []Parked // in order of arrival, at most MaxSet: the first ones
	Done []ParkID // in order of arrival, at most MaxSet: the last ones
}

// Parked is work that waits.
type Parked struct {
	ID ParkID
	At Stamp // of the record that said so
}

// park folds a parking. What does not fit is turned away and told: a new one
// while MaxSet wait; the oldest that was taken up once MaxSet were.
func (t *touched) park(k *wire.Parking, at Stamp) {
	id := parkID(&k.SessionParking)
	h := t.new.groups().Held
	if h != nil && slices.Contains(h.Done, id) {
		return
	}
	open := -1
	if h != nil {
		open = slices.IndexFunc(h.Open, func(p Parked) bool { return p.ID == id })
	}
	if !k.Unparked && open >= 0 {
		return
	}
	h = t.ownHeld()
	switch {
	case k.Unparked:
		if open >= 0 {
			if h.Open = slices.Delete(h.Open, open, open+1); len(h.Open) == 0 {
				h.Open = nil // as it is read back
			}
		}
		if len(h.Done) >= MaxSet {
			h.Done = slices.Delete(h.Done, 0, 1)
			t.new.Flags |= FlagOverflow
		}
		h.Done = append(h.Done, id)
	case len(h.Open) >= MaxSet:
		t.new.Flags |= FlagOverflow
	default:
		h.Open = append(h.Open, Parked{ID: id, At: at})
	}
}

// ownHeld gives the group to change: copied once a batch, because earlier steps
// hold the old one.
func (t *touched) ownHeld() *Held {
	if t.owns&ownsHeld == 0 {
		h := &Held{}
		if old := t.new.groups().Held; old != nil {
			h.Open, h.Done = slices.Clone(old.Open), slices.Clone(old.Done)
		}
		t.new.aside().Held, t.owns = h, t.owns|ownsHeld
	}
	return t.new.Aside.Held
}

// mergeHeld counts the identities that some source holds open and none has seen
// taken up: one lane is the rule, two in conflict must still agree.
func (s *Session) mergeHeld() {
	var all []*Held
	for i := range s.Sources {
		if h := s.Sources[i].Partial.groups().Held; h != nil {
			all = append(all, h)
		}
	}
	switch len(all) {
	case 0:
		return
	case 1:
		s.Held = uint64(len(all[0].Open))
		return
	}
	waits := make(map[ParkID]bool)
	for _, h := range all {
		for i := range h.Open {
			waits[h.Open[i].ID] = true
		}
	}
	for _, h := range all {
		for _, id := range h.Done {
			delete(waits, id)
		}
	}
	s.Held = uint64(len(waits))
}

// String is hexadecimal.
func (id ParkID) String() string { return hex.EncodeToString(id[:]) }
