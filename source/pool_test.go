package source

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestFetchedMemoryIsUsedAgain(t *testing.T) {
	p := new(recycled)
	b := append(p.GetDecompressBytes(make([]byte, 100), kgo.CodecLz4), 1)
	if cap(b) < inflation*100 {
		t.Fatalf("room for %d bytes", cap(b))
	}
	p.PutDecompressBytes(b)
	if again := p.GetDecompressBytes(make([]byte, 100), kgo.CodecLz4); len(again) != 0 || &again[:1][0] != &b[0] {
		t.Error("fresh memory, or not empty")
	}
	r := append(p.GetRecords(10), kgo.Record{})
	p.PutRecords(r)
	if again := p.GetRecords(9); &again[:1][0] != &r[0] {
		t.Error("fresh records")
	}
}

// Snappy says how long a batch is: room for less would be grown, and was of no use.
func TestSnappyHasRoomForTheWhole(t *testing.T) {
	p := new(recycled)
	whole := bytes.Repeat([]byte("all the same "), 100_000)
	c, err := kgo.DefaultCompressor(kgo.SnappyCompression())
	if err != nil {
		t.Fatal(err)
	}
	packed, _ := c.Compress(new(bytes.Buffer), whole)
	if inflation*len(packed) >= len(whole) {
		t.Fatal("the text does not compress enough to tell")
	}
	if b := p.GetDecompressBytes(packed, kgo.CodecSnappy); cap(b) < len(whole) {
		t.Errorf("room for %d of %d bytes", cap(b), len(whole))
	}
	framed := append([]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}, packed...)
	if b := p.GetDecompressBytes(framed, kgo.CodecSnappy); cap(b) > 1<<maxClass {
		t.Errorf("room for %d bytes of a framed batch", cap(b))
	}
}

func TestIdleMemoryIsBound(t *testing.T) {
	p := new(recycled)
	for range 3 * maxIdle >> 20 {
		p.PutDecompressBytes(make([]byte, 0, 1<<20))
	}
	if p.bytes.idle > maxIdle || p.bytes.idle < maxIdle/2 {
		t.Errorf("%d bytes are idle, the bound is %d", p.bytes.idle, maxIdle)
	}
	p.PutDecompressBytes(make([]byte, 0, 1<<(maxClass+1)))
	if p.bytes.idle > maxIdle {
		t.Error("more than the largest class is kept")
	}
}
