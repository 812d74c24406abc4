package verify

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// magic is the first line of a dump. Behind it come the rows: key and value, each
// behind its length; at the end an empty key and the number of rows, so that an
// answer that was cut off is not taken for a whole one.
const magic = "folder dump 1\n"

// maxRow bounds a key or value of a dump.
const maxRow = 64 << 20

// Writer writes a dump.
type Writer struct {
	w *bufio.Writer
	n uint64
}

// NewWriter begins a dump.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 256<<10)}
	_, _ = out.w.WriteString(magic) // the error stays in the writer until Flush
	return out
}

// Put writes one row.
func (w *Writer) Put(key, value []byte) error {
	w.n++
	w.bytes(key)
	w.bytes(value)
	_, err := w.w.Write(nil)
	return err
}

func (w *Writer) bytes(b []byte) {
	var head [binary.MaxVarintLen64]byte
	_, _ = w.w.Write(head[:binary.PutUvarint(head[:], uint64(len(b)))])
	_, _ = w.w.Write(b)
}

// End ends the dump.
func (w *Writer) End() error {
	w.bytes(nil)
	var head [binary.MaxVarintLen64]byte
	_, _ = w.w.Write(head[:binary.PutUvarint(head[:], w.n)])
	return w.w.Flush()
}

// ErrCut says that a dump ended early.
var ErrCut = errors.New("verify: the worker's answer was cut off")

// Read hands the rows of a dump to put and gives their number.
func Read(in io.Reader, put func(key, value []byte) error) (uint64, error) {
	r := bufio.NewReaderSize(in, 256<<10)
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(r, head); err != nil || string(head) != magic {
		return 0, fmt.Errorf("verify: this is no dump of this version (%q)", head)
	}
	var n uint64
	var key, value []byte
	var err error
	for {
		if key, err = read(r, key[:0]); err != nil {
			return n, err
		}
		if len(key) == 0 {
			break
		}
		if value, err = read(r, value[:0]); err != nil {
			return n, err
		}
		n++
		if err := put(key, value); err != nil {
			return n, err
		}
	}
	want, err := binary.ReadUvarint(r)
	if err != nil || want != n {
		return n, fmt.Errorf("%w: %d rows came of %d", ErrCut, n, want)
	}
	return n, nil
}

func read(r *bufio.Reader, b []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err == nil && n > maxRow {
		return b, fmt.Errorf("verify: a row of %d bytes", n)
	}
	if err == nil {
		if uint64(cap(b)) < n {
			b = make([]byte, n)
		}
		b = b[:n]
		_, err = io.ReadFull(r, b)
	}
	if err != nil {
		return b, fmt.Errorf("%w: %w", ErrCut, err)
	}
	return b, nil
}
