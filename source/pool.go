package source

import (
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recycled keeps the memory of fetched batches for the next ones: in a catch-up
// a fetch brings tens of megabytes, and fresh memory costs more (page faults,
// zeroing, garbage collection) than reading the records does. Slices are kept by
// size class, a power of two; the garbage collector empties the pools.
type recycled struct {
	bytes   [maxClass + 1]sync.Pool // of *[]byte
	records [maxClass + 1]sync.Pool // of *[]kgo.Record
}

const (
	maxClass  = 26 // 64 MiB; larger ones are left to the garbage collector
	inflation = 6  // how much larger than its compressed form a batch is taken to be
)

var (
	_ kgo.PoolDecompressBytes = (*recycled)(nil)
	_ kgo.PoolRecords         = (*recycled)(nil)
)

// GetDecompressBytes gives room for a batch; too little of it is grown by the client.
func (p *recycled) GetDecompressBytes(compressed []byte, _ kgo.CompressionCodecType) []byte {
	return take[byte](&p.bytes, inflation*len(compressed))
}

// PutDecompressBytes takes it back.
func (p *recycled) PutDecompressBytes(b []byte) { give(&p.bytes, b) }

// GetRecords gives room for n records.
func (p *recycled) GetRecords(n int) []kgo.Record { return take[kgo.Record](&p.records, n) }

// PutRecords takes it back.
func (p *recycled) PutRecords(r []kgo.Record) { give(&p.records, r) }

// take gives an empty slice of at least n, at most four times as much as asked for.
func take[T any](pools *[maxClass + 1]sync.Pool, n int) []T {
	class := bits.Len(uint(max(n, 1) - 1))
	if class > maxClass {
		return make([]T, 0, n)
	}
	for c := class; c <= min(class+1, maxClass); c++ {
		if s, ok := pools[c].Get().(*[]T); ok {
			return (*s)[:0]
		}
	}
	return make([]T, 0, 1<<class)
}

func give[T any](pools *[maxClass + 1]sync.Pool, s []T) {
	if class := bits.Len(uint(cap(s))) - 1; class >= 0 && class <= maxClass {
		pools[class].Put(&s)
	}
}
