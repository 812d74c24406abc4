package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"sessionfold/wire"
)

// fault is one thing that may happen. It says what it did.
type fault struct {
	name   string
	weight int
	do     func(*campaign) (string, error)
}

var faults = []fault{
	{"kill", 12, func(c *campaign) (string, error) { s := c.any(); return s.name, s.down(true) }},
	{"start", 22, func(c *campaign) (string, error) { s := c.any(); return s.name, s.up() }},
	{"stop", 6, func(c *campaign) (string, error) { s := c.any(); return s.name, s.down(false) }},
	{"freeze", 4, (*campaign).freezeBriefly},
	{"freeze past session", 4, (*campaign).freezeLong},
	{"lose disk", 5, func(c *campaign) (string, error) { s := c.any(); return s.name, s.loseDisk() }},
	{"broker stops", 2, func(c *campaign) (string, error) { return c.outage(c.k.stop, c.k.start, 4*time.Second) }},
	{"broker is killed", 2, func(c *campaign) (string, error) { return c.outage(c.k.kill, c.k.start, 4*time.Second) }},
	{"broker freezes", 2, func(c *campaign) (string, error) { return c.outage(c.k.freeze, c.k.thaw, 6*time.Second) }},
	{"retention", 5, (*campaign).retention},
	{"retention overtakes", 4, (*campaign).overtake},
	{"topic anew", 2, (*campaign).anew},
	{"bad records", 10, func(c *campaign) (string, error) { return c.load.foul(c.rng), nil }},
	{"burst", 4, (*campaign).burst},
}

// draw picks a fault by its weight.
func draw(rng *rand.Rand) *fault {
	total := 0
	for i := range faults {
		total += faults[i].weight
	}
	n := rng.IntN(total)
	for i := range faults {
		if n -= faults[i].weight; n < 0 {
			return &faults[i]
		}
	}
	panic("unreachable")
}

func (c *campaign) any() *slot { return c.slots[c.rng.IntN(len(c.slots))] }

func (c *campaign) upTo(d time.Duration) time.Duration { return time.Duration(c.rng.Int64N(int64(d))) }

func (c *campaign) freezeBriefly() (string, error) {
	s, d := c.any(), 200*time.Millisecond+c.upTo(4*time.Second)
	return fmt.Sprintf("%s for %v", s.name, d), s.freeze(d)
}

func (c *campaign) freezeLong() (string, error) {
	s, d := c.any(), session+500*time.Millisecond+c.upTo(5*time.Second)
	return fmt.Sprintf("%s for %v", s.name, d), s.freeze(d)
}

// notOurs is what a fault says that this broker is not made to meet.
const notOurs = "(not on this broker)"

// outage takes the broker away for a while; workers are killed and started
// meanwhile.
func (c *campaign) outage(away, back func() error, most time.Duration) (string, error) {
	n, d := c.rng.IntN(3), 200*time.Millisecond+c.upTo(most)
	var acts []func() error
	for range n {
		s := c.any()
		acts = append(acts, []func() error{s.up, func() error { return s.down(true) }}[c.rng.IntN(2)])
	}
	if away == nil {
		return notOurs, nil
	}
	err := away()
	time.Sleep(d) // how long it is away
	for _, act := range acts {
		err = errors.Join(err, act())
		time.Sleep(d / 4)
	}
	return fmt.Sprintf("for %v, %d workers come or go", d, n), errors.Join(err, back(), c.expireAgain())
}

// expireAgain moves the log starts to where they were, in case the broker has
// forgotten them.
func (c *campaign) expireAgain() error {
	var os kadm.Offsets
	for key, l := range c.mirror.logs {
		if l.expired > 0 && c.mirror.alive[key.tp.Topic] == key.generation {
			os.AddOffset(key.tp.Topic, key.tp.Partition, int64(l.expired), -1)
		}
	}
	if len(os) == 0 {
		return nil
	}
	return c.deleteRecords(os)
}

func (c *campaign) deleteRecords(os kadm.Offsets) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rs, err := c.k.Admin.DeleteRecords(ctx, os)
	if err = errors.Join(err, rs.Error()); err != nil {
		return fmt.Errorf("delete records before %v: %w", os, err)
	}
	return nil
}

func (c *campaign) burst() (string, error) {
	c.load.rate.Store(5_000)
	time.Sleep(500 * time.Millisecond)
	c.load.rate.Store(rate)
	return "", nil
}

