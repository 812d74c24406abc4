package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionfold/index"
	"sessionfold/testenv"
	"sessionfold/testenv/disk"
)

// ended waits for a worker that ends by itself, with why.
func (w *running) ended() error {
	w.r.t.Helper()
	select {
	case err := <-w.done:
		w.over = true
		if e := w.Close(); e != nil {
			w.r.t.Errorf("close: %v", e)
		}
		return err
	case <-time.After(waitLong):
		w.r.t.Fatal("the worker goes on")
		return nil
	}
}

// moved is a directory as the next process finds it: what failed may keep its
// lock until its process ends.
func moved(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// The disk fills up under a worker that folds: it ends by itself and says why
// and what to do; it does not start while the disk is full; with room it goes
// on, and nothing is lost.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(20)
	var d disk.Disk
	cfg := r.config(filepath.Join(t.TempDir(), "data"), "a")
	cfg.disk = d.Use
	w := r.start(cfg)
	r.caughtUp(w)
	d.Fail(syscall.ENOSPC, "")
	r.sessions(500) // enough for the log to be written
	err := w.ended()
	if !errors.Is(err, index.ErrFailed) || !errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), "hint: the disk is full") != 1 {
		t.Fatalf("run: %v", err)
	}
	for _, where := range []string{".sst", "MANIFEST", ".log", ""} {
		d.Fail(syscall.ENOSPC, where)
		cfg.DataDir = moved(t, cfg.DataDir)
		a, err := New(cfg)
		if err == nil {
			a.Close()
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "hint: the disk is full") {
			t.Errorf("start with no room for %q: %v", where, err)
		}
	}
	d.Heal()
	cfg.DataDir = moved(t, cfg.DataDir)
	w = r.start(cfg)
	r.caughtUp(w)
	r.sessions(10)
	r.caughtUp(w)
	r.sameSoon(w)
	r.changes()
	w.stop()
}

// A file of the store was damaged while nobody looked: the next start sets the
// files aside and restores everything from the changelog, once.
func TestCorruptStoreIsSetAside(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"*.sst", "MANIFEST-*", "*.log"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, 2)
			r.sessions(30)
			cfg := r.config(filepath.Join(t.TempDir(), "data"), "a")
			w := r.start(cfg)
			r.caughtUp(w)
			w.stop()
			w = r.start(cfg) // this writes tables
			r.sessions(5)
			r.caughtUp(w)
			w.stop()
			damage(t, cfg.DataDir, kind)
			r.sessions(5)
			w = r.start(cfg)
			// Damage that is not met by opening the store ends the worker; the next
			// start knows.
			want, err := r.offline().Digest(context.Background(), r.stream)
			r.must(err)
			testenv.Eventually(t, waitLong, func() error {
				select {
				case err := <-w.done:
					w.done <- err
					if err := w.ended(); !errors.Is(err, index.ErrCorrupt) || !strings.Contains(err.Error(), "hint: start `folder run` again") {
						t.Fatalf("run: %v", err)
					}
					cfg.DataDir = moved(t, cfg.DataDir)
					w = r.start(cfg)
				default:
				}
				if d, err := w.Store().Digest(context.Background(), r.stream); err != nil || d.Partials != want.Partials {
					return fmt.Errorf("%s, %v", d, err)
				}
				return nil
			})
			r.caughtUp(w)
			r.sameSoon(w)
			r.changes()
			aside, err := filepath.Glob(filepath.Join(cfg.DataDir, "corrupt-*"))
			if err != nil || kind != "*.log" && len(aside) != 1 {
				t.Errorf("set aside: %v, %v", aside, err)
			}
			w.stop()
		})
	}
}

// damage flips a bit in every sixteenth byte of the files' second half.
func damage(t *testing.T, dir, kind string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, kind))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", kind, files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(b) / 2; i < len(b); i += 16 {
			b[i] ^= 0x10
		}
		if err := os.WriteFile(f, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that damages the store again right after it was begun anew is an error
// of the start, not a loop.
func TestCorruptTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	cfg := r.config(filepath.Join(t.TempDir(), "data"), "a")
	s, err := index.Open(index.Options{Dir: cfg.DataDir})
	r.must(err)
	r.must(s.Close())
	damage(t, cfg.DataDir, "MANIFEST-*")
	var d disk.Disk
	d.Fail(index.ErrCorrupt, "MANIFEST-")
	cfg.disk = d.Use
	a, err := New(cfg)
	if err == nil {
		a.Close()
	}
	if !errors.Is(err, index.ErrCorrupt) || !strings.Contains(err.Error(), "begun anew") || !strings.Contains(err.Error(), "hint: ") {
		t.Errorf("start: %v", err)
	}
	aside, _ := filepath.Glob(filepath.Join(cfg.DataDir, "corrupt-*"))
	if len(aside) != 1 {
		t.Errorf("set aside %v", aside)
	}
}
