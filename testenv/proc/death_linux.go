package proc

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

type fork struct {
	cmd *exec.Cmd
	err chan error
}

var forks struct {
	once sync.Once
	in   chan fork
}

func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// started forks from a thread that lives as long as the process: the kernel
// sends the parent-death signal when the forking THREAD ends, and Go ends
// threads.
func started(cmd *exec.Cmd) error {
	forks.once.Do(func() {
		forks.in = make(chan fork)
		go func() {
			runtime.LockOSThread() // never unlocked
			for f := range forks.in {
				f.err <- f.cmd.Start()
			}
		}()
	})
	err := make(chan error, 1)
	forks.in <- fork{cmd, err}
	return <-err
}
