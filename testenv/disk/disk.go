package disk

import (
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"sessionfold/index"
)

// Disk is the machine's file system, until it fails. The zero value works.
type Disk struct {
	mu    sync.Mutex
	cause error
	name  string
}

// Use puts a store on the disk.
func (d *Disk) Use(o *index.Options) {
	o.FS = errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(d.fault))
}

// Fail makes every write to files whose path contains name end with cause. They
// can still be renamed, as on a disk that is full.
func (d *Disk) Fail(cause error, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cause, d.name = cause, name
}

// Heal ends that.
func (d *Disk) Heal() { d.Fail(nil, "") }

func (d *Disk) fault(op errorfs.Op) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cause == nil || op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpRename || !strings.Contains(op.Path, d.name) {
		return nil
	}
	return &os.PathError{Op: "write", Path: op.Path, Err: d.cause}
}
