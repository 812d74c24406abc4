package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
	"sessionfold/testenv/proc"
)

func TestMain(m *testing.M) {
	code := m.Run()
	proc.Clean()
	os.Exit(code)
}

// rate is the load while faults happen, in records per second; round is how long
// faults happen before the index is checked.
const (
	rate  = 500
	round = 40 * time.Second
)

// between is the most time between two faults. Groups form more slowly on Kafka,
// and workers that never come to work prove nothing.
func (c *campaign) between() time.Duration {
	if c.k.real {
		return 2500 * time.Millisecond
	}
	return 900 * time.Millisecond
}

// campaign is one course of events.
type campaign struct {
	t      *testing.T
	k      *brokers
	rng    *rand.Rand
	stream string
	slots  []*slot
	load   *load
	mirror *mirror
	began  time.Time
	done   map[string]int // faults by name

	sessions   int // of the last check
	rows, gaps uint64
}

func (c *campaign) lane() string { return c.stream + ".agent.sessions" }

func (c *campaign) logf(format string, args ...any) {
	c.t.Logf("%7.1fs  %s", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

// Whatever happens, the index is what was written, less what retention took
// before it could be folded, which the gaps say exactly; and no change row is
// missing or double. FOLDER_CHAOS_SECONDS is how long faults happen,
// FOLDER_CHAOS_SEED which, FOLDER_CHAOS_ON where: kfake, kafka, or nothing for
// the brokers of FOLDER_TEST_BROKERS, which are not harmed.
func TestCampaign(t *testing.T) {
	seconds, _ := strconv.Atoi(os.Getenv("FOLDER_CHAOS_SECONDS"))
	if seconds <= 0 {
		t.Skip("a campaign runs when FOLDER_CHAOS_SECONDS says how long: make chaos")
	}
	seed, _ := strconv.ParseUint(os.Getenv("FOLDER_CHAOS_SEED"), 10, 64)
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	on := os.Getenv("FOLDER_CHAOS_ON")
	again := fmt.Sprintf("make chaos SECONDS=%d SEED=%d ON=%s", seconds, seed, on)
	t.Log(again)
	t.Cleanup(func() {
		if t.Failed() {
			fmt.Println("run it again:", again)
		}
	})
	bin, err := folder.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	k := newBrokers(t, on)
	c := &campaign{
		t: t, k: k, rng: rand.New(rand.NewPCG(seed, 2)), stream: testenv.Name(t), mirror: newMirror(k.Kafka),
		began: time.Now(), done: map[string]int{},
	}
	c.load = newLoad(t, k.Kafka, c.stream, seed)
	c.slots = newSlots(t, bin, k, c.stream, 3)
	for left := time.Duration(seconds) * time.Second; left > 0; left -= round {
		if err := c.faults(min(left, round)); err != nil {
			t.Fatal(err)
		}
		only := c.slots[:1]
		if left <= round {
			only = c.slots // each of them, with its own disk
		}
		for i, s := range only {
			if len(only) == 1 {
				s = c.any()
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			err := c.settle(ctx, s)
			if err == nil {
				err = c.check(ctx, s)
			}
			cancel()
			if err != nil {
				t.Fatalf("check by %s, %d of %d: %v", s.name, i+1, len(only), err)
			}
		}
	}
	c.report()
}

// faults lets things happen for a while.
func (c *campaign) faults(d time.Duration) error {
	c.load.rate.Store(rate)
	for end := time.Now().Add(d); time.Now().Before(end); {
		f := draw(c.rng)
		what, err := f.do(c)
		if what != notOurs {
			c.done[f.name]++
		}
		c.logf("%s %s", f.name, what)
		if err != nil {
			return fmt.Errorf("%s %s: %w", f.name, what, err)
		}
		time.Sleep(c.upTo(c.between())) // the course of events, not a wait for one
		if err := c.look(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.note(ctx); err != nil {
		return err
	}
	folded, written := uint64(0), uint64(0)
	for _, l := range c.mirror.logs {
		folded, written = folded+l.folded, written+l.next
	}
	c.logf("under faults at least %d of %d offsets were folded", folded, written)
	return nil
}

// look lets frozen workers run on in time, keeps one worker up, and finds workers
// that ended by themselves: none may.
func (c *campaign) look() error {
	up := 0
	for _, s := range c.slots {
		if !s.thaw.IsZero() && time.Now().After(s.thaw) {
			if err := s.warm(); err != nil {
				return err
			}
		}
		if s.running {
			up++
			if err := s.Ended(); err != nil {
				return fmt.Errorf("worker %s: %w", s.name, err)
			}
		}
	}
	if up == 0 {
		return c.slots[0].up()
	}
	return nil
}

func (c *campaign) report() {
	var names []string
	n := 0
	for name, times := range c.done {
		names = append(names, fmt.Sprintf("%s %d", name, times))
		n += times
	}
	slices.Sort(names)
	records := 0
	for _, l := range c.mirror.logs {
		records += len(l.records)
	}
	c.logf("%d faults (%v); %d records, %d bad ones, in %d logs; %d sessions, %d rows, %d offsets in gaps; zero differences",
		n, names, records, c.load.bad, len(c.mirror.logs), c.sessions, c.rows, c.gaps)
}
