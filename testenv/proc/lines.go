package proc

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// keptLines bounds the lines of a child that nobody asks for.
const keptLines = 1000

// lines cuts a stream into lines, keeps them until they are taken, and passes
// everything on.
type lines struct {
	rest io.Writer
	news chan struct{} // has an element when a line came

	mu   sync.Mutex
	part []byte
	kept []string
}

func newLines(rest io.Writer) *lines { return &lines{rest: rest, news: make(chan struct{}, 1)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.part = append(l.part, b...)
	for {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			break
		}
		if len(l.kept) == keptLines {
			l.kept = l.kept[1:]
		}
		l.kept = append(l.kept, strings.TrimSuffix(string(line), "\r"))
		l.part = rest
	}
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
	return l.rest.Write(b)
}

// take gives the rest of the first line with a prefix and forgets the lines up
// to it.
func (l *lines) take(prefix string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, line := range l.kept {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			l.kept = l.kept[i+1:]
			return rest, true
		}
	}
	return "", false
}
