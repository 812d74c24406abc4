package e2e

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// brief makes a worker's session short, so that tests of it are.
const brief = 6 * time.Second

func shortSession(ws ...*folder.Worker) {
	for _, w := range ws {
		w.Env = append(w.Env, "FOLDER_KAFKA_SESSION_TIMEOUT="+brief.String())
	}
}

// newSlowRig is newRig for a test that waits for what times out: beside others of
// its kind.
func newSlowRig(t *testing.T) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("sessions that time out")
	}
	t.Parallel()
	return newRig(t)
}

// shared waits until the instances share all partitions and the group rests.
func (r *rig) shared(within time.Duration, instances ...string) map[string][]wire.TopicPartition {
	r.Helper()
	all := 0
	for _, n := range r.writer.Topics() {
		all += int(n)
	}
	all -= int(r.writer.Topics()[r.stream+".agent.heartbeats"]) // read outside the group
	ctx, cancel := context.WithTimeout(r.Context(), within+5*time.Second)
	defer cancel()
	var out map[string][]wire.TopicPartition
	testenv.Eventually(r, within, func() (err error) {
		if out, err = r.kafka.Members(ctx, r.stream); err != nil {
			return err
		}
		n := 0
		for _, i := range instances {
			if len(out[i]) == 0 {
				return fmt.Errorf("instance %s has nothing: %v", i, out)
			}
			n += len(out[i])
		}
		if n < all || len(out) != len(instances) {
			return fmt.Errorf("%d of %d partitions are assigned to %d members", n, all, len(out))
		}
		return nil
	})
	return out
}

// A static member that stops and starts again within its session keeps its
// partitions, and the other keeps its own.
func TestStaticMemberKeepsItsPartitions(t *testing.T) {
	r := newSlowRig(t)
	b := r.another("b")
	r.start()
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	before := r.shared(2*time.Minute, "e2e", "b")
	for _, how := range []string{"stop", "kill"} {
		if how == "stop" {
			r.stop()
		} else {
			r.worker.Kill()
		}
		r.write(r.generated(21, 20)...)
		r.start()
		r.folded(90*time.Second, r.lane()) // it is back and works
		if after := r.shared(60*time.Second, "e2e", "b"); !slices.Equal(after["e2e"], before["e2e"]) || !slices.Equal(after["b"], before["b"]) {
			t.Fatalf("%s: the partitions moved: %v, they were %v", how, after, before)
		}
	}
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	r.stop()
}

// A worker is frozen past its session and comes back, under load: the other one
// has its partitions then, and nothing that the frozen one had under way becomes
// visible.
func TestZombie(t *testing.T) {
	r := newSlowRig(t)
	b := r.another("b")
	shortSession(r.worker, b)
	r.start()
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	r.shared(2*time.Minute, "e2e", "b")
	stop := r.load(31, 300)
	r.moves(2 * time.Minute)
	for range 2 {
		if err := b.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		r.shared(90*time.Second, "e2e") // everything is this one's
		r.moves(2 * time.Minute)
		if err := b.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		r.shared(90*time.Second, "e2e", "b")
		if err := b.Ended(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	r.folded(2*time.Minute, r.lane())
	b.Kill()
	r.await(2 * time.Minute)
	r.sameAsReplay()
	r.changesAreWhole()
	r.stop()
}

// Two processes with one instance id, and so one transactional id: the newest
// has the partitions, the older one ends with a message, and nothing is written
// twice or left out.
func TestOneInstanceTwice(t *testing.T) {
	r := newSlowRig(t)
	twin := r.another("e2e")
	stop := r.load(41, 300)
	r.start()
	r.moves(2 * time.Minute)
	if err := twin.Start(); err != nil {
		t.Fatal(err)
	}
	r.ends(r.worker, "instance")
	r.worker = twin
	r.moves(2 * time.Minute)
	r.endsWhole(stop)
}

// A second process on a directory that is in use ends at once and says why,
// whatever instance it is; the first does not notice.
func TestOneDirectoryTwice(t *testing.T) {
	r := newRig(t)
	stop := r.load(61, 300)
	r.start()
	r.moves(2 * time.Minute)
	was, err := r.kafka.Members(t.Context(), r.stream)
	if err != nil {
		t.Fatal(err)
	}
	for _, instance := range []string{"e2e", "other"} {
		second := r.another(instance)
		second.Env = append(second.Env, "FOLDER_STORE_DIR="+r.worker.Store)
		if err := second.Start(); err != nil {
			t.Fatal(err)
		}
		r.ends(second, "another process has this store open (stop it, or give this one another directory)")
		r.moves(2 * time.Minute)
	}
	if now, err := r.kafka.Members(t.Context(), r.stream); err != nil || !reflect.DeepEqual(now, was) {
		t.Errorf("the group is %v (%v), it was %v", now, err, was)
	}
	r.endsWhole(stop)
}

// ends waits until a worker has ended by itself, with an error that says why.
func (r *rig) ends(w *folder.Worker, why string) {
	r.Helper()
	testenv.Eventually(r, 90*time.Second, func() error {
		if w.Ended() == nil {
			return fmt.Errorf("the worker of instance %s still runs", w.Instance)
		}
		return nil
	})
	// What it said last is the reason; the line that the log is full of may be another.
	lines := strings.Split(strings.TrimSpace(w.Log()), "\n")
	last := strings.Join(lines[max(0, len(lines)-3):], "\n")
	if w.ExitCode() <= 0 || !strings.Contains(last, why) {
		r.Errorf("the worker of instance %s ended with %d, want a message with %q:\n%s", w.Instance, w.ExitCode(), why, last)
	}
}

// One worker becomes three and one again, under load: by a clean stop, after
// which a static member's partitions wait for its session, and by a kill.
func TestOneThreeOne(t *testing.T) {
	r := newSlowRig(t)
	b, c := r.another("b"), r.another("c")
	shortSession(r.worker, b, c)
	r.start()
	stop := r.load(71, 300)
	r.moves(2 * time.Minute)
	for _, w := range []*folder.Worker{b, c} {
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
	}
	r.shared(2*time.Minute, "e2e", "b", "c")
	r.moves(2 * time.Minute)
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	r.shared(90*time.Second, "e2e", "c")
	r.moves(2 * time.Minute)
	c.Kill()
	r.shared(90*time.Second, "e2e")
	r.moves(2 * time.Minute)
	r.endsWhole(stop)
}

// A worker is frozen within a transaction for longer than that may take, but
// not past its session: the broker aborts it, and the worker goes on with what
// it owns.
func TestTransactionTimesOut(t *testing.T) {
	r := newSlowRig(t)
	stop := r.load(51, 1_000)
	r.start()
	r.moves(2 * time.Minute)
	rounds := 1
	if long {
		rounds = 6
	}
	for range rounds {
		if err := r.worker.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Second) // longer than a transaction may take, shorter than the session
		if err := r.worker.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		r.moves(2 * time.Minute)
	}
	r.endsWhole(stop)
}
