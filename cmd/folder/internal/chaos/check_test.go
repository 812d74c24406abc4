package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/cmd/folder/internal/verify"
	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/testenv"
	"sessionfold/wire"
)

// settle lets everything run until one worker alone has folded the whole log.
func (c *campaign) settle(ctx context.Context, s *slot) error {
	c.load.rate.Store(0)
	for _, o := range c.slots {
		if err := o.warm(); err != nil {
			return err
		}
	}
	c.load.mu.Lock()
	err := c.load.flush(ctx)
	c.load.mu.Unlock()
	if err = errors.Join(err, c.note(ctx), s.up()); err != nil {
		return err
	}
	for _, o := range c.slots {
		if o != s {
			if err := o.down(c.rng.IntN(2) == 0); err != nil {
				return err
			}
		}
	}
	began := time.Now()
	err = testenv.Poll(2*time.Minute, func() error {
		if err := s.Ended(); err != nil {
			return err
		}
		if _, err := s.Get(ctx, s.Admin+"/readyz"); err != nil {
			return err
		}
		dump, err := c.dump(ctx, s)
		if err != nil {
			return err
		}
		metas, err := sources(dump, c.stream)
		if err != nil {
			return err
		}
		return c.settled(metas)
	})
	if err != nil {
		return fmt.Errorf("worker %s does not catch up in %v: %w\n%s", s.name, time.Since(began).Round(time.Second), err, c.state(ctx, s))
	}
	c.logf("%s has caught up after %v", s.name, time.Since(began).Round(time.Millisecond))
	return nil
}

// state is what the worker and the broker say when nothing goes on: sources,
// transactions, and the partitions that are held up by one.
func (c *campaign) state(ctx context.Context, s *slot) string {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ready, err := s.Get(ctx, s.Admin+"/readyz?verbose")
	out := fmt.Sprintf("%s (%v)\n", ready, err)
	txns, err := c.k.Admin.ListTransactions(ctx, nil, nil)
	out += fmt.Sprintf("transactions: %+v (%v)\n", txns.Sorted(), err)
	if ds, err := c.k.Admin.DescribeTransactions(ctx, txns.TransactionalIDs()...); err == nil {
		out += fmt.Sprintf("in detail: %+v\n", ds.Sorted())
	}
	stable, err := c.k.Admin.ListCommittedOffsets(ctx)
	ends, err2 := c.k.Admin.ListEndOffsets(ctx)
	if err := errors.Join(err, err2); err != nil {
		return out + err.Error()
	}
	ends.Each(func(o kadm.ListedOffset) {
		if at, _ := stable.Lookup(o.Topic, o.Partition); at.Offset < o.Offset {
			out += fmt.Sprintf("%s[%d] ends at %d and is stable to %d\n", o.Topic, o.Partition, o.Offset, at.Offset)
		}
	})
	return out
}

// settled says what is missing until every topic of now is folded to its end and
// no timeline is being rebuilt.
func (c *campaign) settled(metas []index.Meta) error {
	have := map[incarnation]*index.Meta{}
	for i := range metas {
		have[of(metas[i].Source)] = &metas[i]
	}
	for key, l := range c.mirror.logs {
		if c.mirror.alive[key.tp.Topic] != key.generation || l.next == 0 {
			continue
		}
		switch m := have[key]; {
		case m == nil:
			return fmt.Errorf("%v of generation %d ends at %d and is not known", key.tp, key.generation, l.next)
		case m.Restoring || len(m.Holes) > 0:
			return fmt.Errorf("%v is restoring (%t) or has holes %v", key.tp, m.Restoring, m.Holes)
		case m.Frontier.Next != l.next:
			return fmt.Errorf("%v ends at %d and is folded to %d", key.tp, l.next, m.Frontier.Next)
		}
	}
	return nil
}

func of(s *wire.Source) incarnation {
	return incarnation{wire.TopicPartition{Topic: s.Topic, Partition: int32(s.Partition)}, s.Generation}
}

func (c *campaign) dump(ctx context.Context, s *slot) ([]byte, error) {
	return s.Get(ctx, s.Admin+"/dump?stream="+c.stream)
}

// sources reads what a dump says of sources.
func sources(dump []byte, stream string) (metas []index.Meta, err error) {
	s, err := index.Open(index.Options{Dir: "sources", FS: index.Memory(), CacheBytes: 1 << 20})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	in := s.NewImporter()
	if _, err := verify.Read(bytes.NewReader(dump), func(key, value []byte) error {
		if t := key[0]; t != row.TagSource && t != row.TagLocal && t != row.TagReset {
			return nil
		}
		return in.Put(key, value)
	}); err != nil {
		return nil, err
	}
	if err := in.End(); err != nil {
		return nil, err
	}
	return s.Sources(stream)
}

