package state

import (
	"crypto/sha256"
	"encoding"
	"fmt"
	"hash"
)

// walker writes the canonical text of values to put, from an offset on.
type walker struct {
	skip int // bytes still to pass over
	put  func(string)
}

func (w *walker) write(s string) {
	if w.skip >= len(s) {
		w.skip -= len(s)
		return
	}
	s, w.skip = s[w.skip:], 0
	w.put(s)
}

func (w *walker) item(it *item) {
	if it.name != "" {
		w.write(it.name)
		w.write(":")
	}
	if it.box == nil {
		w.write(it.text)
		return
	}
	left, right := "[", "]"
	if it.box.object {
		left, right = "{", "}"
	}
	w.write(left)
	if it.box.root != nil {
		w.node(it.box.root, true)
	}
	w.write(right)
}

// node writes members and the commas behind them, but for the very last.
func (w *walker) node(n *node, last bool) {
	size := n.size
	if last {
		size--
	}
	if w.skip >= size {
		w.skip -= size
		return
	}
	for i, k := range n.kids {
		w.node(k, last && i == len(n.kids)-1)
	}
	for i := range n.items {
		w.item(&n.items[i])
		if !last || i < len(n.items)-1 {
			w.write(",")
		}
	}
	if n.text != "" {
		w.write(n.text)
		if !last {
			w.write(",")
		}
	}
}

// mark is a state of the digest: that of the first pos bytes.
type mark struct {
	pos   int
	state []byte
}

// Distances of marks: a digest goes on from the last one before a change.
const (
	markGrid = 64 << 10
	markMin  = 1 << 10 // a mark nearer to the beginning is not worth its memory
)

// summer computes the digest of a text that it is given piece by piece.
type summer struct {
	h     hash.Hash
	buf   []byte
	pos   int
	next  int // position of the next mark
	marks []mark
}

// newSummer goes on from the last of the marks that lie at or before changed,
// and will set one there. size is that of the text.
func newSummer(marks []mark, changed, size int) *summer {
	s := &summer{h: sha256.New()}
	for _, m := range marks {
		if m.pos > changed {
			break
		}
		if m.pos%markGrid == 0 || m.pos == changed {
			s.marks = append(s.marks, m)
		}
		s.pos = m.pos
		if err := s.h.(encoding.BinaryUnmarshaler).UnmarshalBinary(m.state); err != nil {
			panic(fmt.Errorf("state: a digest's own state is refused: %w", err))
		}
	}
	s.buf = make([]byte, 0, min(4<<10, size-s.pos+1))
	s.next = (s.pos/markGrid + 1) * markGrid
	if changed > s.pos && changed >= markMin && changed < s.next {
		s.next = changed
	}
	return s
}

func (s *summer) write(t string) {
	for len(t) > 0 {
		n := min(len(t), s.next-s.pos, cap(s.buf)-len(s.buf))
		s.buf = append(s.buf, t[:n]...)
		s.pos += n
		t = t[n:]
		if len(s.buf) == cap(s.buf) {
			s.flush()
		}
		if s.pos == s.next {
			s.flush()
			state, err := s.h.(encoding.BinaryMarshaler).MarshalBinary()
			if err != nil {
				panic(fmt.Errorf("state: a digest does not give its state: %w", err))
			}
			s.marks = append(s.marks, mark{s.pos, state})
			s.next = (s.pos/markGrid + 1) * markGrid
		}
	}
}

func (s *summer) flush() {
	s.h.Write(s.buf)
	s.buf = s.buf[:0]
}
