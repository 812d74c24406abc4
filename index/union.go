package index

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sessionfold/index/row"
	"sessionfold/wire"
)

// Union is a reader of rows that were gathered for one read, of sources that
// lie in the stores of several workers. Keys name their source, so the rows of
// different workers never meet, and what is gathered reads like a store that has
// all of it. Its content is what was put; a session that was not is unknown.
type Union struct {
	*Reader
	batch *pebble.Batch
}

// Union begins an empty union. Close its reader soon.
func (r *Reader) Union() (*Union, error) {
	s := r.s
	if err := s.enter(); err != nil {
		return nil, err
	}
	db, err := s.scratch()
	if err != nil {
		s.leave()
		return nil, err
	}
	b := db.NewIndexedBatch()
	// A walk of shared entries looks at each whether it was there: see thereSince.
	return &Union{Reader: &Reader{s: s, snap: b, seq: 1, streams: make(map[uint32]*streamSources)}, batch: b}, nil
}

// scratch is an empty database in memory: what the batches of unions lie over.
func (s *Store) scratch() (*pebble.DB, error) {
	s.life.Lock()
	defer s.life.Unlock()
	if s.empty != nil {
		return s.empty, nil
	}
	o := &pebble.Options{FS: vfs.NewMem(), DisableWAL: true, MemTableSize: 64 << 10, Logger: pebbleLogger{log: s.opts.Logger, health: s.health}}
	db, err := pebble.Open("", o)
	if err != nil {
		return nil, fmt.Errorf("index: open a database in memory: %w", err)
	}
	s.empty = db
	return db, nil
}

// Put takes a row of a source that its sender holds; a row of anything else is
// an error. It must not be called while a walk or timeline of the union is open.
func (u *Union) Put(of map[row.SourceID]bool, key, value []byte) error {
	id, ok := sharedBy(key)
	if !ok || !of[id] {
		return fmt.Errorf("index: %s is not of a source that its sender holds", row.Describe(key))
	}
	delete(u.streams, id.Stream)
	return u.batch.Set(key, value, nil)
}

// sharedBy gives the source that a row of a union is of; false for what is not
// shared.
func sharedBy(key []byte) (row.SourceID, bool) {
	if len(key) == 0 {
		return row.SourceID{}, false
	}
	var err error
	var id row.SourceID
	switch key[0] {
	case row.TagSource, row.TagReset, row.TagLocal:
		id, err = row.ParseSource(key)
	case row.TagList:
		var k row.ListKey
		k, err = row.ParseList(key)
		id = row.SourceID{Stream: k.Stream, Source: k.Source}
	case row.TagChild:
		var k row.ChildKey
		k, err = row.ParseChild(key)
		id = row.SourceID{Stream: k.Stream, Source: k.Source}
	case row.TagPartial, row.TagLinks, row.TagChunk, row.TagBase, row.TagLog, row.TagHistory, row.TagPack:
		id, err = row.SessionSource(key)
	default:
		err = errors.New("not shared")
	}
	return id, err == nil
}

// WalkTo goes through the gathered part of the list behind a position, up to
// another and including it; with to nil to the end.
func (u *Union) WalkTo(stream string, from Cursor, to *Cursor) (*Walk, error) {
	id := wire.NameID(stream)
	prefix := row.AppendStream(nil, row.TagList, id)
	o := &pebble.IterOptions{LowerBound: prefix, UpperBound: row.PrefixEnd(prefix)}
	if from.Begun {
		o.LowerBound = afterPosition(id, from.Time, from.Session)
	}
	if to != nil {
		o.UpperBound = afterPosition(id, to.Time, to.Session)
	}
	from.Seq = 0 // of shared entries: see thereSince
	return u.walk(id, from, o)
}

// Listed gives the sessions that have gathered list entries behind a position
// and up to another, each once.
func (u *Union) Listed(stream string, from Cursor, to *Cursor) ([]wire.ID, error) {
	id := wire.NameID(stream)
	prefix := row.AppendStream(nil, row.TagList, id)
	lower, upper := prefix, row.PrefixEnd(prefix)
	if from.Begun {
		lower = afterPosition(id, from.Time, from.Session)
	}
	if to != nil {
		upper = afterPosition(id, to.Time, to.Session)
	}
	var out []wire.ID
	seen := map[wire.ID]bool{}
	err := scanRange(u.snap, lower, upper, func(key, _ []byte) (bool, error) {
		k, err := row.ParseList(key)
		if err == nil && !seen[k.Session] {
			seen[k.Session] = true
			out = append(out, k.Session)
		}
		return true, err
	})
	return out, err
}

// Before says that a position of the list comes before another.
func (c Cursor) Before(d Cursor) bool {
	return cmp.Or(cmp.Compare(d.Time, c.Time), c.Session.Compare(d.Session)) < 0
}
