package ingest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strconv"
	"strings"

	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/sink"
	"sessionfold/source"
	"sessionfold/wire"
)

// Header names the line that a record was: "name#crc:line", the file's name, the
// CRC-32C of its first line in hex, the number of the line from 1.
const Header = "folder.import"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fileID tells files apart wherever they lie: by name and first line. A log that
// has grown since is the same file.
func fileID(first *replay.Line) string {
	name := string(first.Key)
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(first.File), ".gz")
	}
	return fmt.Sprintf("%s#%08x", name, crc32.Checksum(first.Value, castagnoli))
}

func mark(file string, line int) wire.Header {
	return wire.Header{Key: Header, Value: fmt.Appendf(nil, "%s:%d", file, line)}
}

// readMark gives the line that a record was; ok is false for a record that no
// import wrote.
func readMark(hs []wire.Header) (file string, line int, ok bool) {
	for _, h := range hs {
		if h.Key != Header {
			continue
		}
		text := string(h.Value)
		i := strings.LastIndexByte(text, ':')
		n, err := strconv.Atoi(text[i+1:])
		if i <= 0 || err != nil || n <= 0 {
			return "", 0, false
		}
		return text[:i], n, true
	}
	return "", 0, false
}

// had is what a topic has of one file.
type had struct {
	sums []uint32      // of line i+1; 0: it is not there
	from map[int32]int // by partition whose log no longer begins with its first record: the least line that is there
}

func sum(value []byte) uint32 { return max(crc32.Checksum(value, castagnoli), 1) }

// look reads what a topic has of all files.
func look(ctx context.Context, r *source.Reader, to *sink.Target, progress func(read, total int64)) (map[string]*had, error) {
	files := map[string]*had{}
	var read, total int64
	for p := range to.Partitions {
		var expired bool
		begin := func(start, high int64) error {
			expired = start > 0
			total += high - start
			return nil
		}
		err := r.ReadLog(ctx, wire.TopicPartition{Topic: to.Topic, Partition: p}, begin, func(raw wire.Raw) error {
			if read++; read%1000 == 0 {
				progress(read, total)
			}
			file, line, ok := readMark(raw.Headers)
			if !ok {
				return nil
			}
			h := files[file]
			if h == nil {
				h = &had{from: map[int32]int{}}
				files[file] = h
			}
			h.put(line, raw.Value)
			if _, known := h.from[p]; expired && !known {
				h.from[p] = line
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// maxLines of one file. A number above it is no line of a log.
const maxLines = 1 << 28

func (h *had) put(line int, value []byte) {
	if line > maxLines {
		return
	}
	if n := line - len(h.sums); n > 0 {
		h.sums = append(h.sums, make([]uint32, n)...)
	}
	h.sums[line-1] = sum(value)
}

var errDiffers = errors.New("differs from what the topic has of this line from an earlier import\n    hint: logs are only ever appended to; a file that was written anew is another log: give it another name")

// has says that the topic has a line, or had it until it expired.
func (h *had) has(partition int32, line int, value []byte) (bool, error) {
	if h == nil {
		return false, nil
	}
	if from, ok := h.from[partition]; ok && line < from {
		return true, nil
	}
	if line > len(h.sums) || h.sums[line-1] == 0 {
		return false, nil
	}
	if h.sums[line-1] != sum(value) {
		return false, errDiffers
	}
	return true, nil
}
