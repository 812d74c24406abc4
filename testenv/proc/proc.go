package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a running child.
type Process struct {
	Cmd *exec.Cmd
	Out *Tail // standard output and standard error

	lines *lines // of standard output
	stdin io.WriteCloser
	done  chan struct{}
	err   error
}

// Start runs a program. On Linux it is killed when this process dies in any
// way; everywhere its standard input ends then. env adds to this process's own.
func Start(bin string, args, env []string) (*Process, error) {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), env...)
	return StartCommand(cmd)
}

// StartCommand is Start of a command that says more: its environment, its
// directory, its user, its root.
func StartCommand(cmd *exec.Cmd) (*Process, error) {
	bin := cmd.Path
	dieWithParent(cmd)
	p := &Process{Cmd: cmd, Out: &Tail{}, done: make(chan struct{})}
	p.lines = newLines(p.Out)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("proc: %s: %w", bin, err)
	}
	p.stdin, cmd.Stdout, cmd.Stderr = in, p.lines, p.Out
	if err := started(cmd); err != nil {
		return nil, fmt.Errorf("proc: start %s: %w", bin, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// StartReady runs a program and waits until it prints a line that starts with
// "ready "; the rest of that line is returned.
func StartReady(bin string, args, env []string, within time.Duration) (*Process, string, error) {
	p, err := Start(bin, args, env)
	if err != nil {
		return nil, "", err
	}
	s, err := p.Line("ready ", within)
	if err != nil {
		p.Kill()
		return nil, "", err
	}
	return p, s, nil
}

// Line waits for a line of standard output with a prefix and gives the rest of
// it. Lines before it are forgotten.
func (p *Process) Line(prefix string, within time.Duration) (string, error) {
	deadline := time.After(within)
	for {
		rest, ok := p.lines.take(prefix)
		if ok {
			return rest, nil
		}
		select {
		case <-p.lines.news:
		case <-p.done:
			if rest, ok := p.lines.take(prefix); ok {
				return rest, nil
			}
			return "", fmt.Errorf("proc: %s ended before it printed %q: %w\n%s", p.Cmd.Path, prefix, p.err, p.Out)
		case <-deadline:
			return "", fmt.Errorf("proc: %s did not print %q within %v\n%s", p.Cmd.Path, prefix, within, p.Out)
		}
	}
}

// Tell writes a line to the standard input of the process.
func (p *Process) Tell(line string) error {
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		return fmt.Errorf("proc: tell %s %q: %w", p.Cmd.Path, line, err)
	}
	return nil
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill sends SIGKILL and waits for the end.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.done
}

// Stop sends SIGTERM and waits; past the bound it kills. The error is that of
// the process.
func (p *Process) Stop(within time.Duration) error {
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return p.err
	case <-time.After(within):
		p.Kill()
		return errors.Join(fmt.Errorf("proc: %s did not stop within %v", p.Cmd.Path, within), p.err)
	}
}

// Exited gives the process's error once it has ended.
func (p *Process) Exited() (error, bool) {
	select {
	case <-p.done:
		return p.err, true
	default:
		return nil, false
	}
}

// CPU is the processor time that the process used; 0 while it runs.
func (p *Process) CPU() time.Duration {
	if _, ended := p.Exited(); !ended || p.Cmd.ProcessState == nil {
		return 0
	}
	return p.Cmd.ProcessState.UserTime() + p.Cmd.ProcessState.SystemTime()
}
