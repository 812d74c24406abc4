package replay

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/segmentio/encoding/json"

	"sessionfold/wire"
)

// exports turns the lines of files that are no logs of Kafka into such: the log
// files of DeepStrike, one per session and named after it, and exports of
// Everruns events and sessions. They become one partition of a topic that has
// the dialect's name.
type exports struct {
	next map[wire.Dialect]uint64
}

// exported is a file of one dialect.
type exported struct {
	dialect wire.Dialect
	session []byte // of a DeepStrike log file
	changed int64  // ms; such lines have no time of their own
}

// open says what a file is by its first line; false for a log of Kafka.
func (e *exports) open(f *os.File, first []byte) (x exported, ok bool) {
	if _, err := ParseLine(first); err == nil {
		return x, false
	}
	d, ok := wire.Sniff(&wire.Raw{Value: first})
	if !ok || d == wire.DialectAGDX {
		return x, false
	}
	x.dialect = d
	if d == wire.DialectDeepStrike {
		name := strings.TrimSuffix(filepath.Base(f.Name()), ".gz")
		x.session = []byte(strings.TrimSuffix(name, filepath.Ext(name)))
		if info, err := f.Stat(); err == nil {
			x.changed = info.ModTime().UnixMilli()
		}
	}
	return x, true
}

// line makes a line of a log. What cannot be read is a record all the same: the
// fold says so.
func (e *exports) line(x *exported, b []byte) *Line {
	if e.next == nil {
		e.next = map[wire.Dialect]uint64{}
	}
	offset, partition := e.next[x.dialect], int32(0)
	e.next[x.dialect]++
	l := &Line{
		Topic: x.dialect.String(), Partition: &partition, Offset: &offset, Timestamp: x.changed, Key: x.session,
		Value: append([]byte{}, b...), exported: true,
	}
	if x.dialect == wire.DialectEverruns {
		l.Timestamp = moment(b)
	}
	return l
}

// moment is when an event happened, or a session was changed last, in ms; 0 when
// it does not say so.
func moment(b []byte) int64 {
	var at struct {
		TS      string `json:"ts"`
		Updated string `json:"updated_at"`
		Created string `json:"created_at"`
	}
	_ = json.Unmarshal(b, &at) // a field of another type leaves the others
	for _, text := range []string{at.TS, at.Updated, at.Created} {
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return t.UnixMilli()
		}
	}
	return 0
}
