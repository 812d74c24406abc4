package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a running child.
type Process struct {
	Cmd   *exec.Cmd
	Out   *Tail // standard error, and standard output past the ready line
	stdin io.Closer
	done  chan struct{}
	err   error
}

// Start runs a program. On Linux it is killed when this process dies in any
// way; everywhere its standard input ends then.
func Start(bin string, args, env []string) (*Process, error) { return start(bin, args, env, nil) }

func start(bin string, args, env []string, stdout func(string)) (*Process, error) {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = dieWithParent()
	p := &Process{Cmd: cmd, Out: &Tail{}, done: make(chan struct{})}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("proc: %s: %w", bin, err)
	}
	p.stdin = in
	cmd.Stderr = p.Out
	if stdout == nil {
		cmd.Stdout = p.Out
	} else {
		cmd.Stdout = &lines{each: stdout, rest: p.Out}
	}
	// The parent-death signal follows the thread that forks; started pins it.
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
	ready := make(chan string, 1)
	p, err := start(bin, args, env, func(line string) {
		if rest, ok := strings.CutPrefix(line, "ready "); ok {
			select {
			case ready <- rest:
			default:
			}
		}
	})
	if err != nil {
		return nil, "", err
	}
	select {
	case s := <-ready:
		return p, s, nil
	case <-p.done:
		return nil, "", fmt.Errorf("proc: %s ended before it was ready: %w\n%s", bin, p.err, p.Out)
	case <-time.After(within):
		p.Kill()
		return nil, "", fmt.Errorf("proc: %s was not ready within %v\n%s", bin, within, p.Out)
	}
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

// lines hands every full line of a stream to each and to rest.
type lines struct {
	each func(string)
	rest io.Writer
	part []byte
}

func (l *lines) Write(b []byte) (int, error) {
	l.part = append(l.part, b...)
	for {
		n, line, err := bufio.ScanLines(l.part, false)
		if err != nil || n == 0 {
			break
		}
		l.each(string(line))
		l.part = l.part[n:]
	}
	return l.rest.Write(b)
}
