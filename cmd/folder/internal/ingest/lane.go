package ingest

import (
	"encoding/hex"
	"fmt"
	"sync/atomic"

	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/sink"
	"sessionfold/wire"
)

// Report is what became of the lines of one dialect.
type Report struct {
	Dialect       wire.Dialect
	Stream, Topic string

	Lines    uint64 // that are records
	Sessions int
	Sent     uint64 // written by this import
	Had      uint64 // the topic had them already
	Bad      uint64 // undecodable, invalid or of no session; records all the same
	Cut      uint64 // half a line at the end of a file; not sent
	Examples []string

	BrokerTime bool // the topic gives records the time of the import
}

// maxExamples of bad lines are named.
const maxExamples = 5

func (r *Report) example(l *replay.Line, what string) {
	if len(r.Examples) < maxExamples {
		r.Examples = append(r.Examples, fmt.Sprintf("%s:%d: %s", l.File, l.N, what))
	}
}

// lane is where the lines of a dialect go.
type lane struct {
	Report
	to       sink.Target
	app      *sink.Appender // nil: nothing is sent
	files    map[string]*had
	dec      wire.Decoder
	src      *wire.Source
	sessions map[wire.ID]struct{}
	sent     atomic.Uint64
}

func newLane(d wire.Dialect, stream, topic string) *lane {
	return &lane{
		Report: Report{Dialect: d, Stream: stream, Topic: topic}, dec: wire.NewDecoder(d, nil),
		src: wire.NewSource(stream, topic, 1, 0, wire.RoleLane, d), sessions: map[wire.ID]struct{}{},
	}
}

// read says what a line is to the fold; ok is false for half a line, which its
// program has not written to the end.
func (la *lane) read(l *replay.Line) (key []byte, ok bool) {
	rec := &la.dec.Decode(la.src, []wire.Raw{{Timestamp: l.Timestamp, Key: l.Key, Value: l.Value}})[0]
	if l.Cut && rec.Display == wire.DisplayUndecodable {
		la.Cut++
		la.example(l, "the file ends within this line; it is sent when it is whole")
		return nil, false
	}
	la.Lines++
	switch {
	case rec.Display == wire.DisplayUndecodable || rec.Display == wire.DisplayInvalid:
		la.Bad++
		la.example(l, fmt.Sprintf("%s: %s", rec.Display, rec.Reason))
	case !rec.HasSession:
		la.Bad++
		la.example(l, "it names no session")
	}
	if rec.HasSession {
		la.sessions[rec.Session] = struct{}{}
		la.Sessions = len(la.sessions)
	}
	if len(l.Key) > 0 || !rec.HasSession {
		return l.Key, true
	}
	return keyOf(la.Dialect, rec.Session, rec.Rare.Native.ID), true
}

// keyOf is the key of a session: of all spellings of an id the same one, because
// all records of a session belong in one partition. It is that of the dialect's
// own programs.
func keyOf(d wire.Dialect, id wire.ID, text []byte) []byte {
	const elsewhere = "\x00" // a stream: ids that are hashed differ by it
	if d == wire.DialectEverruns && wire.NativeID(d, elsewhere, text) == id {
		return append([]byte("session_"), hex.EncodeToString(id[:])...)
	}
	return append([]byte(nil), text...)
}
