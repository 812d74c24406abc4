package index

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options says where a store lies and what it may use.
type Options struct {
	Dir        string
	FS         vfs.FS           // nil: the machine's
	Logger     *slog.Logger     // nil: silent
	CacheBytes int64            // memory for blocks and memory tables together; 0 is DefaultCacheBytes
	Now        func() time.Time // nil: time.Now; only tells how old a directory is
}

// DefaultCacheBytes leaves room for the rest of a 512 MiB process.
const DefaultCacheBytes = 160 << 20

// memTableBytes is large enough for a batch of 100,000 records, which would
// otherwise bypass the memory table; three of them count against the cache.
const memTableBytes = 32 << 20

func (o *Options) fill() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// pebbleOptions: most loads ask for sessions that are not there, so every level
// has a bloom filter; writes come in few large batches.
func pebbleOptions(o *Options, h *health) *pebble.Options {
	p := &pebble.Options{
		FS:                          &guardFS{FS: o.FS, health: h},
		CacheSize:                   o.CacheBytes,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: 3,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		MaxOpenFiles:                512,
		BytesPerSync:                1 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Logger:                      pebbleLogger{log: o.Logger, health: h},
		EventListener: &pebble.EventListener{
			BackgroundError: h.background,
			DataCorruption:  func(info pebble.DataCorruptionInfo) { h.fail(info.Details) },
		},
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].FilterType = pebble.TableFilter
	}
	p.TargetFileSizes[0] = 8 << 20
	return p
}
