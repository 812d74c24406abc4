package wire

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/segmentio/encoding/json"
)

// ChangeRow is one row of the changes topic (spec session-index.md, section
// 10). Key of the Kafka record is the stream's name, value its JSON.
type ChangeRow struct {
	V         int              `json:"v"` // 1
	Stream    string           `json:"stream"`
	Source    ChangeSource     `json:"source"`
	Seq       uint64           `json:"seq"`  // 1, 2, 3 … per source, no holes
	From      uint64           `json:"from"` // offsets folded, inclusive
	To        uint64           `json:"to"`
	Sessions  []ID             `json:"sessions"`            // that changed, ascending, at most 500
	Positions []ChangePosition `json:"positions,omitempty"` // last position of each session, same order
	Truncated bool             `json:"truncated"`
	Summaries []SessionInfo    `json:"summaries,omitempty"` // what the source alone knows of each session, same order; by setting
}

// ChangeSource names the source of a change row.
type ChangeSource struct {
	Topic      string `json:"topic"`
	Generation uint64 `json:"generation"`
	Partition  uint32 `json:"partition"`
}

// ChangePosition is the last position of a session in a step.
type ChangePosition struct {
	Topic      string `json:"topic"`
	Generation uint64 `json:"generation"`
	Partition  uint32 `json:"partition"`
	Offset     uint64 `json:"offset"`
}

// MaxChangeSessions is the most sessions one change row names; a step that
// changed more is split into several rows.
const MaxChangeSessions = 500

// AppendJSON appends the row as one JSON object, fields in the order of the
// type: the same bytes as encoding/json without its reflection, because every
// commit writes rows of up to 500 sessions.
func (r *ChangeRow) AppendJSON(b []byte) []byte {
	b = slices.Grow(b, 256+len(r.Sessions)*(len(r.Source.Topic)+130)) // an id, and a position with its numbers
	b = strconv.AppendInt(append(b, `{"v":`...), int64(r.V), 10)
	b = json.AppendEscape(append(b, `,"stream":`...), r.Stream, 0)
	b = json.AppendEscape(append(b, `,"source":{"topic":`...), r.Source.Topic, 0)
	b = strconv.AppendUint(append(b, `,"generation":`...), r.Source.Generation, 10)
	b = strconv.AppendUint(append(b, `,"partition":`...), uint64(r.Source.Partition), 10)
	b = strconv.AppendUint(append(b, `},"seq":`...), r.Seq, 10)
	b = strconv.AppendUint(append(b, `,"from":`...), r.From, 10)
	b = strconv.AppendUint(append(b, `,"to":`...), r.To, 10)
	b = append(b, `,"sessions":[`...)
	for i, id := range r.Sessions {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(id.Append(append(b, '"')), '"')
	}
	b = append(b, ']')
	if len(r.Positions) > 0 {
		b = append(b, `,"positions":[`...)
		for i := range r.Positions {
			p := &r.Positions[i]
			if i > 0 {
				b = append(b, ',')
			}
			b = json.AppendEscape(append(b, `{"topic":`...), p.Topic, 0)
			b = strconv.AppendUint(append(b, `,"generation":`...), p.Generation, 10)
			b = strconv.AppendUint(append(b, `,"partition":`...), uint64(p.Partition), 10)
			b = strconv.AppendUint(append(b, `,"offset":`...), p.Offset, 10)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	b = strconv.AppendBool(append(b, `,"truncated":`...), r.Truncated)
	if len(r.Summaries) > 0 {
		b = appendSummaries(append(b, `,"summaries":`...), r.Summaries)
	}
	return append(b, '}')
}

func appendSummaries(b []byte, views []SessionInfo) []byte {
	b, err := json.Append(b, views, 0)
	if err != nil {
		panic(fmt.Errorf("wire: a view that is no JSON: %w", err)) // its types cannot fail
	}
	return b
}

// DecodeChangeRow reads one row. Unknown fields are ignored; another version,
// ids out of order or positions that do not match the sessions are errors,
// because a reader that believed them would miss a change.
func DecodeChangeRow(b []byte) (ChangeRow, error) {
	var r ChangeRow
	if err := json.Unmarshal(b, &r); err != nil {
		return ChangeRow{}, fmt.Errorf("wire: change row: %w", err)
	}
	switch {
	case r.V != 1:
		return ChangeRow{}, fmt.Errorf("wire: change row: version %d, this program reads 1", r.V)
	case r.Stream == "" || r.Source.Topic == "" || r.Seq == 0 || r.To < r.From:
		return ChangeRow{}, errors.New("wire: change row: stream, source.topic and seq are required and from ≤ to")
	case len(r.Sessions) > MaxChangeSessions:
		return ChangeRow{}, fmt.Errorf("wire: change row: %d sessions, at most %d", len(r.Sessions), MaxChangeSessions)
	case len(r.Positions) != 0 && len(r.Positions) != len(r.Sessions):
		return ChangeRow{}, fmt.Errorf("wire: change row: %d positions for %d sessions", len(r.Positions), len(r.Sessions))
	}
	for i := 1; i < len(r.Sessions); i++ {
		if r.Sessions[i-1].Compare(r.Sessions[i]) >= 0 {
			return ChangeRow{}, errors.New("wire: change row: sessions do not ascend")
		}
	}
	return r, nil
}

// View is the row as the read `changes` gives it. The offset is that of the row
// in its output partition: the read's seq is offset + 1.
func (r *ChangeRow) View(offset uint64) SessionChangeRow {
	v := SessionChangeRow{Seq: offset + 1, Sessions: r.Sessions, Truncated: r.Truncated}
	stream := NameID(r.Stream)
	for i := range r.Positions {
		p := &r.Positions[i]
		pos := Pos{Stream: stream, Topic: NameID(p.Topic), Generation: p.Generation, Partition: p.Partition, Offset: p.Offset}
		v.Positions = append(v.Positions, pos.Locator())
	}
	return v
}
