package index

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/index/row"
)

// closeWait bounds how long Close waits for Pebble once the store has failed: a
// write may be stuck behind a flush that cannot succeed.
const closeWait = 2 * time.Second

// Store is the index on disk: one writer at a time, readers over snapshots. Its
// methods may be called by several goroutines.
type Store struct {
	db       *pebble.DB
	opts     Options
	health   *health
	identity row.Identity
	empty    *pebble.DB // below unions, opened when the first is made; guarded by life

	write  sync.Mutex // orders writes; guards what follows
	seq    uint64     // apply sequence of the last batch
	locals map[row.SourceID]row.Local
	nexts  map[row.SourceID]uint64 // Frontier.Next of every source with a meta

	life   sync.Mutex // guards closed; calls enter under it
	closed bool
	calls  sync.WaitGroup // calls and open readers
}

// begin reads the store's own state, or writes that of a new store.
func (s *Store) begin() error {
	id, known, err := s.readIdentity()
	if err != nil {
		return err
	}
	if s.identity, err = s.nextIdentity(id, known); err != nil {
		return err
	}
	if s.seq, err = s.readSeq(); err != nil {
		return err
	}
	if err := errors.Join(s.readLocals(), s.readNexts()); err != nil {
		return err
	}
	b := s.db.NewBatch()
	err = errors.Join(
		b.Set(row.KeyIdentity, row.AppendIdentity(nil, s.identity), nil),
		b.Delete(row.KeyClean, nil),
		b.Commit(pebble.Sync), b.Close(), s.health.check())
	if err != nil {
		return fmt.Errorf("write the store's identity: %w", err)
	}
	return nil
}

func (s *Store) readIdentity() (row.Identity, bool, error) {
	v, err := get(s.db, row.KeyIdentity)
	if err != nil {
		return row.Identity{}, false, err
	}
	if v == nil {
		empty, err := isEmpty(s.db)
		if err == nil && !empty {
			err = fmt.Errorf("%w: it holds data of another program; choose another directory", ErrFormat)
		}
		return row.Identity{}, false, err
	}
	id, err := row.DecodeIdentity(v)
	if err != nil {
		return row.Identity{}, false, fmt.Errorf("%w; %s: %w", ErrFormat, rebuildHint, err)
	}
	return id, true, nil
}

func isEmpty(db *pebble.DB) (bool, error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return false, err
	}
	empty := !it.First()
	return empty, errors.Join(it.Error(), it.Close())
}

// nextIdentity keeps the identity after a clean stop. After any other the last
// batches may be lost and their apply sequences given anew, so cursors made
// before must not be taken.
func (s *Store) nextIdentity(id row.Identity, known bool) (row.Identity, error) {
	clean, err := get(s.db, row.KeyClean)
	if err != nil {
		return id, err
	}
	if !known {
		rand.Read(id.StoreID[:])
	}
	if !known || clean == nil {
		rand.Read(id.WalkID[:])
	}
	return id, nil
}

func (s *Store) readSeq() (uint64, error) {
	v, err := get(s.db, row.KeyApplied)
	if err != nil || v == nil {
		return 0, err
	}
	return row.DecodeSeq(v)
}

func (s *Store) readLocals() error {
	return scan(s.db, []byte{row.TagLocal}, func(key, value []byte) error {
		id, err := row.ParseSource(key)
		if err != nil {
			return err
		}
		l, err := row.DecodeLocal(value)
		if err != nil {
			return keyed(key, err)
		}
		s.locals[id] = l
		return nil
	})
}

func (s *Store) readNexts() error {
	return scan(s.db, []byte{row.TagSource}, func(key, value []byte) error {
		id, err := row.ParseSource(key)
		if err != nil {
			return err
		}
		m, err := row.DecodeSourceMeta(value)
		if err != nil {
			return keyed(key, err)
		}
		s.nexts[id] = m.Frontier.Next
		return nil
	})
}

// enter lets a call begin; leave ends it.
func (s *Store) enter() error {
	if err := s.health.check(); err != nil {
		return err
	}
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.calls.Add(1)
	return nil
}

func (s *Store) leave() { s.calls.Done() }

// Failed is closed when the store fails; Err then says why.
func (s *Store) Failed() <-chan struct{} { return s.health.failed }

// Err is nil while the store works.
func (s *Store) Err() error { return s.health.check() }

// Close waits for calls and readers to end, writes everything to disk and lets
// the directory go. The error of a failed store is its failure; then the
// directory may stay locked until the process ends.
func (s *Store) Close() error {
	s.life.Lock()
	if s.closed {
		s.life.Unlock()
		return ErrClosed
	}
	s.closed = true
	s.life.Unlock()
	if s.health.check() == nil {
		s.calls.Wait()
		if s.empty != nil {
			_ = s.empty.Close() // it holds nothing
		}
		if err := s.db.Set(row.KeyClean, []byte{row.Version}, pebble.Sync); err != nil {
			s.health.fail(err)
		}
	}
	if s.health.check() == nil {
		if err := s.db.Close(); err != nil {
			return fmt.Errorf("index: close %s: %w", s.opts.Dir, err)
		}
		return s.health.check()
	}
	close(s.health.closing)
	waitFor(closeWait, func() {
		s.calls.Wait()
		_ = unpanicked(s.health, s.db.Close) // the failure below says more
	})
	return errors.Join(s.health.check(), noteCorrupt(&s.opts, s.health.check()))
}
