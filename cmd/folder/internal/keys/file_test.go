package keys

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sessionfold/testenv"
)

func line(n byte, principal string) string {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, 32)).Public().(ed25519.PublicKey)
	return fmt.Sprintf("%x %s\n", []byte(key), principal)
}

// put replaces a file the way an operator should.
func put(t *testing.T, path, text string) {
	t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := Open("s", path); err == nil {
		t.Fatal("a file that is not there was opened")
	}
	put(t, path, "no key\n")
	if _, err := Open("s", path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "line 1") {
		t.Fatalf("a bad file: %v", err)
	}
	put(t, path, line(1, "ann"))
	f, err := Open("s", path)
	if err != nil {
		t.Fatal(err)
	}
	first := f.Current()
	for _, c := range []struct {
		name, text string
		changed    bool
		err        string
		stats      Stats
	}{
		{"the same", line(1, "ann"), false, "", Stats{Keys: 1, Loads: 1}},
		{"a remark", "# x\n" + line(1, "ann"), false, "", Stats{Keys: 1, Loads: 2}},
		{"one more", line(1, "ann") + line(2, "bob"), true, "", Stats{Keys: 2, Loads: 3}},
		// Cut off in the middle of a line, at a line's end and before the first
		// byte: what a writer that does not rename leaves for a moment.
		{"cut", (line(1, "ann") + line(2, "bob"))[:90], false, "line 2", Stats{Keys: 2, Loads: 3, Failures: 1, Failed: true}},
		{"cut still", (line(1, "ann") + line(2, "bob"))[:90], false, "", Stats{Keys: 2, Loads: 3, Failures: 1, Failed: true}},
		{"empty", "", false, "no key", Stats{Keys: 2, Loads: 3, Failures: 2, Failed: true}},
		{"whole again", line(1, "ann") + line(2, "bob"), false, "", Stats{Keys: 2, Loads: 4, Failures: 2}},
		{"another's", line(1, "ann") + line(2, "eve"), true, "", Stats{Keys: 2, Loads: 5, Failures: 2}},
	} {
		put(t, path, c.text)
		changed, err := f.Reload()
		if changed != c.changed || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: changed %t, %v", c.name, changed, err)
		}
		if got := f.Stats(); got != c.stats {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.stats)
		}
		if got := f.Current().Len(); got != c.stats.Keys {
			t.Errorf("%s: %d keys", c.name, got)
		}
	}
	if first.Len() != 1 {
		t.Error("keys that were handed out have changed")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} { // told of once
		if _, err := f.Reload(); (err != nil) != want {
			t.Errorf("gone, look %d: %v", i, err)
		}
	}
	if f.Current().Len() != 2 {
		t.Error("a file that is gone took its keys along")
	}
}

// The watch takes a change by itself, and at SIGHUP at once.
func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	put(t, path, line(1, "ann"))
	files, err := OpenAll(map[string]string{"s": path})
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); Watch(ctx, files, slog.New(slog.NewTextHandler(&log, nil))) }()
	defer func() { cancel(); <-done }()
	keys := func(n int) func() error {
		return func() error {
			if got := files["s"].Current().Len(); got != n {
				return fmt.Errorf("%d keys, want %d", got, n)
			}
			return nil
		}
	}
	put(t, path, line(1, "ann")+line(2, "bob"))
	testenv.Eventually(t, 20*time.Second, keys(2))

	put(t, path, line(1, "ann")+line(2, "bob")+line(3, "eve"))
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 20*time.Second, keys(3))

	put(t, path, "nothing of the kind")
	testenv.Eventually(t, 20*time.Second, func() error {
		if !strings.Contains(log.String(), "cannot be used") {
			return fmt.Errorf("the log says %q", log.String())
		}
		return nil
	})
	if err := keys(3)(); err != nil {
		t.Error(err)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
