package chaos

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"sessionfold/testenv/folder"
)

// session is how long the group waits for a silent worker here.
const session = 6 * time.Second

// slot is a place for a worker, with its disk.
type slot struct {
	*folder.Worker
	t       *testing.T
	name    string
	running bool
	thaw    time.Time // when it is let run on; zero: it runs
}

func newSlots(t *testing.T, bin string, k *brokers, stream string, n int) []*slot {
	t.Helper()
	var out []*slot
	for i := range n {
		name := fmt.Sprintf("w%d", i)
		w, err := folder.New(folder.Options{
			Bin: bin, Brokers: k.Addrs, Group: stream, Instance: name, Stream: stream, Dir: t.TempDir(),
			Extra: []string{"log: {level: info, format: text}"},
			Env: []string{
				"FOLDER_KAFKA_SESSION_TIMEOUT=" + session.String(),
				fmt.Sprintf("FOLDER_KAFKA_LEAVE_ON_STOP=%t", i > 0), // one that stops like a pod, the others as if taken away
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := &slot{Worker: w, t: t, name: name}
		t.Cleanup(func() {
			w.Kill()
			if t.Failed() {
				t.Logf("the last words of worker %s:\n%s", name, w.Log())
			}
		})
		out = append(out, s)
	}
	return out
}

func (s *slot) up() error {
	if s.running {
		return nil
	}
	s.running = true
	return s.Start()
}

// down ends the worker: by force, or as a supervisor does.
func (s *slot) down(force bool) error {
	if !s.running {
		return nil
	}
	if err := s.warm(); err != nil {
		return err
	}
	s.running = false
	if force {
		s.Kill()
		return nil
	}
	began := time.Now()
	err := s.Stop()
	if took := time.Since(began); took > 10*time.Second {
		s.t.Logf("%s stopped only after %v; its last words:\n%s", s.name, took, s.Log())
	}
	if s.Log() == "" {
		return nil // it had only just begun, and did not know of signals yet
	}
	return err
}

func (s *slot) freeze(d time.Duration) error {
	if !s.running || !s.thaw.IsZero() {
		return nil
	}
	s.thaw = time.Now().Add(d)
	return s.Signal(syscall.SIGSTOP)
}

func (s *slot) warm() error {
	if s.thaw.IsZero() {
		return nil
	}
	s.thaw = time.Time{}
	return s.Signal(syscall.SIGCONT)
}

// loseDisk ends the worker and throws its store away.
func (s *slot) loseDisk() error {
	if err := s.down(true); err != nil {
		return err
	}
	return os.RemoveAll(s.Store)
}
