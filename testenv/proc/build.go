package proc

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

var built struct {
	sync.Mutex
	dir  string
	bins map[string]string
}

// Build compiles a package of this module ("./cmd/folder") once per process and
// gives the path of the binary. With race the race detector is compiled in.
// Call Clean at the end of the process.
func Build(pkg string, race bool) (string, error) {
	built.Lock()
	defer built.Unlock()
	name := filepath.Base(pkg)
	args := []string{"build"}
	if race {
		name, args = name+"-race", append(args, "-race")
	}
	if p := built.bins[name]; p != "" {
		return p, nil
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "folder-bin-")
		if err != nil {
			return "", fmt.Errorf("proc: a place for binaries: %w", err)
		}
		built.dir, built.bins = dir, map[string]string{}
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	if err := dependOnSources(root); err != nil {
		return "", err
	}
	p := filepath.Join(built.dir, name)
	cmd := exec.Command("go", append(args, "-o", p, pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("proc: build %s: %w\n%s", pkg, err, out)
	}
	built.bins[name] = p
	return p, nil
}

// dependOnSources looks at every source file of the module. The go command
// remembers which files a test looked at: without this a cached "ok" would stand
// after a change of a program that the test only runs.
func dependOnSources(root string) error {
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			_, err = os.Stat(file)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("proc: sources of the module: %w", err)
	}
	return nil
}

// Clean removes what Build made.
func Clean() {
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
		built.dir, built.bins = "", nil
	}
}

// Root is the directory of the module's go.mod, found from this source file or,
// in a binary built with -trimpath, upwards from the working directory.
func Root() (string, error) {
	var starts []string
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	for _, dir := range starts {
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				return dir, nil
			}
			up := filepath.Dir(dir)
			if up == dir {
				break
			}
			dir = up
		}
	}
	return "", fmt.Errorf("proc: no go.mod above %q: run from inside the module", starts)
}
