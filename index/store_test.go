package index

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sessionfold/index/row"
	"sessionfold/wire"
)

func TestApplyLoadMeta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(7)
		fs := vfs.NewMem()
		s := open(t, fs)
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			apply(t, s, w.draw(t, 6, 30))
		}
		if rapid.Bool().Draw(t, "reopen") {
			closeStore(t, s)
			s = open(t, fs)
		}
		check(t, s)
		for _, src := range w.sources {
			var ids []wire.ID
			for n := range 10 {
				ids = append(ids, sessionID(n))
			}
			got, err := s.Load(src.Source, ids)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(src.partials, got); d != "" {
				t.Fatalf("loaded partials (-folded +loaded):\n%s", d)
			}
			m, known, err := s.Meta(src.Source)
			if err != nil {
				t.Fatal(err)
			}
			if known != (len(src.log) > 0) {
				t.Fatalf("known %v after %d records", known, len(src.log))
			}
			if d := cmp.Diff(src.front, m.Frontier); d != "" {
				t.Fatalf("frontier (-folded +stored):\n%s", d)
			}
			if known && m.ChangelogNext != int64(src.front.Next)*3 {
				t.Fatalf("changelog offset %d", m.ChangelogNext)
			}
		}
		closeStore(t, s)
	})
}

// A batch that does not begin where the source stands is refused, with the
// other steps of the same Apply.
func TestApplyRefusesOtherPlace(t *testing.T) {
	w := newWorld(7)
	s := open(t, vfs.NewMem())
	defer s.Close()
	a, b := w.sources[0], w.sources[1]
	one := wire.Record{Offset: 0, HasSession: true, Session: sessionID(1)}
	first := w.step(a, []wire.Record{one})
	one.Offset = 1
	second := w.step(a, []wire.Record{one})
	one.Offset = 0
	other := w.step(b, []wire.Record{one})
	apply(t, s, first)
	apply(t, s, second)
	for _, stale := range []*row.Batch{first, second} {
		err := s.Apply([]Applied{{Batch: other}, {Batch: stale}})
		if err == nil || !strings.Contains(err.Error(), "the store stands at 2") {
			t.Fatalf("a step from offset %d: %v", stale.From, err)
		}
	}
	if _, known, err := s.Meta(b.Source); known || err != nil {
		t.Errorf("the other step of a refused apply is known: %v, %v", known, err)
	}
	apply(t, s, other)
	check(t, s)
}

func TestTwoNamesOfOneNumber(t *testing.T) {
	w := newWorld(7)
	s := open(t, vfs.NewMem())
	defer s.Close()
	apply(t, s, w.step(w.sources[0], []wire.Record{{HasSession: true, Session: sessionID(1)}}))
	twin := *w.sources[0].Source
	twin.Topic = "another.topic"
	if _, _, err := s.Meta(&twin); err == nil || !strings.Contains(err.Error(), "rename one of them") {
		t.Errorf("meta of a topic with the number of another: %v", err)
	}
}

func TestOpenLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(Options{Dir: dir})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open: %v", err)
	}
	closeStore(t, s)
	if s, err = Open(Options{Dir: dir}); err != nil {
		t.Fatalf("open after close: %v", err)
	}
	closeStore(t, s)
	if err := s.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second close: %v", err)
	}
	if _, err := s.Load(newWorld(1).sources[0].Source, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("load of a closed store: %v", err)
	}
}

func TestOpenOtherFormat(t *testing.T) {
	for name, c := range map[string]struct {
		key, value []byte
		want       string
	}{
		"later version": {row.KeyIdentity, append([]byte{row.Version + 1}, make([]byte, 24)...), fmt.Sprintf("format version %d, this program reads version %d", row.Version+1, row.Version)},
		"damaged":       {row.KeyIdentity, []byte{row.Version, 1}, "store identity, byte 1: ends early"},
		"stranger":      {[]byte("something"), []byte("else"), "data of another program"},
	} {
		fs := vfs.NewMem()
		db, err := pebble.Open("store", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: pebbleLogger{log: slog.New(slog.DiscardHandler), health: newHealth()}})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Set(c.key, c.value, pebble.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // refusing leaves neither a lock nor a change
			_, err = Open(Options{Dir: "store", FS: fs})
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if name == "later version" && !strings.Contains(err.Error(), rebuildHint) {
			t.Errorf("%s: no word of what to do: %v", name, err)
		}
	}
}

// Files that are no store are an error, not a crash.
func TestOpenDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, m := range manifests {
		if err := os.WriteFile(m, []byte("not a manifest"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "folder run") {
		t.Errorf("open of damaged files: %v", err)
	}
}
