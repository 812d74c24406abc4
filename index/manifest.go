package index

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
)

// manifestWhole is an error when the manifest of a store does not end cleanly.
// Pebble takes what it cannot read of it for a write that was cut off by a
// crash, and goes on with what comes before: the newest tables are then missing
// although the log that follows them is there, which is no state that ever was.
// A write of the manifest that a crash really cut off cannot be told from that.
func manifestWhole(o *Options) error {
	d, err := pebble.Peek(o.Dir, o.FS)
	if err != nil || !d.Exists {
		return nil // opening the store will tell
	}
	f, err := o.FS.Open(d.ManifestFilename)
	if err != nil {
		return nil
	}
	defer f.Close()
	for r, n := record.NewReader(f, 0), 0; ; n++ {
		one, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, one)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %s, record %d: %w", ErrCorrupt, d.ManifestFilename, n, err)
		}
	}
}
