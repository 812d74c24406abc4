package state

import (
	"encoding/binary"
	"errors"

	"sessionfold/wire"
)

// The durable form of a document is a base, its whole text, and a log of the
// patches since (docs/decisions/0005). A delta adds one entry, which takes as
// many slots as it needs; slots are small enough for any broker's record limit.
const (
	SlotBytes   = 512 << 10 // most bytes of a log slot, and of a piece of a base
	minLogBytes = 64 << 10  // the log may grow to this whatever the document's size
)

// errLog is a log that does not read back; it was not written by this program.
var errLog = errors.New("state: the log of patches is damaged")

// appendLog appends a patch as a log entry. Tests have passed and are left out.
func appendLog(b []byte, patch []wire.PatchOp) []byte {
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	for i := range patch {
		op := &patch[i]
		if op.Kind == wire.PatchTest {
			continue
		}
		b = append(b, byte(op.Kind))
		text(op.Path)
		if op.Kind.HasFrom() {
			text(op.From)
		}
		if op.Kind.HasValue() {
			text(op.Value)
		}
	}
	return b
}

// readLog appends the operations of a log, whose text they are views of.
func readLog(ops []wire.PatchOp, log string) ([]wire.PatchOp, error) {
	text := func(to *string) bool {
		n, w := uvarint(log)
		if w <= 0 || n > uint64(len(log)-w) {
			return false
		}
		*to, log = log[w:w+int(n)], log[w+int(n):]
		return true
	}
	for len(log) > 0 {
		op := wire.PatchOp{Kind: wire.PatchKind(log[0])}
		log = log[1:]
		if op.Kind.String() == "" || op.Kind == wire.PatchTest || !text(&op.Path) ||
			op.Kind.HasFrom() && !text(&op.From) || op.Kind.HasValue() && (!text(&op.Value) || op.Value == "") {
			return nil, errLog
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func uvarint(s string) (v uint64, n int) {
	for shift := uint(0); n < len(s) && shift < 64; shift += 7 {
		c := s[n]
		n++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// slots parts an entry. One without operations has a slot too.
func slots(entry []byte) (out [][]byte) {
	for len(entry) > SlotBytes {
		out = append(out, entry[:SlotBytes:SlotBytes])
		entry = entry[SlotBytes:]
	}
	return append(out, entry)
}

// Pieces parts the text of a base; none for no text.
func Pieces(text string) (out []string) {
	for len(text) > SlotBytes {
		out = append(out, text[:SlotBytes])
		text = text[SlotBytes:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}
