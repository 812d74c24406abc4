package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"sessionfold/cmd/folder/internal/keys"
	"sessionfold/serve"
)

// tokensFile is the file of readers' tokens. It is looked at every second: tokens
// that are withdrawn or added are so without a restart. A file that cannot be
// used is told of once, and the tokens of before stay in force.
type tokensFile struct {
	path   string
	log    *slog.Logger
	tokens *serve.Tokens
	tried  []byte // the content, or the error, that was seen last
}

// openTokens reads the file for the first time; nil without one.
func openTokens(path string, log *slog.Logger) (*tokensFile, error) {
	if path == "" {
		return nil, nil
	}
	f := &tokensFile{path: path, log: log}
	t, _, err := f.read()
	f.tokens = t
	return f, err
}

// inForce gives the tokens; nil without a file.
func (f *tokensFile) inForce() *serve.Tokens {
	if f == nil {
		return nil
	}
	return f.tokens
}

// read gives what the file holds, if that is something else than before. The
// whole content is looked at: a time and a size can stay the same when a file is
// replaced twice in a moment.
func (f *tokensFile) read() (t *serve.Tokens, changed bool, err error) {
	b, err := os.ReadFile(f.path)
	seen := b
	if err != nil {
		seen = []byte(err.Error())
	}
	if f.tried != nil && bytes.Equal(seen, f.tried) {
		return nil, false, nil
	}
	f.tried = append([]byte{}, seen...) // never nil again, also of an empty file
	if err == nil {
		t, err = serve.ParseTokens(bytes.NewReader(b))
	}
	if err != nil {
		err = fmt.Errorf("http.tokens_file: %s: %w", f.path, err)
	}
	return t, true, err
}

func (f *tokensFile) watch(ctx context.Context) {
	if f == nil {
		return
	}
	tick := time.NewTicker(keys.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.look()
		}
	}
}

func (f *tokensFile) look() {
	t, changed, err := f.read()
	switch {
	case !changed:
	case err != nil:
		f.log.Error("the tokens file cannot be used; the tokens of before stay in force", "err", err)
	default:
		f.tokens.Replace(t)
		f.log.Info("other tokens are in force", "tokens", t.Len())
	}
}
