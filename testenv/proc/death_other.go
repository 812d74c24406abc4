//go:build !linux

package proc

import (
	"os/exec"
	"syscall"
)

// Elsewhere the end of standard input is what tells a child to go.
func dieWithParent() *syscall.SysProcAttr { return nil }

func started(cmd *exec.Cmd) error { return cmd.Start() }
