package testenv

import (
	"fmt"
	"testing"
	"time"

	"sessionfold/testenv/proc"
)

// StartStoppable is kfake in a process of its own that keeps its data on disk:
// down ends it in order, and up starts it again at the same address. Brokers of
// FOLDER_TEST_BROKERS are not the test's to stop.
func StartStoppable(tb testing.TB) (k *Kafka, down, up func()) {
	tb.Helper()
	bin, err := proc.Build("./testenv/cmd/kfaked", false)
	if err != nil {
		tb.Fatal(err)
	}
	ports, err := proc.Ports(1)
	if err != nil {
		tb.Fatal(err)
	}
	args := []string{"--data-dir", tb.TempDir(), "--port", fmt.Sprint(ports[0])}
	var p *proc.Process
	up = func() {
		tb.Helper()
		if p, _, err = proc.StartReady(bin, args, nil, 20*time.Second); err != nil {
			tb.Fatal(err)
		}
	}
	down = func() {
		tb.Helper()
		if err := p.Stop(20 * time.Second); err != nil {
			tb.Fatal(err)
		}
	}
	up()
	tb.Cleanup(func() { p.Kill() })
	return connect(tb, &Kafka{Addrs: []string{fmt.Sprintf("127.0.0.1:%d", ports[0])}}), down, up
}