// partition picks one that is folded.
func (c *campaign) partition() wire.TopicPartition {
	topics := c.load.topics()
	slices.Sort(topics)
	topic := topics[c.rng.IntN(len(topics))]
	if c.rng.IntN(2) == 0 {
		topic = c.lane()
	}
	return wire.TopicPartition{Topic: topic, Partition: c.rng.Int32N(c.load.parts[topic])}
}

// retention takes what was folded, as it mostly does.
func (c *campaign) retention() (string, error) {
	tp, share := c.partition(), c.rng.Float64()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.note(ctx); err != nil {
		return "", err
	}
	l := c.mirror.logs[incarnation{tp, c.mirror.alive[tp.Topic]}]
	to := l.expired + uint64(share*float64(max(l.folded, l.expired)-l.expired))
	return fmt.Sprintf("%v to %d, folded to %d", tp, to, l.folded), c.expire(tp, to)
}

// overtake stops every worker, one way or the other, lets the log grow, and takes
// what they have not folded: all of it, or a part.
func (c *campaign) overtake() (string, error) {
	tp, share, how, n := c.partition(), c.rng.Float64()*1.3, c.rng.IntN(3), c.rng.IntN(3)+1
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, s := range c.slots {
		var err error
		switch how {
		case 0:
			err = s.freeze(time.Hour)
		case 1:
			err = s.down(true)
		case 2: // they run on
		}
		if err != nil {
			return "", err
		}
	}
	time.Sleep(time.Duration(n) * 300 * time.Millisecond) // what is written meanwhile
	if err := c.note(ctx); err != nil {
		return "", err
	}
	l := c.mirror.logs[incarnation{tp, c.mirror.alive[tp.Topic]}]
	from := max(l.folded, l.expired)
	to := min(l.next, from+uint64(share*float64(max(l.next, from)-from)))
	err := c.expire(tp, to)
	for _, s := range c.slots {
		switch how {
		case 0:
			err = errors.Join(err, s.warm())
		case 1:
			err = errors.Join(err, s.up())
		}
	}
	return fmt.Sprintf("%v to %d, folded to %d of %d, workers are %s", tp, to, l.folded, l.next, []string{"frozen", "killed", "running"}[how]), err
}

// expire moves a log start.
func (c *campaign) expire(tp wire.TopicPartition, to uint64) error {
	l := c.mirror.logs[incarnation{tp, c.mirror.alive[tp.Topic]}]
	if to <= l.expired {
		return nil
	}
	l.taken = append(l.taken, span{max(l.folded, l.expired), to})
	l.expired = to
	var os kadm.Offsets
	os.AddOffset(tp.Topic, tp.Partition, int64(to), -1)
	return c.deleteRecords(os)
}

// anew deletes a topic and creates it again; half of the time while no worker
// runs. What it gets then may be less or more than it had.
func (c *campaign) anew() (string, error) {
	tp, running, rest := c.partition(), c.rng.IntN(2) == 0, c.upTo(3*time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var down []*slot
	for _, s := range c.slots {
		if !running && s.running {
			down = append(down, s)
			if err := s.down(true); err != nil {
				return "", err
			}
		}
	}
	c.load.mu.Lock()
	defer c.load.mu.Unlock()
	if err := errors.Join(c.load.flush(ctx), c.note(ctx)); err != nil {
		return "", err
	}
	c.k.Delete(c.t, tp.Topic)
	if running {
		time.Sleep(rest) // it is missing for a while
	}
	c.k.Create(c.t, tp.Topic, c.load.parts[tp.Topic])
	err := errors.Join(c.load.connect(), c.note(ctx))
	for _, s := range down {
		err = errors.Join(err, s.up())
	}
	return fmt.Sprintf("%s, workers running: %t", tp.Topic, running), err
}

// note brings the mirror up to date and learns what was surely folded.
func (c *campaign) note(ctx context.Context) error {
	if err := c.mirror.catchUp(ctx, c.stream, c.load.topics()...); err != nil {
		return err
	}
	at, err := c.k.Admin.FetchOffsets(ctx, c.stream)
	if errors.Is(err, kerr.GroupIDNotFound) { // no worker has run yet
		return nil
	}
	if err != nil {
		return fmt.Errorf("offsets of the group: %w", err)
	}
	at.Each(func(o kadm.OffsetResponse) {
		l := c.mirror.logs[incarnation{wire.TopicPartition{Topic: o.Topic, Partition: o.Partition}, c.mirror.alive[o.Topic]}]
		// The group may still have the offset of a topic that was deleted.
		if l != nil && o.Err == nil && o.At > 0 && l.first {
			l.folded = max(l.folded, uint64(o.At))
		}
	})
	return nil
}
