package chaos

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sessionfold/testenv"
	"sessionfold/testenv/kafka"
	"sessionfold/testenv/proc"
)

// brokers is the one broker of a campaign. It keeps what it was told when it is
// stopped or killed.
type brokers struct {
	*testenv.Kafka
	stop, kill, freeze, thaw, start func() error // nil: not ours to harm
	real                            bool         // not kfake
}

// newBrokers starts one: "kfake", "kafka", or whatever FOLDER_TEST_BROKERS names.
func newBrokers(t *testing.T, on string) *brokers {
	t.Helper()
	b := &brokers{}
	switch on {
	case "kfake":
		b.kfake(t)
	case "kafka":
		b.kafka(t)
	case "":
		k := testenv.Start(t)
		return &brokers{Kafka: k, real: k.Real}
	default:
		t.Fatalf("FOLDER_CHAOS_ON is %q: kfake or kafka", on)
	}
	b.Kafka.Admin = kadm.NewClient(b.Client(t))
	return b
}

func (b *brokers) kfake(t *testing.T) {
	bin, err := proc.Build("./testenv/cmd/kfaked", false)
	if err != nil {
		t.Fatal(err)
	}
	ports, err := proc.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--data-dir", t.TempDir(), "--port", strconv.Itoa(ports[0])}
	var p *proc.Process
	b.start = func() (err error) {
		var addrs string
		p, addrs, err = proc.StartReady(bin, args, nil, 60*time.Second)
		if err == nil && b.Kafka == nil {
			b.Kafka = &testenv.Kafka{Addrs: strings.Split(addrs, ",")}
		}
		return err
	}
	b.stop = func() error { return p.Stop(30 * time.Second) }
	// Not killed: its EndTxn writes one marker after the other and keeps no note of
	// what it is about to do, so that a kill leaves half a transaction committed.
	b.freeze = func() error { return p.Cmd.Process.Signal(syscall.SIGSTOP) }
	b.thaw = func() error { return p.Cmd.Process.Signal(syscall.SIGCONT) }
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p != nil {
			p.Kill()
		}
	})
}

func (b *brokers) kafka(t *testing.T) {
	kafka.Need(t)
	within := func(d time.Duration, f func(context.Context) error) func() error {
		return func() error {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			return f(ctx)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // includes the download
	defer cancel()
	n, err := kafka.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Kill() }) //nolint:errcheck // its data goes with it
	b.Kafka, b.real = &testenv.Kafka{Addrs: []string{n.Addr}}, true
	b.start = within(2*time.Minute, n.Restart)
	b.stop = within(time.Minute, n.Stop)
	b.kill, b.freeze, b.thaw = n.Kill, n.Pause, n.Resume
}
