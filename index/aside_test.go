package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A bit of any file of a closed store flips: the store says that it is corrupt,
// or is as it was after some write (a log that ends early is a crash to it).
// What reads are answered is right. Set aside, it leaves an empty store.
func TestFlippedBits(t *testing.T) {
	sc := newScript()
	disk := vfs.NewCrashableMem()
	sc.clean(t, disk)
	names, err := disk.List("store")
	if err != nil {
		t.Fatal(err)
	}
	last := sc.after[len(sc.after)-1]
	found := map[string]int{}
	rng := rand.New(rand.NewPCG(5, 5))
	for _, name := range names {
		info, err := disk.Stat("store/" + name)
		if err != nil || info.IsDir() || info.Size() == 0 {
			continue
		}
		kind := kindOf(name)
		for n := range info.Size() {
			at := n
			if kind != "manifest" || testing.Short() { // of which every byte matters
				if n == 8 {
					break
				}
				at = rng.Int64N(info.Size())
			}
			fs := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
			flip(t, fs, "store/"+name, at)
			seq, d, err := look(t, fs)
			switch {
			case errors.Is(err, ErrCorrupt):
				found[kind]++
				asideWorks(t, fs)
				continue
			case err != nil && !errors.Is(err, ErrFormat):
				t.Errorf("%s, byte %d: %v", name, at, err)
			case err == nil && seq != last && kind != "log":
				t.Errorf("%s, byte %d: write %d of %d is left", name, at, seq, last)
			}
			if want, known := sc.seen[seq]; err == nil && known && d != want {
				t.Errorf("%s, byte %d: at write %d\n got  %s\n want %s", name, at, seq, d, want)
			}
		}
	}
	t.Logf("found in %v", found)
	if found["sst"] == 0 || found["manifest"] == 0 {
		t.Errorf("flips were found in %v only", found)
	}
}

func kindOf(name string) string {
	switch {
	case strings.HasSuffix(name, ".log"):
		return "log"
	case strings.HasSuffix(name, ".sst"):
		return "sst"
	case strings.HasPrefix(name, "MANIFEST"):
		return "manifest"
	}
	return "other"
}

func flip(t *testing.T, fs vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	b[0] ^= 0x10
	_, err2 := f.WriteAt(b, at)
	if err = errors.Join(err, err2, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// look opens a store and reads all of it. It is closed even when it failed, so
// that it can leave its mark.
func look(t *testing.T, fs vfs.FS) (seq uint64, d Digest, err error) {
	t.Helper()
	s, err := openScript(fs)
	if err != nil {
		return 0, Digest{}, err
	}
	seq = s.seq
	d, err = s.Digest(context.Background(), stream)
	return seq, d, errors.Join(err, s.Close())
}

// asideWorks: a corrupt store is refused until it is set aside, even when what
// is damaged is not met by opening it; then there is an empty one.
func asideWorks(t *testing.T, fs vfs.FS) {
	t.Helper()
	if s, err := openScript(fs); !errors.Is(err, ErrCorrupt) {
		if err == nil {
			s.Close()
		}
		t.Errorf("opened again: %v", err)
	}
	to, err := SetAside(Options{Dir: "store", FS: fs})
	if err != nil || to != "store/corrupt-1" {
		t.Errorf("set aside: %q, %v", to, err)
	}
	if seq, d, err := look(t, fs); err != nil || seq != 0 || d.Sessions != 0 {
		t.Errorf("set aside: at write %d with %s, %v", seq, d, err)
	}
	if names, err := fs.List(to); err != nil || len(names) < 3 {
		t.Errorf("set aside: %v, %v", names, err)
	}
}

// Corruption that is met while the store is in use is known to the next Open,
// which may not meet it.
func TestCorruptionIsRemembered(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	s.health.fail(fmt.Errorf("a table: %w", pebble.ErrCorruption))
	if err := s.Close(); !errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrFailed) {
		t.Errorf("close: %v", err)
	}
	asideWorks(t, fs)
}

// A crash at any call of the disk while a store is made or opened leaves one
// that opens.
func TestCrashWhileOpening(t *testing.T) {
	for k := 1; ; k++ {
		fs := vfs.NewCrashableMem()
		var clones []*vfs.MemFS
		n := 0
		crash := errorfs.InjectorFunc(func(errorfs.Op) error {
			if n++; n == k {
				for seed := range uint64(12) {
					clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, 1))}))
				}
			}
			return nil
		})
		s, err := openScript(errorfs.Wrap(fs, crash))
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		if len(clones) == 0 {
			if k < 20 {
				t.Fatalf("%d calls", k)
			}
			return
		}
		for i, c := range clones {
			if _, _, err := look(t, c); err != nil && !strings.Contains(err.Error(), ", record ") {
				t.Fatalf("call %d, crash %d: %v", k, i, err)
			}
		}
	}
}

// Whatever call fails while a store is set aside, doing it again ends it, in
// the same place.
func TestSetAsideFailsAtEveryCall(t *testing.T) {
	for k := 1; ; k++ {
		fs := vfs.NewCrashableMem()
		closeStore(t, open(t, fs))
		flip(t, fs, "store/"+manifestOf(t, fs), 20)
		f := &nth{at: k, err: syscall.EIO}
		_, err := SetAside(Options{Dir: "store", FS: errorfs.Wrap(fs, f)})
		if f.what == "" {
			if k < 10 || err != nil {
				t.Fatalf("%d calls, %v", k, err)
			}
			return
		}
		fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
		if _, _, e := look(t, fs); err != nil && !errors.Is(e, ErrCorrupt) {
			// All was moved, and only the last sync failed.
			if names, _ := fs.List("store/corrupt-1"); len(names) < 3 || e != nil {
				t.Fatalf("%s: half set aside, the store opens: %v", f.what, e)
			}
			continue
		}
		if err != nil {
			asideWorks(t, fs)
		}
	}
}

