package row

import (
	"encoding/binary"

	"sessionfold/fold"
	"sessionfold/wire"
)

// TagChild is the tag of child entries: one per parent that records of a session
// name in one source. Like list entries they follow from the partial alone and
// never change once written.
const TagChild byte = 'n'

const childKeyLen = 1 + 4 + 16 + 16 + 16

// ChildKey is one child entry.
type ChildKey struct {
	Stream uint32
	Parent wire.ID
	Child  wire.ID
	Source wire.SourceKey
}

// AppendChild appends the key of a child entry.
func AppendChild(b []byte, k ChildKey) []byte {
	b = AppendSession(b, TagChild, k.Stream, k.Parent)
	b = append(b, k.Child[:]...)
	return append(b, k.Source[:]...)
}

// ParseChild reads the key of a child entry.
func ParseChild(key []byte) (ChildKey, error) {
	if len(key) != childKeyLen || key[0] != TagChild {
		return ChildKey{}, keyError("child", childKeyLen, key)
	}
	return ChildKey{
		Stream: binary.BigEndian.Uint32(key[1:]), Parent: wire.ID(key[5:21]),
		Child: wire.ID(key[21:37]), Source: wire.SourceKey(key[37:53]),
	}, nil
}

// ChildEntries calls f with the child entries of a partial that an earlier state
// of it had not; old is nil when there was none.
func ChildEntries(k PartialKey, old, now *fold.Partial, f func(ChildKey)) {
	if !now.Parent.Set {
		return
	}
	first := true
	now.Parents(func(parent wire.ID) {
		had := false
		if old != nil && old.Parent.Set {
			if first {
				had = true // the first parent does not change
			} else {
				old.Parents(func(p wire.ID) { had = had || p == parent })
			}
		}
		first = false
		if !had {
			f(ChildKey{Stream: k.Stream, Parent: parent, Child: k.Session, Source: k.Source})
		}
	})
}

// entryMark is the value of an entry that says all in its key.
var entryMark = []byte{Version}

// children writes the session's new child entries.
func (e *encoder) children(s *fold.SessionStep) {
	ChildEntries(e.key(s), s.Old, s.New, func(k ChildKey) {
		key := len(e.slab)
		e.slab = AppendChild(e.slab, k)
		e.ops = append(e.ops, Op{Key: e.slab[key:len(e.slab):len(e.slab)], Value: entryMark})
	})
}

// EntryMark is the value of a child entry.
func EntryMark() []byte { return entryMark }
