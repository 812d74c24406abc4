package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
)

// SIGTERM while the broker is frozen: the worker is not ready at once, though its
// last commit is waited for; a second signal ends it at once.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("a broker that is frozen")
	}
	bin, err := folder.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	k := newBrokers(t, "kfake")
	stream := testenv.Name(t)
	l := newLoad(t, k.Kafka, stream, 1)
	l.rate.Store(rate)
	s := newSlots(t, bin, k, stream, 1)[0]
	if err := s.up(); err != nil {
		t.Fatal(err)
	}
	ready := func(want string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		body, err := s.Get(ctx, s.Admin+"/readyz")
		if bad := (*folder.StatusError)(nil); errors.As(err, &bad) {
			body, err = bad.Body, nil
		}
		if err != nil || !strings.Contains(string(body), want) {
			return fmt.Errorf("readiness is %q (%v), want %q; the worker: %w", body, err, want, s.Ended())
		}
		return nil
	}
	rows := 0
	testenv.Eventually(t, time.Minute, func() error { // it commits, again and again
		if rows = len(k.Changes(t, stream+"-changes")); rows < 20 {
			return fmt.Errorf("%d change rows", rows)
		}
		return ready("ok")
	})
	if err := k.freeze(); err != nil {
		t.Fatal(err)
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 10*time.Second, func() error { return ready("stopping") })
	time.Sleep(500 * time.Millisecond) // signals that are closer together are one
	if err := s.Ended(); err != nil {
		t.Fatalf("it did not wait for its last commit: %v", err)
	}
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 3*time.Second, func() error {
		if s.Ended() == nil {
			return errors.New("it still runs")
		}
		return nil
	})
	if !strings.Contains(s.Log(), "second terminated, ending at once") {
		t.Errorf("it says nothing of the second signal:\n%s", s.Log())
	}
	s.running = false
	if err := k.thaw(); err != nil {
		t.Fatal(err)
	}
}
