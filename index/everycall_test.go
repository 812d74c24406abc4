package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// nth fails one call of a disk, counted from 1; 0 only counts.
type nth struct {
	mu   sync.Mutex
	n    int
	at   int
	err  error
	what string // the call that failed
}

func (f *nth) MaybeError(op errorfs.Op) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n != f.at {
		return nil
	}
	f.what = fmt.Sprintf("%d: %v %s", op.Kind, op.Kind.ReadOrWrite(), op.Path)
	return &os.PathError{Op: "fault", Path: op.Path, Err: f.err}
}

func (f *nth) String() string { return "nth" }

// Any one call of the disk fails: the result is success or an error, in time,
// and no wrong answer; what is left on disk opens and goes on, after a crash
// too. FOLDER_TEST_ALL takes every call, otherwise it is every ninth; few when short.
func TestEveryDiskCall(t *testing.T) {
	sc := newScript()
	disk := vfs.NewMem()
	count := &nth{}
	sc.clean(t, errorfs.Wrap(disk, count))
	stride := 9
	switch {
	case os.Getenv("FOLDER_TEST_ALL") != "":
		stride = 1
	case testing.Short():
		stride = 45
	}
	var failed, survived, back int
	for k := 1; k <= count.n+stride; k += stride {
		for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
			if stride > 1 && (k/stride)%2 == 0 == (cause == syscall.EIO) { // one of them each
				continue
			}
			fs := vfs.NewCrashableMem()
			f := &nth{at: k, err: cause}
			what := fmt.Sprintf("call %d of %d, %v", k, count.n, cause)
			done, err := sc.bounded(t, what, errorfs.Wrap(fs, f))
			what += " (" + f.what + ")"
			switch {
			case errors.Is(err, errWrong):
				t.Fatalf("%s: %v", what, err)
			case err == nil:
				survived++
			case !errors.Is(err, cause):
				t.Fatalf("%s: the error does not say what failed: %v", what, err)
			default:
				failed++
			}
			// Clones, because what failed may keep its lock until the process ends.
			left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
			crash := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: k % 3 * 50, RNG: rand.New(rand.NewPCG(uint64(k), 1))})
			at := sc.goesOn(t, what+", as it was left", left)
			if last := sc.after[len(sc.after)-1]; err == nil && at != last {
				t.Fatalf("%s: all went well, and write %d of %d is left", what, at, last)
			}
			if done > 0 && at < sc.after[done-1] {
				back++
			}
			sc.goesOn(t, what+", after a crash", crash)
		}
	}
	t.Logf("%d calls in a run; %d faults were errors, %d harmless, %d took writes back", count.n, failed, survived, back)
	if failed == 0 || survived == 0 {
		t.Errorf("%d faults were errors, %d harmless", failed, survived)
	}
}
