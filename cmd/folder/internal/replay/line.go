package replay

import (
	"errors"
	"fmt"

	"github.com/segmentio/encoding/json"

	"sessionfold/wire"
)

// Line is one line of a log.
type Line struct {
	Topic     string   `json:"topic"`
	Partition *int32   `json:"partition"`
	Offset    *uint64  `json:"offset,omitempty"`
	Timestamp int64    `json:"timestamp,omitempty"` // ms
	Key       []byte   `json:"key,omitempty"`
	Headers   []Header `json:"headers,omitempty"`
	Value     []byte   `json:"value"` // null is a tombstone
	LogStart  *uint64  `json:"log_start,omitempty"`

	// Where the line was read, and whether its file ends within it.
	File string `json:"-"`
	N    int    `json:"-"`
	Cut  bool   `json:"-"`

	exported bool // Topic is a dialect's name, see exports
}

// Header is one record header.
type Header struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// bounds is a line that says where a partition began.
type bounds struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	LogStart  uint64 `json:"log_start"`
}

// ParseLine reads one line. Unknown fields are errors: a slip in a name would
// otherwise lose a record's content.
func ParseLine(b []byte) (*Line, error) {
	var l Line
	rest, err := json.Parse(b, &l, json.DisallowUnknownFields)
	switch {
	case err != nil:
		return nil, fmt.Errorf("is no record: %w", err)
	case len(rest) > 0:
		return nil, errors.New("more than one JSON value on the line")
	case l.Topic == "":
		return nil, errors.New("topic is missing")
	case l.Partition == nil || *l.Partition < 0:
		return nil, errors.New("partition is missing or negative")
	case (l.Offset == nil) == (l.LogStart == nil):
		return nil, errors.New("a line has either an offset or a log_start")
	}
	return &l, nil
}

// TopicPartition is where the line belongs.
func (l *Line) TopicPartition() wire.TopicPartition {
	return wire.TopicPartition{Topic: l.Topic, Partition: *l.Partition}
}

// Raw is the record of a line with an offset.
func (l *Line) Raw() wire.Raw {
	r := wire.Raw{Offset: *l.Offset, Timestamp: l.Timestamp, Key: l.Key, Value: l.Value}
	for _, h := range l.Headers {
		r.Headers = append(r.Headers, wire.Header(h))
	}
	return r
}

// AppendRecord appends the line of a record, with its newline.
func AppendRecord(b []byte, tp wire.TopicPartition, r *wire.Raw) ([]byte, error) {
	l := Line{Topic: tp.Topic, Partition: &tp.Partition, Offset: &r.Offset, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		l.Headers = append(l.Headers, Header(h))
	}
	return appendLine(b, &l)
}

// AppendLogStart appends the line that says where a partition begins.
func AppendLogStart(b []byte, tp wire.TopicPartition, start uint64) ([]byte, error) {
	return appendLine(b, &bounds{tp.Topic, tp.Partition, start})
}

func appendLine(b []byte, v any) ([]byte, error) {
	b, err := json.Append(b, v, 0)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	return append(b, '\n'), nil
}
