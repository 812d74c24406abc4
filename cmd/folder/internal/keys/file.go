package keys

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"sessionfold/wire"
)

// Hint says what a keys file looks like.
const Hint = "each line: an Ed25519 public key as 64 hexadecimal digits or base64, then whose it is (docs/operations.md)"

// Read reads a keys file. Its error names the file, and the line when there is
// one to blame.
func Read(path string) (*wire.Keys, error) {
	b, err := content(path)
	if err != nil {
		return nil, err
	}
	k, err := wire.ParseKeys(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// content reads no more than a keys file may hold, whatever the path names.
func content(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, wire.MaxKeysFile+1))
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return b, nil
}

// File is the keys file of a stream, as it was when it could last be read.
type File struct {
	Stream, Path string

	keys atomic.Pointer[wire.Keys]

	mu    sync.Mutex
	tried [sha256.Size]byte // of the content, or of the error, that was seen last
	stats Stats
}

// Stats is what became of a file. Counters only grow.
type Stats struct {
	Keys     int
	Loads    uint64 // the first and every change that was taken
	Failures uint64 // changes that were not, because the file could not be used
	Failed   bool   // the file as it is now cannot be used; the keys before it are in force
}

// Open reads a stream's keys for the first time.
func Open(stream, path string) (*File, error) {
	f := &File{Stream: stream, Path: path}
	if _, err := f.Reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// Current gives the keys in force; nil receives none.
func (f *File) Current() *wire.Keys {
	if f == nil {
		return nil
	}
	return f.keys.Load()
}

// Reload looks at the file. changed says that other keys are in force now. A
// content, or a failure, that was seen before is nothing new; after an error the
// keys of before stay.
//
// The whole content is looked at: a time and a size can stay the same when a
// file is replaced twice in a moment.
func (f *File) Reload() (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := content(f.Path)
	seen := sha256.Sum256(b)
	if err != nil {
		seen = sha256.Sum256([]byte(err.Error()))
	}
	if seen == f.tried {
		return false, nil
	}
	f.tried = seen
	var k *wire.Keys
	if err == nil {
		k, err = wire.ParseKeys(b)
		if err != nil {
			err = fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if f.stats.Failed = err != nil; err != nil {
		f.stats.Failures++
		return false, err
	}
	before := f.keys.Swap(k)
	f.stats.Keys = k.Len()
	f.stats.Loads++
	return before == nil || before.Fingerprint() != k.Fingerprint(), nil
}

// Stats gives the counters.
func (f *File) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// OpenAll opens the files of the streams that have one.
func OpenAll(paths map[string]string) (map[string]*File, error) {
	out := map[string]*File{}
	var bad error
	for stream, path := range paths {
		f, err := Open(stream, path)
		if err != nil {
			bad = errors.Join(bad, fmt.Errorf("stream %s: %w\n    hint: %s", stream, err, Hint))
			continue
		}
		out[stream] = f
	}
	return out, bad
}
