package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/index/row"
)

// Errors of Open, and of a store that finds later that it is corrupt.
var (
	ErrLocked  = errors.New("another process has this store open")
	ErrFormat  = errors.New("the store has another format")
	ErrCorrupt = errors.New("the store is corrupt")
	ErrOpen    = errors.New("the store cannot be opened")
)

// rebuildHint is what an operator does about a store that cannot be read.
const rebuildHint = "stop the worker, move the directory away and run `folder run` again: it is restored from the changelog topics"

// Unusable says that an error is that of a store which cannot be opened, or
// could not be used any longer.
func Unusable(err error) bool {
	for _, e := range []error{ErrFailed, ErrLocked, ErrFormat, ErrCorrupt, ErrOpen} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Open opens the store of a directory, making it when there is none. A
// directory in use is ErrLocked, one of another format ErrFormat, a damaged one
// ErrCorrupt (see SetAside), anything else ErrOpen.
func Open(o Options) (*Store, error) {
	o.fill()
	lock, err := lockDir(&o)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: o, health: newHealth(), locals: make(map[row.SourceID]row.Local), nexts: make(map[row.SourceID]uint64)}
	if err = corruptBefore(&o); err == nil {
		err = manifestWhole(&o)
	}
	if err == nil {
		err = s.open(lock)
	}
	if err == nil {
		return s, lock.Close() // the database holds it on
	}
	close(s.health.closing)
	waitFor(closeWait, func() {
		if s.db != nil {
			_ = unpanicked(s.health, s.db.Close)
		}
		_ = lock.Close() // the error says more
	})
	return nil, refused(o.Dir, err)
}

// lockDir makes the directory and takes it for this process.
func lockDir(o *Options) (*pebble.Lock, error) {
	if err := o.FS.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, refused(o.Dir, err)
	}
	lock, err := pebble.LockDirectory(o.Dir, o.FS)
	var file *fs.PathError
	if errors.As(err, &file) { // the lock's file could not be made
		return nil, refused(o.Dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("index: lock %s: %w (stop it, or give this one another directory): %w", o.Dir, ErrLocked, err)
	}
	return lock, nil
}

// open has an end even where Pebble has none: it flushes what it replayed from
// the log, and waits for room on the disk for ever. Then the directory stays
// locked until the process ends.
func (s *Store) open(lock *pebble.Lock) error {
	p := pebbleOptions(&s.opts, s.health)
	p.Lock = lock
	type result struct {
		db  *pebble.DB
		err error
	}
	opened := make(chan result, 1)
	go func() {
		var r result
		r.err = unpanicked(s.health, func() (err error) {
			r.db, err = pebble.Open(s.opts.Dir, p)
			return err
		})
		opened <- r
	}()
	var r result
	select {
	case r = <-opened:
	case <-s.health.failed:
		select {
		case r = <-opened:
		case <-time.After(closeWait):
		}
	}
	s.db = r.db
	if err := s.health.check(); err != nil {
		return errors.Join(err, r.err)
	}
	if r.err != nil {
		return r.err
	}
	return s.begin()
}

// unpanicked makes an error of the panics of Pebble's Open and Close, which meet
// tables in use while they take down what could not be opened. The disk is then
// frozen (guardFS), whatever still runs.
func unpanicked(h *health, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("pebble: %v", p)
			h.fail(err)
		}
	}()
	return do()
}

// waitFor does something for which nobody waits longer than d.
func waitFor(d time.Duration, do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// refused says why a directory cannot be opened, and what to do.
func refused(dir string, err error) error {
	if Unusable(err) && strings.Contains(err.Error(), "hint: ") {
		return fmt.Errorf("index: open %s: %w", dir, err)
	}
	var disk syscall.Errno
	kind := ErrCorrupt // what is read cannot be understood, or a file that others name is gone
	switch {
	case isCorrupt(err) || errors.Is(err, fs.ErrNotExist):
	case foreign(err):
		kind = ErrFormat
	case errors.As(err, &disk):
		kind = ErrOpen
	}
	err = fmt.Errorf("%w: %w", kind, err)
	return fmt.Errorf("index: open %s: %w\n    hint: %s", dir, err, hintOf(err))
}

func isCorrupt(err error) bool { return pebble.IsCorruptionError(err) || errors.Is(err, ErrCorrupt) }

// foreign says that Pebble refuses a whole store of another version or another
// program; it has no error values for that.
func foreign(err error) bool {
	for _, part := range []string{"format major version", "comparer name", "merger name"} {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}

// hintOf is what an operator does about an error of the disk.
func hintOf(err error) string {
	is := func(es ...error) bool {
		for _, e := range es {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
	switch {
	case is(syscall.ENOSPC, syscall.EDQUOT):
		return "the disk is full: free space on it or give the store a larger one, then start again; nothing is lost"
	case is(syscall.EROFS):
		return "the file system is read-only: mount it writable (the kernel does this after disk errors: see dmesg), or choose another directory with --store.dir"
	case is(os.ErrPermission):
		return "give the user of this process the right to read and write the directory and its files, or choose another with --store.dir"
	case is(syscall.ENOTDIR, os.ErrExist):
		return "the path or a part of it is a file: choose a directory with --store.dir"
	case isCorrupt(err):
		return "start `folder run` again: it sets the directory's files aside and restores them from the changelog topics; when this comes back, the disk is failing"
	case is(syscall.EIO):
		return "the disk reports errors: look at dmesg and replace it, then start again; an empty directory is restored from the changelog topics"
	}
	return rebuildHint
}