func manifestOf(t *testing.T, fs vfs.FS) string {
	t.Helper()
	names, err := fs.List("store")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, "MANIFEST") {
			return n
		}
	}
	t.Fatal("no manifest")
	return ""
}

// A disk that damages store after store is told, not restored onto for ever.
func TestSetAsideHasAnEnd(t *testing.T) {
	fs := vfs.NewMem()
	for n := 0; ; n++ {
		closeStore(t, open(t, fs))
		flip(t, fs, "store/"+manifestOf(t, fs), 20)
		_, err := SetAside(Options{Dir: "store", FS: fs})
		if n < maxAside && err == nil {
			continue
		}
		if n != maxAside || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "hint: ") {
			t.Fatalf("after %d: %v", n, err)
		}
		return
	}
}

// Directories that cannot be used are told apart, each with what to do.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*testing.T) Options
		is   error
		hint string
	}{
		{"a file", func(t *testing.T) Options {
			dir := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return Options{Dir: dir}
		}, ErrOpen, "is a file"},
		{"below a file", func(t *testing.T) Options {
			dir := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return Options{Dir: filepath.Join(dir, "store")}
		}, ErrOpen, "is a file"},
		{"read-only", failing(syscall.EROFS), ErrOpen, "mount it writable"},
		{"permission", failing(syscall.EACCES), ErrOpen, "right to read and write"},
		{"full", failing(syscall.ENOSPC), ErrOpen, "free space"},
		{"quota", failing(syscall.EDQUOT), ErrOpen, "free space"},
		{"I/O", failing(syscall.EIO), ErrOpen, "dmesg"},
		{"newer Pebble", pebbleFormat("099"), ErrFormat, "move the directory away"},
		{"older Pebble", pebbleFormat("002"), ErrFormat, "move the directory away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(c.make(t))
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.hint) || !Unusable(err) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

// failing is a disk with a store on it that takes no writes any more.
func failing(cause syscall.Errno) func(*testing.T) Options {
	return func(t *testing.T) Options {
		fs := vfs.NewMem()
		closeStore(t, open(t, fs))
		return Options{Dir: "store", FS: errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				return &os.PathError{Op: "open", Path: op.Path, Err: cause}
			}
			return nil
		}))}
	}
}

// pebbleFormat is a store as another version of Pebble would have left it.
func pebbleFormat(version string) func(*testing.T) Options {
	return func(t *testing.T) Options {
		fs := vfs.NewMem()
		closeStore(t, open(t, fs))
		names, err := fs.List("store")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if strings.HasPrefix(n, "marker.format-version.") {
				if err := fs.Rename("store/"+n, "store/"+n[:len(n)-3]+version); err != nil {
					t.Fatal(err)
				}
			}
		}
		return Options{Dir: "store", FS: fs}
	}
}

// A disk that is full when the store is opened, with a log to take over, is an
// error in time: Pebble alone waits for room for ever.
func TestOpenDoesNotWaitForRoom(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	w := newWorld(7)
	apply(t, s, w.step(w.sources[0], many(w.sources[0])))
	want := digest(t, s)
	closeStore(t, s)
	full := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	})}
	full.On()
	ended := make(chan error, 1)
	go func() {
		_, err := openScript(errorfs.Wrap(fs, full))
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space") {
			t.Errorf("open: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("open waits for ever")
	}
	// The process has ended, and there is room: nothing is lost.
	_, d, err := look(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}))
	if err != nil || d != want {
		t.Errorf("with room: %s, %v; want %s", d, err, want)
	}
}

// Crashes at any moment, while others read: each leaves the state after some
// write, and the rest of the writes lead on from there.
func TestCrashWhileReading(t *testing.T) {
	sc := newScript()
	sc.clean(t, vfs.NewMem())
	rng := rand.New(rand.NewPCG(9, 9))
	var clones []*vfs.MemFS
	var crashed sync.Mutex
	fs := vfs.NewCrashableMem()
	crash := func(percent int) {
		crashed.Lock()
		defer crashed.Unlock()
		clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}))
	}
	// Every call of the disk may be the last: a few are, with readers about.
	calls := &nth{}
	chosen := map[int]bool{}
	sc.bounded(t, "counting", errorfs.Wrap(vfs.NewMem(), calls))
	for len(chosen) < 24 {
		chosen[1+rng.IntN(calls.n)] = true
	}
	count := 0
	s, err := openScript(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		crashed.Lock()
		count++
		hit := chosen[count]
		crashed.Unlock()
		if hit {
			crash(count % 3 * 50)
		}
		return nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for i, st := range sc.steps {
		if st.stop {
			continue // readers hold the store open
		}
		stop := make(chan struct{})
		for range 2 {
			readers.Go(func() {
				for {
					// In the middle of a restore partials may be there whose links are not.
					if _, err := s.Digest(context.Background(), stream); err != nil && st.name != "restore" {
						t.Errorf("read during %s: %v", st.name, err)
						return
					}
					if r, err := s.Check(context.Background()); err != nil || r.Total > 0 {
						t.Errorf("check during %s: %v %v", st.name, r.Problems, err)
						return
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		if err := st.do(s); err != nil {
			t.Fatalf("%s: %v", st.name, err)
		}
		crash(i % 3 * 50)
		close(stop)
		readers.Wait()
	}
	closeStore(t, s)
	at := map[uint64]bool{}
	for i, c := range clones {
		at[sc.goesOn(t, "crash "+string(rune('a'+i)), c)] = true
	}
	t.Logf("%d crashes, left at %d different writes", len(clones), len(at))
	if len(at) < 4 {
		t.Errorf("crashes left only the writes %v", at)
	}
}
