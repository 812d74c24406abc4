package testenv

import (
	"testing"
	"time"
)

// Eventually tries until f gives nil, or fails the test with f's last error.
// It is the only waiting that tests do: on a condition, with a deadline.
func Eventually(tb testing.TB, within time.Duration, f func() error) {
	tb.Helper()
	if err := Poll(within, f); err != nil {
		tb.Fatalf("not so within %v: %v", within, err)
	}
}

// Poll tries until f gives nil; past the bound it gives f's last error.
func Poll(within time.Duration, f func() error) error {
	deadline := time.Now().Add(within)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := f()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(wait)
	}
}
