package row

import (
	"encoding/binary"

	"sessionfold/fold"
	"sessionfold/wire"
)

// TagReset is the tag of a source's reset row. In a changelog it says that the
// source was begun anew there: whatever lies before it is of an earlier fold,
// which a restore forgets. One record does it, however many rows there were, so
// a source is begun anew in one transaction.
const TagReset byte = 'r'

// Reset is the value of a reset row.
type Reset struct {
	// Until is the offset that had been folded before: as long as the new fold
	// has not come there, the source is being rebuilt.
	Until uint64
}

// AppendReset appends the key of a source's reset row.
func AppendReset(b []byte, s SourceID) []byte { return appendSourceID(b, TagReset, s) }

// ParseReset reads the key of a reset row.
func ParseReset(key []byte) (SourceID, error) {
	if len(key) != sourceKeyLen || key[0] != TagReset {
		return SourceID{}, keyError("reset", sourceKeyLen, key)
	}
	return parseSourceID(key), nil
}

// AppendResetValue appends a reset.
func AppendResetValue(b []byte, r Reset) []byte {
	return binary.AppendUvarint(append(b, Version), r.Until)
}

// DecodeReset reads a reset.
func DecodeReset(b []byte) (Reset, error) {
	r := newReader("reset", b)
	v := Reset{Until: r.uint()}
	if err := r.end(); err != nil {
		return Reset{}, err
	}
	return v, nil
}

// ResetBatch begins a source anew: what was folded of it before is forgotten,
// and the fold starts at the log start. The change sequence goes on, and the one
// change row says that any session of the offsets folded before may have
// changed. until is the offset that had been folded.
func ResetBatch(src *wire.Source, seq, until, logStart uint64) *Batch {
	id := IDOf(src)
	f := fold.Frontier{Seq: seq + 1}.Expire(logStart, fold.GapExpiredBeforeFold)
	f.Skipped = 0
	m := MetaOf(src, f)
	b := &Batch{Kind: BatchReset, Source: src, Frontier: f, Ops: []Op{
		{Key: AppendReset(nil, id), Value: AppendResetValue(nil, Reset{Until: until}), Durable: true},
		{Key: AppendSource(nil, id), Value: AppendSourceMeta(nil, &m), Durable: true},
	}}
	if until > 0 {
		b.To = until - 1
	}
	b.Changes = []wire.ChangeRow{{
		V: 1, Stream: src.Stream, Seq: f.Seq, From: b.From, To: b.To, Sessions: []wire.ID{}, Truncated: true,
		Source: wire.ChangeSource{Topic: src.Topic, Generation: src.Generation, Partition: src.Partition},
	}}
	return b
}
