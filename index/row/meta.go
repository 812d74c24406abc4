package row

import (
	"encoding/binary"
	"fmt"

	"sessionfold/fold"
	"sessionfold/wire"
)

// SourceMeta is the durable state of one source: its names, which the key holds
// only as numbers, and its frontier.
type SourceMeta struct {
	Stream   string
	Topic    string
	Role     wire.Role
	Dialect  wire.Dialect
	Frontier fold.Frontier
}

// MetaOf gives the durable state of a source at a frontier.
func MetaOf(src *wire.Source, f fold.Frontier) SourceMeta {
	return SourceMeta{Stream: src.Stream, Topic: src.Topic, Role: src.Role, Dialect: src.Dialect, Frontier: f}
}

// SourceAt makes the source that a key and its meta name; it fails when the
// names do not belong to the key's numbers.
func (m *SourceMeta) SourceAt(id SourceID) (*wire.Source, error) {
	src := wire.NewSource(m.Stream, m.Topic, id.Generation(), id.Partition(), m.Role, m.Dialect)
	if IDOf(src) != id {
		return nil, fmt.Errorf("row: source meta %s names stream %q, topic %q, which have other numbers", id, m.Stream, m.Topic)
	}
	return src, nil
}

// The optional groups of a source meta. Numbers are stored: only append.
const (
	groupUnattributed = 1
	groupGaps         = 2
	groupRefused      = 3
	groupSignatures   = 4
)

// AppendSourceMeta appends a source meta.
func AppendSourceMeta(b []byte, m *SourceMeta) []byte {
	f := &m.Frontier
	b = append(b, Version)
	b = appendText(appendText(b, m.Stream), m.Topic)
	b = append(b, byte(m.Role), byte(m.Dialect))
	for _, n := range [...]uint64{f.Next, f.Time, f.Seq, f.Records, f.Undecodable, f.Invalid} {
		b = binary.AppendUvarint(b, n)
	}
	if f.Unattributed > 0 {
		b = binary.AppendUvarint(append(b, groupUnattributed), f.Unattributed)
		b = binary.AppendUvarint(b, f.UnattributedLast)
	}
	if len(f.Gaps) > 0 {
		b = binary.AppendUvarint(append(b, groupGaps), uint64(len(f.Gaps)))
		for _, g := range f.Gaps {
			b = append(b, byte(g.Reason))
			b = binary.AppendUvarint(b, g.From)
			b = binary.AppendUvarint(b, g.To-g.From)
		}
	}
	if f.LinksRefused > 0 {
		b = binary.AppendUvarint(append(b, groupRefused), f.LinksRefused)
	}
	if s := &f.Signatures; s.Seen() > 0 {
		b = append(b, groupSignatures)
		for _, n := range signatureNumbers(s) {
			b = binary.AppendUvarint(b, *n)
		}
		b = binary.BigEndian.AppendUint64(b, s.Keys)
	}
	return b
}

// DecodeSourceMeta reads a source meta.
func DecodeSourceMeta(b []byte) (SourceMeta, error) {
	r := newReader("source meta", b)
	m := SourceMeta{Stream: r.text(), Topic: r.text(), Role: wire.Role(r.byte()), Dialect: wire.Dialect(r.byte())}
	f := &m.Frontier
	for _, n := range [...]*uint64{&f.Next, &f.Time, &f.Seq, &f.Records, &f.Undecodable, &f.Invalid} {
		*n = r.uint()
	}
	r.groups(func(tag uint64) bool {
		switch tag {
		case groupUnattributed:
			if f.Unattributed = r.uint(); f.Unattributed == 0 {
				r.fail("an unattributed group without a count")
			}
			f.UnattributedLast = r.uint()
		case groupGaps:
			n := r.count(3)
			if n == 0 {
				r.fail("a gaps group without gaps")
			}
			f.Gaps = make([]fold.Gap, n)
			for i := range f.Gaps {
				reason, from := fold.GapReason(r.byte()), r.uint()
				f.Gaps[i] = fold.Gap{Reason: reason, From: from, To: from + r.uint()}
			}
		case groupRefused:
			if f.LinksRefused = r.uint(); f.LinksRefused == 0 {
				r.fail("a group of refused links without a count")
			}
		case groupSignatures:
			s := &f.Signatures
			for _, n := range signatureNumbers(s) {
				*n = r.uint()
			}
			if s.Seen() == 0 {
				r.fail("a group of signatures without a count")
			}
			if b := r.take(8); b != nil {
				s.Keys = binary.BigEndian.Uint64(b)
			}
		default:
			return false
		}
		return true
	})
	if err := r.end(); err != nil {
		return SourceMeta{}, err
	}
	return m, nil
}

func signatureNumbers(s *fold.Signatures) [4]*uint64 {
	return [...]*uint64{&s.Verified, &s.Unknown, &s.Wrong, &s.From}
}
