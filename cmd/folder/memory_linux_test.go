package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The heap of a worker is advised to use huge pages, unless the runtime was told
// not to. Both are looked at in processes of their own: advice is not taken back.
func TestHeapIsAdvised(t *testing.T) {
	if os.Getenv("SHOW_HEAP") != "" {
		tuneMemory(os.Getenv)
		smaps, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.Write(smaps)
		return
	}
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no transparent huge pages")
	}
	for debug, want := range map[string]bool{"": true, "madvdontneed=1": true, "madvdontneed=1,disablethp=1": false} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestHeapIsAdvised$")
		cmd.Env = append(os.Environ(), "SHOW_HEAP=1", "GODEBUG="+debug)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		advised := false
		for line := range strings.SplitSeq(string(out), "\n") {
			if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && strings.Contains(flags+" ", " hg ") {
				advised = true
			}
		}
		if advised != want {
			t.Errorf("GODEBUG=%q: the heap is advised: %v", debug, advised)
		}
	}
}
