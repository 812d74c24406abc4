package source

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recycled keeps the memory of fetched batches for the next ones: in a catch-up
// a fetch brings megabytes, and fresh memory costs more (page faults, zeroing,
// garbage collection) than reading the records does. What was given back last is
// taken first: it is still in the processor's cache.
type recycled struct {
	mu      sync.Mutex
	bytes   shelf[byte]
	records shelf[kgo.Record]
}

const (
	maxClass  = 26       // 64 MiB; larger ones are left to the garbage collector
	maxIdle   = 40 << 20 // bytes that each of the two shelves keeps
	inflation = 6        // how much larger than its compressed form a batch is taken to be
)

var (
	_ kgo.PoolDecompressBytes = (*recycled)(nil)
	_ kgo.PoolRecords         = (*recycled)(nil)
)

// GetDecompressBytes gives room for a batch; too little of it is grown by the client.
func (p *recycled) GetDecompressBytes(compressed []byte, codec kgo.CompressionCodecType) []byte {
	n := inflation * len(compressed)
	if codec == kgo.CodecSnappy {
		// The format begins with its length. A frame around it (Java's clients
		// write one) begins with a byte that is far too long a length.
		if u, used := binary.Uvarint(compressed); used > 0 && u <= 1<<maxClass {
			n = int(u)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes.take(n)
}

// PutDecompressBytes takes it back.
func (p *recycled) PutDecompressBytes(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes.give(b)
}

// GetRecords gives room for n records.
func (p *recycled) GetRecords(n int) []kgo.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.records.take(n)
}

// PutRecords takes it back.
func (p *recycled) PutRecords(r []kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records.give(r)
}

// shelf keeps slices by size class, a power of two.
type shelf[T any] struct {
	free [maxClass + 1][][]T
	idle int // bytes
}

func size[T any](s []T) int {
	var t T
	return cap(s) * int(unsafe.Sizeof(t))
}

// take gives an empty slice of at least n, at most four times as much as asked for.
func (f *shelf[T]) take(n int) []T {
	class := bits.Len(uint(max(n, 1) - 1))
	if class > maxClass {
		return make([]T, 0, n)
	}
	for c := class; c <= min(class+1, maxClass); c++ {
		if k := len(f.free[c]); k > 0 {
			s := f.free[c][k-1]
			f.free[c][k-1] = nil
			f.free[c] = f.free[c][:k-1]
			f.idle -= size(s)
			return s[:0]
		}
	}
	return make([]T, 0, 1<<class)
}

func (f *shelf[T]) give(s []T) {
	class := bits.Len(uint(cap(s))) - 1
	if n := size(s); class >= 0 && class <= maxClass && f.idle+n <= maxIdle {
		f.free[class] = append(f.free[class], s)
		f.idle += n
	}
}
