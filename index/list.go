package index

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// ErrStale is returned for a cursor of another store, or of this one before its
// last batches were lost: the walk must begin again.
var ErrStale = errors.New("index: the cursor belongs to another state of the store; begin the walk again")

// Cursor is how far a walk of the list has come. The zero value begins a walk.
type Cursor struct {
	Identity row.Identity
	Seq      uint64  // apply sequence when the walk began; later moves do not concern it
	Begun    bool    // a position was looked at:
	Time     uint64  // its moment, µs
	Session  wire.ID // and session
}

// cursorLen is the length of a cursor's bytes.
const cursorLen = 16 + 8 + 8 + 1 + 8 + 16

// Bytes is the cursor's binary form.
func (c Cursor) Bytes() []byte {
	b := make([]byte, 0, cursorLen)
	b = append(b, c.Identity.StoreID[:]...)
	b = append(b, c.Identity.WalkID[:]...)
	b = binary.BigEndian.AppendUint64(b, c.Seq)
	begun := byte(0)
	if c.Begun {
		begun = 1
	}
	b = append(b, begun)
	b = binary.BigEndian.AppendUint64(b, c.Time)
	return append(b, c.Session[:]...)
}

// ParseCursor reads the binary form.
func ParseCursor(b []byte) (Cursor, error) {
	if len(b) != cursorLen {
		return Cursor{}, fmt.Errorf("index: a list cursor has %d bytes, not %d", cursorLen, len(b))
	}
	c := Cursor{
		Seq: binary.BigEndian.Uint64(b[24:]), Begun: b[32] != 0,
		Time: binary.BigEndian.Uint64(b[33:]), Session: wire.ID(b[41:57]),
	}
	copy(c.Identity.StoreID[:], b)
	copy(c.Identity.WalkID[:], b[16:])
	return c, nil
}

// Walk goes through the sessions of a stream, newest position first. Every
// session that existed when the walk began comes exactly once, also over several
// readers and while sessions move.
type Walk struct {
	r      *Reader
	stream uint32
	it     *pebble.Iterator
	ready  bool // it stands on an entry that was not looked at
	cursor Cursor
	looked int
	keyed  []fold.Keyed
	err    error
}

// List begins or continues a walk. Close it before its reader.
func (r *Reader) List(stream string, from Cursor) (*Walk, error) {
	if err := r.s.health.check(); err != nil {
		return nil, err
	}
	id := wire.NameID(stream)
	prefix := row.AppendStream(nil, row.TagList, id)
	o := &pebble.IterOptions{LowerBound: prefix, UpperBound: row.PrefixEnd(prefix)}
	if from == (Cursor{}) {
		from = Cursor{Identity: r.identity, Seq: r.seq}
	} else {
		if from.Identity != r.identity || from.Seq > r.seq {
			return nil, ErrStale
		}
		if from.Begun {
			o.LowerBound = afterPosition(id, from.Time, from.Session)
		}
	}
	return r.walk(id, from, o)
}

func (r *Reader) walk(stream uint32, from Cursor, o *pebble.IterOptions) (*Walk, error) {
	it, err := r.snap.NewIter(o)
	if err != nil {
		return nil, err
	}
	return &Walk{r: r, stream: stream, cursor: from, it: it, ready: it.First()}, nil
}

// afterPosition is the first key behind all entries of a session at a moment.
func afterPosition(stream uint32, time uint64, id wire.ID) []byte {
	k := row.AppendList(nil, row.ListKey{Stream: stream, Time: time, Session: id})
	return row.PrefixEnd(k[:len(k)-17])
}

// Next goes to the next session; false at the end or on an error, see Err.
func (w *Walk) Next() bool {
	for w.err == nil && w.ready {
		found := w.entry()
		w.ready = w.err == nil && w.it.Next()
		if found {
			return true
		}
	}
	return false
}

// entry looks at the entry the iterator stands on: is it where the walk shows
// its session?
func (w *Walk) entry() bool {
	k, err := row.ParseList(w.it.Key())
	if err != nil {
		w.err = err
		return false
	}
	if w.cursor.Begun && k.Time == w.cursor.Time && k.Session == w.cursor.Session {
		return false // the same position by another source or kind
	}
	if seq, err := w.seq(); err != nil || seq > w.cursor.Seq {
		w.err = err
		return false
	}
	w.cursor.Begun, w.cursor.Time, w.cursor.Session = true, k.Time, k.Session
	w.looked++
	if w.keyed, w.err = w.r.session(w.stream, k.Session); w.err != nil {
		return false
	}
	at, ok, err := w.position(k.Session)
	w.err = err
	return err == nil && ok && at == k.Time
}

func (w *Walk) seq() (uint64, error) {
	v, err := w.it.ValueAndErr()
	if err != nil {
		return 0, err
	}
	seq, err := row.DecodeSeq(v)
	if err != nil {
		return 0, keyed(w.it.Key(), err)
	}
	return seq, nil
}

// position is the session's place when the walk began: the earliest start of
// those entries that were there, else the earliest first record, else the
// earliest link to it.
func (w *Walk) position(id wire.ID) (time uint64, ok bool, err error) {
	var start, first, mention uint64
	var hasStart, hasFirst, hasMention bool
	var few [3]row.ListKey
	for i := range w.keyed {
		k := row.PartialKey{Stream: w.stream, Session: id, Source: w.keyed[i].Source.Key()}
		for _, e := range row.AppendEntries(few[:0], k, w.keyed[i].Partial) {
			there, err := w.there(e)
			if err != nil {
				return 0, false, err
			}
			switch {
			case !there:
			case e.Kind == row.EntryStart:
				if !hasStart || e.Time < start {
					start, hasStart = e.Time, true
				}
			case e.Kind == row.EntryFirst:
				if !hasFirst || e.Time < first {
					first, hasFirst = e.Time, true
				}
			case !hasMention || e.Time < mention:
				mention, hasMention = e.Time, true
			}
		}
	}
	switch {
	case hasStart:
		return start, true, nil
	case hasFirst:
		return first, true, nil
	}
	return mention, hasMention, nil
}

// there says whether an entry was written when the walk began. A walk of the
// present state need not look.
func (w *Walk) there(e row.ListKey) (bool, error) {
	if w.cursor.Seq >= w.r.seq {
		return true, nil
	}
	key := row.AppendList(nil, e)
	v, err := get(w.r.snap, key)
	if err != nil || v == nil {
		return false, err
	}
	seq, err := row.DecodeSeq(v)
	if err != nil {
		return false, keyed(key, err)
	}
	return seq <= w.cursor.Seq, nil
}

// Session gives the session the walk stands on, as it is now, and its partials.
func (w *Walk) Session() (wire.ID, []fold.Keyed) { return w.cursor.Session, w.keyed }

// Looked is how many list positions this walk has looked at, shown or not.
func (w *Walk) Looked() int { return w.looked }

// Cursor continues the walk behind what it has looked at.
func (w *Walk) Cursor() Cursor { return w.cursor }

// Err says why Next ended early.
func (w *Walk) Err() error {
	if w.err != nil {
		return w.err
	}
	return w.it.Error()
}

// Close ends the walk.
func (w *Walk) Close() error { return w.it.Close() }
