package index

import (
	"github.com/cockroachdb/pebble/v2"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// lane reads the rows of one session in one source, ascending by offset and so
// by address, or descending.
type lane struct {
	it     *pebble.Iterator
	back   bool
	on     bool // it stands on a pack that was not opened
	pack   *row.Pack
	rows   []Event       // backwards: those of the pack that are still to come
	after  *wire.Address // rows up to here are skipped, until one is behind it; backwards, rows from here
	from   uint64        // rows below are expired, or read already
	to     uint64        // rows from here on are not read
	event  Event
	err    error
	source *wire.Source
}

func (r *Reader) lane(id wire.ID, k *fold.Keyed, rd *Reading, bound uint64) (*lane, error) {
	src := k.Source
	key := row.PartialKey{Stream: src.StreamID, Session: id, Source: src.Key()}
	l := &lane{source: src, after: rd.From, back: rd.Back, to: bound}
	if m := r.streams[src.StreamID].meta(src); m != nil {
		l.from = m.Retained
	}
	prefix := row.AppendSessionSource(nil, key)
	it, err := r.snap.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: row.PrefixEnd(prefix)})
	if err != nil {
		return nil, err
	}
	l.it = it
	l.seek(key, k.Partial)
	return l, nil
}

// meta of a source; nil when the reader has not met it.
func (ss *streamSources) meta(src *wire.Source) *Meta {
	if ss == nil {
		return nil
	}
	return ss.by[src.Key()]
}

// seek goes to the pack that may hold the first wanted row: by halves over the
// offsets, since times ascend with them.
func (l *lane) seek(key row.PartialKey, p *fold.Partial) {
	pack := row.PackKey{PartialKey: key}
	if l.back && l.after == nil {
		pack.First = l.to
		l.on = l.it.SeekLT(row.AppendPack(nil, pack))
		return
	}
	buf := make([]byte, 0, 48)
	lo, hi := max(l.from, p.First.Offset), p.Last.Offset // the pack begins at lo or before, and at most at hi
	for l.after != nil && lo < hi {
		mid := lo + (hi-lo)/2 + 1
		pack.First = mid
		buf = row.AppendPack(buf[:0], pack)
		if l.it.SeekGE(buf) && l.before() {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	pack.First = lo
	buf = row.AppendPack(buf[:0], pack)
	if l.on = l.it.SeekLT(append(buf, 0)); !l.on { // the pack at lo or before
		l.on = l.it.First()
	}
}

// before says whether the pack it stands on begins at or before the wanted
// address, so that earlier packs hold nothing wanted.
func (l *lane) before() bool {
	k, err := row.ParsePack(l.it.Key())
	if err != nil {
		return false
	}
	v, err := l.it.ValueAndErr()
	if err != nil {
		return false
	}
	time, ok := row.PackTime(v)
	return ok && l.source.Address(time, k.First).Compare(*l.after) <= 0
}

// next goes to the next wanted row.
func (l *lane) next() bool {
	if l.back {
		return l.prev()
	}
	for l.err == nil {
		if l.pack == nil && !l.open() {
			return false
		}
		var e row.Event
		if !l.pack.Next(&e) {
			if err := l.pack.Err(); err != nil {
				l.err = keyed(l.it.Key(), err)
			}
			l.pack, l.on = nil, l.it.Next()
			continue
		}
		if e.Offset >= l.to {
			return false
		}
		if e.Offset < l.from {
			continue
		}
		l.event = Event{Event: e, Source: l.source}
		if l.after != nil && l.event.Address().Compare(*l.after) <= 0 {
			continue
		}
		l.after, l.from = nil, e.Offset+1
		return true
	}
	return false
}

// prev goes to the wanted row before.
func (l *lane) prev() bool {
	for l.err == nil {
		if n := len(l.rows); n > 0 {
			l.event, l.rows = l.rows[n-1], l.rows[:n-1]
			return true
		}
		if l.pack != nil {
			l.pack, l.on = nil, l.it.Prev()
		}
		if !l.open() {
			return false
		}
		l.load()
	}
	return false
}

// load takes the wanted rows of the pack.
func (l *lane) load() {
	l.rows = l.rows[:0]
	var e row.Event
	for l.pack.Next(&e) {
		one := Event{Event: e, Source: l.source}
		if e.Offset >= l.from && e.Offset < l.to && (l.after == nil || one.Address().Compare(*l.after) < 0) {
			l.rows = append(l.rows, one)
		}
	}
	if err := l.pack.Err(); err != nil {
		l.err = keyed(l.it.Key(), err)
	}
}

func (l *lane) open() bool {
	if !l.on {
		l.err = l.it.Error()
		return false
	}
	k, err := row.ParsePack(l.it.Key())
	if err != nil {
		l.err = err
		return false
	}
	v, err := l.it.ValueAndErr()
	if err != nil {
		l.err = keyed(l.it.Key(), err)
		return false
	}
	l.pack = row.OpenPack(k.First, v)
	return true
}

func (l *lane) close() error { return l.it.Close() }
