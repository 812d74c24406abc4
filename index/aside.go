package index

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// corruptFile tells the next Open what was found while the store was in use:
	// what is damaged may not be met by opening it.
	corruptFile = "CORRUPT"
	asidePrefix = "corrupt-"
	// maxAside is how many damaged stores are kept. A disk that damages one more
	// is no disk to restore on.
	maxAside = 3
)

// corruptBefore is an error when the store was found corrupt before.
func corruptBefore(o *Options) error {
	f, err := o.FS.Open(o.FS.PathJoin(o.Dir, corruptFile))
	if err != nil {
		return nil // there is none, or opening the store will tell
	}
	defer f.Close()
	why, err := io.ReadAll(f)
	return errors.Join(fmt.Errorf("%w: found when it was last in use: %s\n    hint: %s", ErrCorrupt, strings.TrimSpace(string(why)), hintOf(ErrCorrupt)), err)
}

// noteCorrupt leaves the mark, when that is what the store failed from.
func noteCorrupt(o *Options, failure error) error {
	if !errors.Is(failure, ErrCorrupt) {
		return nil
	}
	why, _, _ := strings.Cut(failure.Error(), "\n")
	if err := writeSynced(o.FS, o.FS.PathJoin(o.Dir, corruptFile), why+"\n"); err != nil {
		return fmt.Errorf("index: mark %s as corrupt: %w", o.Dir, err)
	}
	return syncDir(o.FS, o.Dir)
}

func writeSynced(fs vfs.FS, name, text string) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(fs vfs.FS, name string) error {
	d, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SetAside moves all that lies in the directory of a corrupt store into a
// directory corrupt-1, corrupt-2 … inside it, so that Open begins an empty one.
// It stays inside because the directory itself is often a mount point. What was
// cut off is gone on with. It is an error when as many are there as are kept.
func SetAside(o Options) (to string, err error) {
	o.fill()
	lock, err := lockDir(&o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return "", fmt.Errorf("index: set %s aside: %w", o.Dir, err)
	}
	slices.Sort(names)
	files := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == corruptFile || name == lockFile || strings.HasPrefix(name, asidePrefix)
	})
	last := ""
	for n := 1; n <= maxAside; n++ {
		name := fmt.Sprintf("%s%d", asidePrefix, n)
		to := o.FS.PathJoin(o.Dir, name)
		if slices.Contains(names, name) {
			// The mark goes last: a directory without one is not complete.
			if _, err := o.FS.Stat(o.FS.PathJoin(to, corruptFile)); err == nil {
				last = to
				continue
			}
		}
		mark := o.FS.PathJoin(o.Dir, corruptFile)
		if len(files) == 0 && last != "" { // a crash kept the mark that had been moved
			to, err = last, errors.Join(o.FS.Remove(mark), syncDir(o.FS, o.Dir))
		} else {
			err = moveAside(&o, files, mark, to)
		}
		if err != nil {
			return "", fmt.Errorf("index: set %s aside: %w\n    hint: %s", o.Dir, err, hintOf(err))
		}
		return to, nil
	}
	return "", fmt.Errorf("index: %w, and %d corrupt stores were set aside in %s already\n    hint: the disk or the memory of this machine is failing; replace it, or remove the %s* directories to try once more",
		ErrCorrupt, maxAside, o.Dir, asidePrefix)
}

func moveAside(o *Options, files []string, mark, to string) error {
	if _, err := o.FS.Stat(mark); err != nil {
		if err := errors.Join(writeSynced(o.FS, mark, ErrCorrupt.Error()+"\n"), syncDir(o.FS, o.Dir)); err != nil {
			return err
		}
	}
	if err := o.FS.MkdirAll(to, 0o755); err != nil {
		return err
	}
	move := func(name string) error {
		return o.FS.Rename(o.FS.PathJoin(o.Dir, name), o.FS.PathJoin(to, name))
	}
	for _, name := range files {
		if err := move(name); err != nil {
			return err
		}
	}
	if err := errors.Join(syncDir(o.FS, o.Dir), syncDir(o.FS, to)); err != nil {
		return err
	}
	return errors.Join(move(corruptFile), syncDir(o.FS, to), syncDir(o.FS, o.Dir))
}

// lockFile is Pebble's; it stays, and with it the lock.
const lockFile = "LOCK"
