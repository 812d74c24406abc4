package bench

import (
	"fmt"
	"hash/crc32"

	"sessionfold/testenv/nativegen"
	"sessionfold/wire"
)

// Native is the generator's log of a foreign dialect: sessions of every course,
// live of them at work in a partition at one time.
func Native(d wire.Dialect, stream string, sessions int, partitions int32, live int) *Load {
	g := nativegen.New(nativegen.Options{
		Dialect: d, Stream: stream, Seed: 1, Sessions: sessions, Live: live * int(partitions), Clean: true,
	})
	l := &Load{Dialect: d, Partitions: partitions}
	for e := range g.All() {
		l.Records = append(l.Records, Placed{e.Record, int32(crc32.ChecksumIEEE(e.Key) % uint32(partitions))})
		l.Bytes += int64(len(e.Key) + len(e.Value))
		for _, h := range e.Headers {
			l.Bytes += int64(len(h.Key) + len(h.Value))
		}
	}
	l.Sessions = g.Started()
	l.Name = fmt.Sprintf("%d sessions of %s", l.Sessions, d)
	return l.probeEach()
}
