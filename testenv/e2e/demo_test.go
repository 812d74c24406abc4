package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
)

// The demo is killed as a whole, broker, worker and all, some times; the next
// start finds its log, its transactions and its index in one piece.
func TestDemoSurvivesKills(t *testing.T) {
	if os.Getenv(testenv.BrokersVar) != "" {
		t.Skip("the demo has its own broker")
	}
	if testing.Short() {
		t.Skip("some seconds of kills")
	}
	w, err := folder.NewDemo(binary(t), t.TempDir(), "--rate", "3000", "--sessions", "400")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, stream: "demo", worker: w, kafka: &testenv.Kafka{Addrs: w.Brokers}}
	t.Cleanup(func() {
		w.Kill()
		if t.Failed() {
			t.Logf("the demo's last words:\n%s", w.Log())
		}
	})
	rng := rand.New(rand.NewPCG(11, 1))
	for range 4 {
		r.start()
		r.answers()
		time.Sleep(time.Duration(100+rng.IntN(900)) * time.Millisecond)
		w.Kill()
	}
	r.start()
	r.answers()
	r.kafka.Admin = kadm.NewClient(r.kafka.Client(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Everything is written when the demo says so, and folded when the change
	// rows cover the topics to their ends.
	if err := w.Says("all 400 sessions are written", 30*time.Second); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 30*time.Second, r.checkChanges)
	testenv.Eventually(t, 30*time.Second, func() error {
		got, err := r.sessions(ctx)
		if err == nil && len(got) < 380 {
			err = fmt.Errorf("%d sessions are listed", len(got))
		}
		if err == nil {
			err = whole(got)
		}
		return err
	})
	r.sameAsReplay()
	r.stop()
}

// answers waits until the worker answers a list.
func (r *rig) answers() {
	r.Helper()
	testenv.Eventually(r, 30*time.Second, func() error {
		if err := r.worker.Ended(); err != nil {
			r.Fatal(err)
		}
		_, err := r.sessions(r.Context())
		return err
	})
}
