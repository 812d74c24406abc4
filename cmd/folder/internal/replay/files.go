package replay

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLine bounds one line: a record of 5 MB takes about 7 MB in base64.
const maxLine = 64 << 20

// endings of the files that are read from a directory.
var endings = []string{".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz"}

// Expand turns directories into the logs in them, in name order.
func Expand(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, p)
			continue
		}
		n := len(out)
		err = filepath.WalkDir(p, func(file string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(file, e) }) {
				out = append(out, file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(out) == n {
			return nil, fmt.Errorf("%s holds no logs\n    hint: their names end in %s", p, strings.Join(endings, ", "))
		}
	}
	return out, nil
}

// Size is the number of bytes that reading the files will report.
func Size(files []string) int64 {
	var n int64
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Read hands every line of the files to put. progress is told of bytes read;
// nil is nobody. Errors name file and line. Files of the foreign dialects become
// lines too.
func Read(ctx context.Context, files []string, progress func(n int), put func(*Line) error) error {
	var e exports
	return e.read(ctx, files, progress, put)
}

func (e *exports) read(ctx context.Context, files []string, progress func(n int), put func(*Line) error) error {
	for _, f := range files {
		if err := readFile(ctx, f, e, progress, put); err != nil {
			return err
		}
	}
	return nil
}

func readFile(ctx context.Context, name string, e *exports, progress func(n int), put func(*Line) error) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var in io.Reader = &counter{f, progress}
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		in = z
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n, cut := 0, false
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		advance, token, err := bufio.ScanLines(data, atEOF)
		cut = advance > 0 && data[advance-1] != '\n'
		return advance, token, err
	})
	var foreign exported
	var begun, isForeign bool
	for lines.Scan() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b := lines.Bytes()
		if len(b) == 0 {
			continue
		}
		if !begun {
			begun = true
			if foreign, isForeign, err = e.open(f, b); err != nil {
				return fmt.Errorf("%s:%d: %w", name, n, err)
			}
		}
		var l *Line
		var err error
		if isForeign {
			l = e.line(&foreign, b)
		} else {
			l, err = ParseLine(b)
		}
		if err == nil {
			l.File, l.N, l.Cut = name, n, cut
			err = put(l)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return nil
}

// counter reports what is read through it.
type counter struct {
	r      io.Reader
	report func(n int)
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if c.report != nil {
		c.report(n)
	}
	return n, err
}
