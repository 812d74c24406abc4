package index

import "github.com/cockroachdb/pebble/v2/vfs"

// Memory is a file system for Options.FS that lives in this process: the store
// of a replay, which is thrown away.
func Memory() vfs.FS { return vfs.NewMem() }
