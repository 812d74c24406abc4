package replay

import (
	"context"
	"errors"
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
	next   map[wire.Dialect]uint64
	only   bool         // a log of Kafka is refused
	given  wire.Dialect // of every file; only when isSaid
	isSaid bool
}

// ErrKafkaLog says that a file is a log of Kafka where a dialect's own is wanted.
var ErrKafkaLog = errors.New("is a log of Kafka, as folder export writes it")

// ReadExports is Read for files of DeepStrike and Everruns alone. Their dialect is
// the one given, or that of each file's first line.
func ReadExports(ctx context.Context, files []string, d *wire.Dialect, progress func(n int), put func(*Line) error) error {
	e := exports{only: true}
	if d != nil {
		e.given, e.isSaid = *d, true
	}
	return e.read(ctx, files, progress, put)
}

// Dialect is that of a line of ReadExports.
func (l *Line) Dialect() wire.Dialect {
	d, _ := wire.ParseDialect(l.Topic)
	return d
}

// exported is a file of one dialect.
type exported struct {
	dialect wire.Dialect
	session []byte // of a DeepStrike log file
	changed int64  // ms; such lines have no time of their own
}

// open says what a file is by its first line; false for a log of Kafka.
func (e *exports) open(f *os.File, first []byte) (x exported, ok bool, err error) {
	if _, err := ParseLine(first); err == nil {
		if e.only {
			return x, false, ErrKafkaLog
		}
		return x, false, nil
	}
	d, ok := wire.Sniff(&wire.Raw{Value: first})
	switch {
	case e.isSaid:
		d = e.given
	case !ok || d == wire.DialectAGDX:
		if e.only {
			return x, false, errors.New("does not tell whose log this is\n    hint: give the dialect")
		}
		return x, false, nil
	}
	x.dialect = d
	if d == wire.DialectDeepStrike {
		name := strings.TrimSuffix(filepath.Base(f.Name()), ".gz")
		x.session = []byte(strings.TrimSuffix(name, filepath.Ext(name)))
		if info, err := f.Stat(); err == nil {
			x.changed = info.ModTime().UnixMilli()
		}
	}
	return x, true, nil
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
