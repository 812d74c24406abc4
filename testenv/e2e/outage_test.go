package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"sessionfold/testenv"
)

// outage lets all brokers be down for a while, under load. The worker stays,
// counts as alive, spins nowhere, and goes on by itself when they are back.
func (r *rig) outage(lasting time.Duration, down, up func()) {
	r.Helper()
	stop := r.load(81, 300)
	r.start()
	r.moves(2 * time.Minute)
	down()
	before := r.worker.CPUSoFar()
	if before == 0 {
		r.Skip("the system does not tell how much processor time a process uses")
	}
	ctx, cancel := context.WithTimeout(r.Context(), lasting+time.Minute)
	defer cancel()
	for end := time.Now().Add(lasting); time.Now().Before(end); {
		time.Sleep(time.Second) // the length of the outage, not a wait
		if err := r.worker.Ended(); err != nil {
			r.Fatal(err)
		}
		if _, err := r.worker.Get(ctx, r.worker.Admin+"/livez"); err != nil {
			r.Errorf("without brokers the worker does not count as alive, and would be restarted: %v", err)
		}
	}
	// Polls, heartbeats, metadata, restores and commits are all tried again and
	// again meanwhile: that takes a hundredth of a core. What did so without a pause
	// would take a whole one.
	used := r.worker.CPUSoFar() - before
	r.Logf("the worker used %s in %s without brokers", used, lasting)
	if used > lasting/40 {
		r.Errorf("the worker used %s of processor time in %s without brokers", used, lasting)
	}
	up()
	r.moves(2 * time.Minute)
	r.endsWhole(stop)
}

// brokersOut is how long the brokers are out: by default as long as a test may
// take, in full some minutes, past every timeout there is.
func brokersOut() time.Duration {
	if long {
		return 4 * time.Minute
	}
	return 15 * time.Second
}

func TestBrokersDown(t *testing.T) {
	if testing.Short() {
		t.Skip("brokers that are down for a while")
	}
	if os.Getenv(testenv.BrokersVar) != "" {
		t.Skip("these brokers are not the test's to stop")
	}
	k, down, up := testenv.StartStoppable(t)
	newRigOn(t, k).outage(brokersOut(), down, up)
}

// The three brokers die at once; the controller stays.
func TestKafkaBrokersDown(t *testing.T) {
	r, c := newKafkaRig(t)
	r.outage(brokersOut(), func() {
		for _, n := range c.Broker {
			if err := n.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		if err := c.Heal(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
