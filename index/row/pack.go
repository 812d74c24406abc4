package row

import (
	"bytes"
	"encoding/binary"

	"sessionfold/fold"
	"sessionfold/wire"
)

// Bounds of one pack, so that a page of a long session reads few rows it does
// not show. A batch's rows of one session make as many packs as they need.
const (
	maxPackRows  = 256
	maxPackBytes = 16 << 10
	maxDict      = 64 // entries of a dictionary; a reference is one byte
)

// What a row has. Numbers are stored: only append. The first seven fit one byte
// and are those that most rows need.
const (
	rowSameKind = 1 << iota // kind and display as in the row before
	rowOperation
	rowAgent
	rowCorrelation
	rowSummary
	rowUsage
	rowTool
	rowAddressee
	rowCause
	rowReason
	rowVerified
	rowKnown = 1<<iota - 1
)

// dict numbers the values of a pack in the order they first come. Writer and
// reader fill it alike: every value written out joins until it is full.
type dict struct {
	n int
	v [maxDict][]byte
}

func (d *dict) find(v []byte) int {
	for i, have := range d.v[:d.n] {
		if bytes.Equal(have, v) {
			return i + 1
		}
	}
	return 0
}

func (d *dict) add(v []byte) {
	if d.n < maxDict {
		d.v[d.n] = v
		d.n++
	}
}

// packer writes packs; it keeps its dictionaries' memory between them.
type packer struct {
	texts  dict // operations, agents, tools, texts of summaries
	ids    dict // correlations, 16 bytes
	places dict // causes without their offset: stream, topic, partition
}

// pack appends one pack of the rows' beginning and says how many it took; there
// is at least one row.
func (p *packer) pack(b []byte, rows []fold.Row) ([]byte, int) {
	p.texts.n, p.ids.n, p.places.n = 0, 0, 0
	start := len(b)
	b = binary.AppendUvarint(append(b, Version), rows[0].Time)
	offset, time := rows[0].Rec.Offset, rows[0].Time
	var before *wire.Record
	for i := range rows {
		if i == maxPackRows || len(b)-start >= maxPackBytes {
			return b, i
		}
		rec := rows[i].Rec
		mask := rowMask(rec)
		if before != nil && before.Kind == rec.Kind && before.Display == rec.Display {
			mask |= rowSameKind
		}
		b = binary.AppendUvarint(b, mask)
		b = binary.AppendUvarint(b, rec.Offset-offset)
		b = binary.AppendUvarint(b, rows[i].Time-time)
		if mask&rowSameKind == 0 {
			b = append(b, byte(rec.Kind), byte(rec.Display))
		}
		b = p.fields(b, mask, rec)
		offset, time, before = rec.Offset, rows[i].Time, rec
	}
	return b, len(rows)
}

func rowMask(rec *wire.Record) (m uint64) {
	if len(rec.Operation) > 0 {
		m |= rowOperation
	}
	if len(rec.Agent) > 0 {
		m |= rowAgent
	}
	if rec.HasCorrelation {
		m |= rowCorrelation
	}
	if len(rec.Summary) > 0 {
		m |= rowSummary
	}
	if rec.Usage != nil {
		m |= rowUsage
	}
	if len(rec.Tool) > 0 {
		m |= rowTool
	}
	if len(rec.Addressee) > 0 {
		m |= rowAddressee
	}
	if len(rec.Cause) == len(wire.Locator{}) {
		m |= rowCause
	}
	if rec.Reason != "" {
		m |= rowReason
	}
	if rec.Rare != nil && rec.Rare.Actor != "" {
		m |= rowVerified
	}
	return m
}

func (p *packer) fields(b []byte, mask uint64, rec *wire.Record) []byte {
	if mask&rowOperation != 0 {
		b = p.text(b, rec.Operation)
	}
	if mask&rowAgent != 0 {
		b = p.text(b, rec.Agent)
	}
	if mask&rowCorrelation != 0 {
		b = p.fixed(b, &p.ids, rec.Correlation[:])
	}
	if mask&rowSummary != 0 {
		b = p.summary(b, rec.Summary)
	}
	if mask&rowUsage != 0 {
		b = appendUsage(b, rec.Usage)
	}
	if mask&rowTool != 0 {
		b = p.text(b, rec.Tool)
	}
	if mask&rowAddressee != 0 {
		b = p.text(b, rec.Addressee)
	}
	if mask&rowCause != 0 {
		b = p.fixed(b, &p.places, rec.Cause[:12])
		b = binary.AppendUvarint(b, binary.BigEndian.Uint64(rec.Cause[12:]))
	}
	if mask&rowReason != 0 {
		b = p.text(b, []byte(rec.Reason))
	}
	if mask&rowVerified != 0 {
		b = p.text(b, []byte(rec.Rare.Actor))
	}
	return b
}

// text appends a reference to a text of this pack, or 0 and the text.
func (p *packer) text(b, raw []byte) []byte {
	n := p.texts.find(raw)
	if n == 0 {
		raw = clean(raw)
		n = p.texts.find(raw) // cleaning may have made it one that is there
	}
	b = append(b, byte(n))
	if n == 0 {
		b = appendText(b, raw)
		p.texts.add(raw)
	}
	return b
}

// fixed is text for values of a length that the reader knows.
func (p *packer) fixed(b []byte, d *dict, v []byte) []byte {
	n := d.find(v)
	b = append(b, byte(n))
	if n == 0 {
		b = append(b, v...)
		d.add(v)
	}
	return b
}

func (p *packer) summary(b []byte, items []wire.SummaryItem) []byte {
	b = binary.AppendUvarint(b, uint64(len(items)))
	for i := range items {
		it := &items[i]
		b = binary.AppendUvarint(b, uint64(it.Key)<<3|uint64(it.Type))
		switch it.Type {
		case wire.SumNumber, wire.SumBool:
			b = binary.AppendUvarint(b, it.Num)
		case wire.SumText:
			b = p.text(b, it.Text)
		case wire.SumBytes:
			b = appendText(b, it.Text)
		case wire.SumList:
			b = binary.AppendUvarint(b, uint64(len(it.List)))
			for _, v := range it.List {
				b = p.text(b, v)
			}
		}
	}
	return b
}

// usageKnown are the optional fields of a usage that have a place here.
const usageKnown = uint64(wire.HasCacheRead | wire.HasCacheWrite | wire.HasReasoning | wire.HasCost)

func appendUsage(b []byte, u *wire.Usage) []byte {
	b = append(b, byte(u.Has))
	b = binary.AppendUvarint(b, u.In)
	b = binary.AppendUvarint(b, u.Out)
	for _, f := range usageFields(u) {
		if u.Has&f.bit != 0 {
			b = binary.AppendUvarint(b, *f.n)
		}
	}
	return b
}

type usageField struct {
	bit wire.UsageHas
	n   *uint64
}

// usageFields are the optional fields in their stored order.
func usageFields(u *wire.Usage) [4]usageField {
	return [...]usageField{
		{wire.HasCacheRead, &u.CacheRead}, {wire.HasCacheWrite, &u.CacheWrite},
		{wire.HasReasoning, &u.Reasoning}, {wire.HasCost, &u.CostNano},
	}
}
