package app

import (
	"fmt"

	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// restore brings the records of a changelog into the store. A changelog is
// shared by the generations of a topic. Former ones are folded no more, but what
// was folded of them stays readable as history, on whichever worker the partition
// is: they are restored with the one of now.
type restore struct {
	store     *index.Store
	src       *wire.Source
	id        row.SourceID
	changelog uint64
	to        *index.Restorer
	former    []*former // by their first record in the changelog
}

type former struct {
	id row.SourceID
	to *index.Restorer
}

func newRestore(store *index.Store, src *wire.Source, changelog uint64) *restore {
	r := &restore{store: store, src: src, id: row.IDOf(src), changelog: changelog, to: store.NewRestorer(src)}
	r.to.ChangelogID = changelog
	return r
}

func (r *restore) Put(key, value []byte) (mine bool, err error) {
	id, err := row.DurableSource(key)
	if err != nil {
		return false, fmt.Errorf("app: a changelog record of an unknown kind: %w", err)
	}
	if to := r.of(id); to != nil {
		return false, to.Put(key, value)
	}
	return true, r.to.Put(key, value)
}

// of gives the restorer of a former generation; nil when the record is not of one.
func (r *restore) of(id row.SourceID) *index.Restorer {
	for _, f := range r.former {
		if f.id == id {
			return f.to
		}
	}
	src := wire.NewSource(r.src.Stream, r.src.Topic, id.Generation(), r.src.Partition, r.src.Role, r.src.Dialect)
	if id == r.id || row.IDOf(src) != id { // a stranger is the restorer's to refuse
		return nil
	}
	f := &former{id, r.store.NewRestorer(src)}
	f.to.ChangelogID, f.to.Former = r.changelog, true
	r.former = append(r.former, f)
	return f.to
}

// Commit ends with the source of now: the position that it notes says that the
// former ones were read as well.
func (r *restore) Commit(changelogNext int64) error {
	for _, f := range r.former {
		if err := f.to.Commit(changelogNext); err != nil {
			return err
		}
	}
	return r.to.Commit(changelogNext)
}
