package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// dumpedSources are the tags of what a dump holds of sources, before the
// sessions; dumpedSessions those of a session.
var (
	dumpedSources  = []byte{row.TagSource, row.TagReset, row.TagLocal}
	dumpedSessions = []byte{row.TagPartial, row.TagLinks, row.TagChunk, row.TagBase, row.TagLog, row.TagHistory, row.TagPack}
)

// Dump calls f with the stored rows of a stream: those of its sources, then
// those of its sessions, ascending by id. What follows from them (list and child
// entries, batches) is left out. Key and value are valid during the call.
func (r *Reader) Dump(ctx context.Context, stream string, f func(key, value []byte) error) error {
	if _, err := r.Sources(stream); err != nil { // refuses another stream of the same number
		return err
	}
	id := wire.NameID(stream)
	for _, tag := range dumpedSources {
		if err := scan(r.snap, row.AppendStream(nil, tag, id), f); err != nil {
			return err
		}
	}
	return r.Sessions(ctx, stream, func(session wire.ID, _ []fold.Keyed) error {
		for _, tag := range dumpedSessions {
			if err := scan(r.snap, row.AppendSession(nil, tag, id, session), f); err != nil {
				return err
			}
		}
		return r.s.health.check()
	})
}

// Sessions calls f with every session of a stream, ascending by id, its links
// filled in.
func (r *Reader) Sessions(ctx context.Context, stream string, f func(wire.ID, []fold.Keyed) error) error {
	ss, err := r.sources(wire.NameID(stream))
	if err != nil {
		return err
	}
	var id wire.ID
	var ks []fold.Keyed
	end := func() error {
		if len(ks) == 0 {
			return nil
		}
		one := ks
		ks = nil
		return f(id, one)
	}
	err = scan(r.snap, row.AppendStream(nil, row.TagPartial, wire.NameID(stream)), func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		k, err := row.ParsePartial(key)
		if err != nil {
			return err
		}
		if k.Session != id {
			if err := end(); err != nil {
				return err
			}
			id = k.Session
		}
		one, err := ss.keyed(key, value)
		if err == nil {
			err = loadLinks(k, one.Partial, func(key []byte) ([]byte, error) { return get(r.snap, key) })
		}
		ks = append(ks, one)
		return err
	})
	if err != nil {
		return err
	}
	return end()
}

// Importer fills an empty store with the rows of a dump. Such a store has no
// lists; it is for looking sessions up.
type Importer struct {
	s *Store
	b *pebble.Batch
}

// NewImporter begins an import; End ends it.
func (s *Store) NewImporter() *Importer { return &Importer{s: s, b: s.db.NewBatch()} }

// Put takes one row.
func (i *Importer) Put(key, value []byte) error {
	if len(key) == 0 || key[0] == row.TagStore {
		return fmt.Errorf("index: import: %s is no row of a dump", row.Describe(key))
	}
	if err := i.b.Set(key, value, nil); err != nil {
		return err
	}
	if i.b.Len() < restoreBatchBytes {
		return nil
	}
	return i.flush()
}

func (i *Importer) flush() error {
	err := errors.Join(i.b.Commit(pebble.NoSync), i.b.Close(), i.s.health.check())
	i.b = i.s.db.NewBatch()
	return err
}

// End writes the rest and reads what the store keeps of sources in memory.
func (i *Importer) End() error {
	if err := i.flush(); err != nil {
		return err
	}
	i.s.write.Lock()
	defer i.s.write.Unlock()
	return errors.Join(i.b.Close(), i.s.readLocals(), i.s.readNexts())
}
