package verify

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// Options of a verification.
type Options struct {
	Stream   string
	Fold     fold.Config // as the worker has it
	Keys     *wire.Keys  // likewise; nil: none
	Keep     int         // differences kept
	Dir      string      // for the two copies; "" keeps them in memory
	Starts   map[wire.SourceKey]uint64
	Progress func(what string, n int)
	// Whole, when set, gives the log of a source from its first record on, also
	// what retention took since and what a topic held that is gone: nothing is
	// left to account for but the gaps that the index itself tells of, whose
	// records are left out. Whether these are right is the caller's to judge. Only
	// timeline rows below Starts may be missing. nil is a source without such a log.
	Whole func(*wire.Source) Log
}

// Run holds a dump of an index against its log. Starts are the log starts as
// they were before the dump was asked for.
func Run(ctx context.Context, dump io.Reader, log Log, o Options) (res *Result, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int) {}
	}
	copied, err := open(o.Dir, "index")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	fresh, err := open(o.Dir, "log")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fresh.Close()) }()

	in, seen := copied.NewImporter(), entries{starts: o.Starts, first: map[wire.SourceKey]uint64{}, times: map[wire.SourceKey]uint64{}}
	if _, err := Read(dump, func(key, value []byte) error {
		o.Progress("reading the index", 1)
		if err := seen.look(key, value); err != nil {
			return err
		}
		return in.Put(key, value)
	}); err != nil {
		return nil, err
	}
	if err := in.End(); err != nil {
		return nil, err
	}
	c := &comparison{keep: o.Keep, sources: map[wire.SourceKey]*known{}}
	c.Stream = o.Stream
	if err := c.refold(ctx, copied, fresh, log, &seen, &o); err != nil {
		return nil, err
	}
	if c.index, err = copied.Reader(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.index.Close()) }()
	if c.fresh, err = fresh.Reader(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.fresh.Close()) }()
	if err := c.run(ctx, o.Stream); err != nil {
		return nil, err
	}
	return &c.Result, nil
}

func open(dir, name string) (*index.Store, error) {
	o := index.Options{Dir: name, CacheBytes: 64 << 20}
	if dir == "" {
		o.FS = index.Memory()
	} else {
		o.Dir = dir + "/" + name
	}
	return index.Open(o)
}

// refold folds the log of every source that the index knows.
func (c *comparison) refold(ctx context.Context, copied, fresh *index.Store, log Log, seen *entries, o *Options) error {
	metas, err := copied.Sources(o.Stream)
	if err != nil {
		return err
	}
	if len(metas) == 0 {
		return fmt.Errorf("verify: the worker knows no source of stream %q\n    hint: check --stream and --url", o.Stream)
	}
	for i := range metas {
		m := metas[i]
		key := m.Source.Key()
		k := &known{meta: m, entry: m.Frontier.Time, seen: SourceSeen{
			Topic: m.Source.Topic, Partition: m.Source.Partition, Generation: m.Source.Generation,
			Next: m.Frontier.Next, Gaps: len(m.Frontier.Gaps), Refolding: m.State().RefoldTo > 0,
		}}
		if t := seen.times[key]; t > 0 {
			k.entry, k.entryAt = t, seen.first[key]
		}
		for _, g := range m.Frontier.Gaps {
			if g.Reason == fold.GapSourceLost {
				k.lost = append(k.lost, g)
			}
		}
		k.missing = k.lost
		k.signed = signedOf(&m.Frontier.Signatures, o.Keys)
		c.sources[key] = k
		log := log
		if o.Whole != nil {
			if whole := o.Whole(m.Source); whole != nil {
				log, k.whole, k.missing, k.lost = whole, true, m.Frontier.Gaps, nil
				k.rows = o.Starts[key]
			}
		}
		if m.Restoring || m.Removing {
			k.seen.Note = "the index was restoring it"
		} else if err := refold(ctx, log, fresh, &o.Fold, k, func(n int) { o.Progress("folding the log", n) }); err != nil {
			return err
		}
		if k.compare {
			c.frontier(fresh, k)
		}
		c.Sources = append(c.Sources, k.seen)
	}
	return nil
}

// frontier compares what two folds say of a source itself.
func (c *comparison) frontier(fresh *index.Store, k *known) {
	m, _, err := fresh.Meta(k.meta.Source)
	fault := func(format string, args ...any) {
		c.Faults = append(c.Faults, k.meta.Source.String()+": "+fmt.Sprintf(format, args...))
	}
	if err != nil {
		fault("%v", err)
		return
	}
	is, was := &k.meta.Frontier, &m.Frontier
	for _, g := range is.Gaps {
		if g.Reason == fold.GapExpiredBeforeFold && g.To >= k.start && !k.whole {
			fault("the index has a gap %d to %d (%s), and the log begins at %d", g.From, g.To, g.Reason, k.start)
		}
	}
	if is.Next < was.Next {
		fault("next offset: %d ≠ %d", is.Next, was.Next)
	}
	part := k.start > 0 || len(k.lost) > 0
	for _, n := range []struct {
		name      string
		is, fresh uint64
	}{
		{"records", is.Records, was.Records}, {"undecodable records", is.Undecodable, was.Undecodable},
		{"invalid records", is.Invalid, was.Invalid}, {"unattributed records", is.Unattributed, was.Unattributed},
		{"links refused", is.LinksRefused, was.LinksRefused},
	} {
		if n.is < n.fresh || n.is != n.fresh && !part {
			fault("%s: %d ≠ %d", n.name, n.is, n.fresh)
		}
	}
	k.signatures(&is.Signatures, &was.Signatures, part, fault)
}