// check holds what a settled worker has stored against everything that was ever
// written.
func (c *campaign) check(ctx context.Context, s *slot) error {
	dump, err := c.dump(ctx, s)
	if err != nil {
		return err
	}
	metas, err := sources(dump, c.stream)
	if err != nil {
		return err
	}
	starts := map[wire.SourceKey]uint64{}
	for i := range metas {
		m := &metas[i]
		l := c.mirror.logs[of(m.Source)]
		if l == nil {
			return fmt.Errorf("the index has a source %s, which never was", m.Source)
		}
		starts[m.Source.Key()] = l.expired
		if c.mirror.alive[m.Source.Topic] != m.Source.Generation {
			starts[m.Source.Key()] = l.next // its timelines may have gone with the disk
		}
		if err := l.accounts(m.Frontier.Gaps); err != nil {
			return fmt.Errorf("%s: %w", m.Source, err)
		}
		l.folded = max(l.folded, m.Frontier.Next)
	}
	r, err := verify.Run(ctx, bytes.NewReader(dump), nil, verify.Options{
		Stream: c.stream, Fold: fold.Config{TimelineCap: fold.DefaultTimelineCap}, Keep: 10, Starts: starts, Whole: c.mirror.of,
	})
	if err != nil {
		return err
	}
	for _, src := range r.Sources {
		if src.Note != "" {
			err = errors.Join(err, fmt.Errorf("%s[%d] of generation %d was not compared: %s", src.Topic, src.Partition, src.Generation, src.Note))
		}
		if src.Refolding {
			err = errors.Join(err, fmt.Errorf("%s[%d] is being folded again", src.Topic, src.Partition))
		}
	}
	if !r.Equal() || r.Partly+r.Older > 0 || r.Missing > 0 {
		err = errors.Join(err, fmt.Errorf("%d sessions differ: %+v; faults %q; %d were not compared whole, %d rows are missing", r.Differ, r.First, r.Faults, r.Partly+r.Older, r.Missing))
	}
	if err = errors.Join(err, c.changes(metas), c.verifyCommand(ctx, s)); err != nil {
		return err
	}
	gaps := uint64(0)
	for i := range metas {
		for _, g := range metas[i].Frontier.Gaps {
			gaps += g.To - g.From + 1
		}
	}
	c.logf("%s is right: %d sessions, %d timeline rows, %d sources, %d offsets in gaps", s.name, r.Whole, r.Rows, len(r.Sources), gaps)
	c.sessions, c.rows, c.gaps = r.Whole, r.Rows, gaps
	return nil
}

// accounts holds gaps against what retention took before it was surely folded.
func (l *mirrored) accounts(gaps []fold.Gap) error {
	for _, g := range gaps {
		if g.Reason != fold.GapExpiredBeforeFold {
			return fmt.Errorf("a gap %d to %d for reason %s", g.From, g.To, g.Reason)
		}
		for at := g.From; at <= g.To; {
			next := at
			for _, t := range l.taken {
				if t.from <= next && next < t.to {
					next = t.to
				}
			}
			if next == at {
				return fmt.Errorf("the gap %d to %d has offset %d, which retention did not take before it was folded: %v", g.From, g.To, at, l.taken)
			}
			at = next
		}
	}
	return nil
}

// changes holds the changes topic against the index: every source's rows are
// whole and end where the index stands.
func (c *campaign) changes(metas []index.Meta) error {
	ends, err := testenv.CheckChanges(c.k.Changes(c.t, c.stream+"-changes"))
	if err != nil {
		return fmt.Errorf("%w; %s", err, c.everyChange())
	}
	for i := range metas {
		src, next := metas[i].Source, metas[i].Frontier.Next
		at, ok := ends[wire.ChangeSource{Topic: src.Topic, Generation: src.Generation, Partition: src.Partition}]
		if next > 0 && (!ok || at+1 != next) {
			err = errors.Join(err, fmt.Errorf("%s is folded to %d, its change rows end at %d (%t)", src, next, at, ok))
		}
	}
	return err
}

// everyChange writes down what lies in the changes topic, aborted rows and markers
// too, for who has to find out what happened to one.
func (c *campaign) everyChange() string {
	topic := c.stream + "-changes"
	ends, err := c.k.Admin.ListEndOffsets(c.t.Context(), topic)
	if err != nil {
		return err.Error()
	}
	end, _ := ends.Lookup(topic, 0)
	cl := c.k.Client(c.t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}), kgo.KeepControlRecords())
	defer cl.Close()
	f, err := os.CreateTemp("", "chaos-changes-")
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for next := int64(0); next < end.Offset && err == nil; {
		fs := cl.PollFetches(ctx)
		err = fs.Err()
		fs.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			fmt.Fprintf(f, "%d %s producer %d epoch %d marker %t key %x %.200s\n", r.Offset, r.Timestamp.Format("05.000"), r.ProducerID, r.ProducerEpoch, r.Attrs.IsControl(), r.Key, r.Value)
		})
	}
	return fmt.Sprintf("all rows, with those aborted, and markers are in %s (%v)", f.Name(), errors.Join(err, f.Close()))
}

// verifyCommand is what an operator would ask.
func (c *campaign) verifyCommand(ctx context.Context, s *slot) error {
	out, err := exec.CommandContext(ctx, s.Bin, "verify", "--config", s.Config(), "--stream", c.stream).CombinedOutput()
	if err != nil {
		return fmt.Errorf("folder verify: %w\n%s", err, out)
	}
	return nil
}
