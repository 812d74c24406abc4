package wire

import (
	"strings"
	"testing"
)

func benchNative(b *testing.B, d Dialect, seeds []string) {
	src := NewSource("s", "t", 1, 0, RoleLane, d)
	var raws []Raw
	bytes := 0
	content := strings.Repeat("some words of a model or a tool, quoted \\\"here\\\" and there\\n", 10)
	for i := range 1000 {
		v := []byte(strings.Replace(seeds[i%len(seeds)], `"content":"a`, `"content":"`+content, 1))
		bytes += len(v)
		raws = append(raws, Raw{Offset: uint64(i), Timestamp: int64(i), Key: []byte("0123abcd0123456789ab0123456789ab"), Value: v})
	}
	dec := NewDecoder(d, nil)
	dec.Decode(src, raws)
	b.SetBytes(int64(bytes / 1000))
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += len(raws) {
		dec.Decode(src, raws)
	}
}

func BenchmarkDecodeDeepStrike(b *testing.B) { benchNative(b, DialectDeepStrike, deepSeeds) }
func BenchmarkDecodeEverruns(b *testing.B)   { benchNative(b, DialectEverruns, everSeeds) }
