package serve

import (
	"encoding/binary"
	"errors"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// walker goes through the sessions of a stream like index.Walk.
type walker interface {
	Next() bool
	Session() (wire.ID, []fold.Keyed)
	Looked() int
	Cursor() index.Cursor
	Err() error
	Close() error
}

// walk goes on behind a position, which is likely to look at n sessions; parts
// are those that they are looked at with.
func (v *view) walk(at index.Cursor, parts index.Parts, n int) (walker, error) {
	if v.union == nil {
		return v.snap.List(v.stream.Name, at)
	}
	return &unionWalk{v: v, at: at, parts: parts, n: min(n, maxPeerIDs)}, nil
}

// unionWalk goes through the list of a union. A session's place is known when
// all that workers know of it is gathered, so the list is gathered piece by
// piece: the next positions of each worker, as far as all of them are known,
// then the sessions at these.
type unionWalk struct {
	v      *view
	parts  index.Parts
	n      int          // positions asked of each worker for the next piece
	at     index.Cursor // the pieces before end here
	last   bool         // there is no piece behind
	piece  *index.Walk
	to     *index.Cursor // where the piece ends; nil at the end of the list
	looked int           // in the pieces before
	err    error
}

func (w *unionWalk) Next() bool {
	for w.err == nil {
		if w.piece == nil {
			if w.last {
				return false
			}
			if w.err = w.gather(); w.err != nil {
				return false
			}
		}
		if w.piece.Next() {
			return true
		}
		w.looked += w.piece.Looked()
		w.err = errors.Join(w.piece.Err(), w.piece.Close())
		w.piece = nil
		if w.last = w.to == nil; !w.last {
			w.at = *w.to
		}
	}
	return false
}

// gather begins the next piece.
func (w *unionWalk) gather() error {
	u := w.v.union
	got, err := u.fetch(&peerRequest{List: &peerList{Begun: w.at.Begun, Time: w.at.Time, Session: w.at.Session, N: w.n}})
	if err != nil {
		return err
	}
	w.to = nil
	for _, a := range got {
		last := index.Cursor{Begun: true, Time: a.reply.Time, Session: a.reply.Session}
		if a.reply.More && (w.to == nil || last.Before(*w.to)) {
			w.to = &last
		}
	}
	if w.to != nil && w.at.Begun && !w.at.Before(*w.to) {
		return wire.Errorf(wire.ErrUnavailable, "stream %q: the list of a worker does not go on where it should", u.stream)
	}
	ids, err := u.rows.Listed(u.stream, w.at, w.to)
	if err == nil {
		err = w.v.need(w.parts|index.PartEntries, ids...)
	}
	if err != nil {
		return err
	}
	w.piece, err = u.rows.WalkTo(u.stream, w.at, w.to)
	w.n = min(2*w.n, maxPeerIDs)
	return err
}

func (w *unionWalk) Session() (wire.ID, []fold.Keyed) { return w.piece.Session() }

func (w *unionWalk) Looked() int {
	if w.piece == nil {
		return w.looked
	}
	return w.looked + w.piece.Looked()
}

func (w *unionWalk) Cursor() index.Cursor {
	if w.piece == nil {
		return w.at
	}
	return w.piece.Cursor()
}

func (w *unionWalk) Err() error { return w.err }

func (w *unionWalk) Close() error {
	if w.piece == nil {
		return nil
	}
	return w.piece.Close()
}

// need gathers sessions with some of their parts, where this worker does not
// hold the whole stream.
func (v *view) need(parts index.Parts, ids ...wire.ID) error {
	if v.union == nil {
		return nil
	}
	for first := true; first || len(ids) > 0; first = false {
		n := min(len(ids), maxPeerIDs)
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if _, err := v.union.fetch(&peerRequest{IDs: ids[:n], Parts: parts, Children: v.childrenAsked()}); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return v.look()
}

// childrenAsked is one more than a read looks at.
func (v *view) childrenAsked() int { return max(maxChildEntries, v.h.opt.SubtreeBudget) + 1 }

// needEvents gathers a page of a session's timeline.
func (v *view) needEvents(q *wire.SessionEvents, rd *index.Reading, bounds index.Bounds, limit int) error {
	if v.union == nil {
		return nil
	}
	e := &peerEvents{From: rd.From, Back: rd.Back, Display: q.Display, Collapse: q.Collapse, Limit: limit}
	for k, next := range bounds {
		e.Bounds = append(e.Bounds, peerBound{Source: k, Next: next})
	}
	_, err := v.union.fetch(&peerRequest{IDs: []wire.ID{q.ID}, Events: e})
	return errors.Join(err, v.look())
}

// cursorMerged is the cursor of a list where workers answer for each other: who
// holds which sources, the state of each worker's store when the walk began,
// the position. Any worker can go on with it.
const cursorMerged = 'm'

// sealList writes the cursor of a list.
func (v *view) sealList(bound [8]byte, at index.Cursor) (string, error) {
	marks, owners := v.marks(at)
	if marks == nil {
		return sealCursor(cursorList, bound, at.Bytes()), nil
	}
	b := append([]byte{}, owners[:]...)
	b = binary.AppendUvarint(b, uint64(len(marks)))
	for _, m := range marks {
		b = binary.AppendUvarint(append(b, m.Store[:]...), m.Seq)
	}
	begun := byte(0)
	if at.Begun {
		begun = 1
	}
	b = binary.BigEndian.AppendUint64(append(b, begun), at.Time)
	c := sealCursor(cursorMerged, bound, append(b, at.Session[:]...))
	if len(c) > MaxCursorBytes {
		return "", invalid("cursor: the stream lies on %d workers, more than a cursor can name; ask for a limit that needs no further page", len(marks))
	}
	return c, nil
}

// marks are where the walk began; nil where workers do not answer for each
// other.
func (v *view) marks(at index.Cursor) ([]walkMark, [8]byte) {
	switch {
	case v.union != nil:
		return v.union.marks, v.union.owners
	case v.hold != nil:
		store := storeTag(v.snap.Identity())
		return []walkMark{{store, at.Seq}}, binding(owned(store, heldOf(v.hold))...)
	}
	return nil, [8]byte{}
}

// listCursor is the cursor of a list, of either kind.
type listCursor struct {
	at     index.Cursor
	marks  []walkMark // of cursorMerged
	owners [8]byte
}

// openListCursor reads a cursor of a kind.
func openListCursor(kind byte, bound [8]byte, text string) (listCursor, error) {
	var c listCursor
	b, err := openCursor(kind, bound, text)
	if err != nil {
		return c, err
	}
	if kind == cursorList {
		if c.at, err = index.ParseCursor(b); err != nil {
			return c, errCursor
		}
		return c, nil
	}
	f := &fields{b: b}
	c.owners = [8]byte(f.take(8))
	for n := f.uint(); n > 0 && !f.bad; n-- {
		store := [8]byte(f.take(8))
		c.marks = append(c.marks, walkMark{store, f.uint()})
	}
	c.at = index.Cursor{Begun: f.take(1)[0] != 0, Time: binary.BigEndian.Uint64(f.take(8)), Session: wire.ID(f.take(16))}
	return c, f.end()
}

// openList reads the cursor of a list. It is stale when the walk cannot go on:
// it began before workers answered for each other, or partitions moved since.
func (v *view) openList(bound [8]byte, text string) (index.Cursor, error) {
	kind, other := byte(cursorList), byte(cursorMerged)
	if v.hold != nil {
		kind, other = other, kind
	}
	c, err := openListCursor(kind, bound, text)
	switch {
	case err != nil:
		if _, e := openListCursor(other, bound, text); e == nil {
			err = errWalkMoved
		}
		return c.at, err
	case v.union != nil:
		return c.at, v.union.resume(v, &c)
	case v.hold == nil:
		return c.at, nil
	}
	// A walk that began on this store alone goes on here, whatever came since.
	if len(c.marks) != 1 || c.marks[0].Store != storeTag(v.snap.Identity()) {
		return c.at, errWalkMoved
	}
	c.at.Identity, c.at.Seq = v.snap.Identity(), c.marks[0].Seq
	return c.at, nil
}

// resume goes on with a walk that may have begun on another worker.
func (u *union) resume(v *view, c *listCursor) error {
	u.marks = c.marks
	if err := v.need(0); err != nil {
		return err
	}
	if u.owners != c.owners {
		return errWalkMoved
	}
	return nil
}
