package index

import (
	"path"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardFS stands between Pebble and the disk. Pebble panics, with locks held in
// a way that cannot be recovered from, when its write-ahead log cannot be
// written (pebble db.go, rotateWAL and commitWrite), and when its Open fails
// while what Open began still runs. So an error of any file but tables and
// manifests fails the store instead, and Pebble is told that all is well.
//
// From the failure on, whatever it was, the disk stays as it is: the log ends at
// a whole prefix of the batches, tables and manifests cannot be written, so that
// Pebble cannot build on what it wrongly takes for done, and no file is removed.
type guardFS struct {
	vfs.FS
	health *health
}

// holdsData says that a file is a table or part of a manifest: Pebble tries a
// failed write of these again, or fails, and does not panic.
func holdsData(name string) bool {
	name = path.Base(name)
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob") ||
		strings.HasPrefix(name, "MANIFEST-") || strings.HasPrefix(name, manifestMarker)
}

const manifestMarker = "marker.manifest."

func (g *guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.writable(name, func() (vfs.File, error) { return g.FS.Create(name, c) })
}

func (g *guardFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.writable(to, func() (vfs.File, error) { return g.FS.ReuseForWrite(from, to, c) })
}

func (g *guardFS) writable(name string, open func() (vfs.File, error)) (vfs.File, error) {
	err := g.health.check()
	if err == nil && strings.HasPrefix(path.Base(name), manifestMarker) {
		// Pebble syncs the directory after the marker is made only, so a crash could
		// keep the marker and lose the manifest that it names.
		err = syncDir(g.FS, path.Dir(name))
	}
	var f vfs.File
	if err == nil {
		f, err = open()
	}
	if holdsData(name) {
		if err != nil {
			return nil, err
		}
		return &frozenFile{File: f, health: g.health}, nil
	}
	if err != nil {
		g.health.fail(err)
		if f, err = vfs.NewMem().Create("void", vfs.WriteCategoryUnspecified); err != nil {
			return nil, err
		}
	}
	return &guardFile{File: f, health: g.health}, nil
}

func (g *guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardFile{File: f, health: g.health}, nil
}

func (g *guardFS) Link(from, to string) error {
	if err := g.health.check(); err != nil {
		return err
	}
	return g.FS.Link(from, to)
}

func (g *guardFS) Rename(from, to string) error {
	if g.health.check() == nil {
		if err := g.FS.Rename(from, to); err != nil {
			g.health.fail(err)
		}
	}
	return nil
}

// List finds nothing on a disk that fails; nothing can be begun there either.
func (g *guardFS) List(name string) ([]string, error) {
	names, err := g.FS.List(name)
	if err != nil {
		g.health.fail(err)
	}
	return names, nil
}

func (g *guardFS) Remove(name string) error {
	if g.health.check() != nil {
		return nil
	}
	return g.FS.Remove(name)
}

func (g *guardFS) RemoveAll(name string) error {
	if g.health.check() != nil {
		return nil
	}
	return g.FS.RemoveAll(name)
}

func (g *guardFS) Unwrap() vfs.FS { return g.FS }

// frozenFile is a table or a manifest: it takes nothing once the store failed.
type frozenFile struct {
	vfs.File
	health *health
}

func (f *frozenFile) Write(p []byte) (int, error) {
	if err := f.health.check(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *frozenFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.health.check(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

// guardFile is any other file, or a directory that is synced.
type guardFile struct {
	vfs.File
	health *health
}

// try does it while the store works; an error fails the store.
func (f *guardFile) try(do func() error) {
	if f.health.check() != nil {
		return
	}
	if err := do(); err != nil {
		f.health.fail(err)
	}
}

func (f *guardFile) Write(p []byte) (int, error) {
	f.try(func() error { _, err := f.File.Write(p); return err })
	return len(p), nil
}

func (f *guardFile) WriteAt(p []byte, at int64) (int, error) {
	f.try(func() error { _, err := f.File.WriteAt(p, at); return err })
	return len(p), nil
}

func (f *guardFile) Preallocate(offset, length int64) error {
	f.try(func() error { return f.File.Preallocate(offset, length) })
	return nil
}

func (f *guardFile) Sync() error {
	f.try(f.File.Sync)
	return nil
}

func (f *guardFile) SyncData() error {
	f.try(f.File.SyncData)
	return nil
}

func (f *guardFile) SyncTo(length int64) (full bool, err error) {
	f.try(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, nil
}

func (f *guardFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.health.fail(err)
	}
	return nil
}
