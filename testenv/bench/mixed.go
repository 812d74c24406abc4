package bench

import (
	"fmt"
	"hash/crc32"

	"sessionfold/testenv/agdxgen"
	"sessionfold/wire"
)

// Mixed is the generator's log: sessions of every course, with state documents,
// links, control, held work, memory and dead letters, over all topics.
func Mixed(stream string, sessions int, partitions int32) *Load {
	g := agdxgen.New(agdxgen.Options{Stream: stream, Seed: 1, Sessions: sessions, Live: 64, Clean: true})
	l := &Load{Partitions: partitions}
	for e := range g.All() {
		p := int32(0)
		if e.Role == wire.RoleLane {
			p = int32(crc32.ChecksumIEEE(e.Key) % uint32(partitions))
		}
		l.Records = append(l.Records, Placed{e.Record, p})
		l.Bytes += int64(len(e.Key) + len(e.Value))
		for _, h := range e.Headers {
			l.Bytes += int64(len(h.Key) + len(h.Value))
		}
	}
	l.Sessions = g.Started()
	l.Name = fmt.Sprintf("%d sessions of all kinds on all topics", l.Sessions)
	return l.probeEach()
}
