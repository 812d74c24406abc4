package verify

import (
	"context"
	"errors"
	"fmt"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/source"
	"sessionfold/wire"
	"sessionfold/worker"
)

// Log reads the log that an index was made of.
type Log interface {
	Identify(context.Context, wire.TopicPartition) (wire.Identity, error)
	Scan(ctx context.Context, tp wire.TopicPartition, from, to uint64, batch int, put func([]wire.Raw) error) error
}

// batch is how many records are folded at a time.
const batch = 20_000

// known is what a comparison must know of a source.
type known struct {
	seen    SourceSeen
	meta    index.Meta
	compare bool       // its log is there
	whole   bool       // all of it, whatever the brokers still hold
	start   uint64     // of the log
	rows    uint64     // below this one rows may be missing, although the log has the records
	lost    []fold.Gap // folded once, and lost by the brokers
	missing []fold.Gap // ranges whose records the index did not fold, although the log may have some
	// entry is a time that nothing below entryAt was raised above, µs: that of
	// the first row at or behind the log start, else the highest of all.
	entry, entryAt uint64
	signed
}

// touches says that the log may lack something of the offsets [from, to].
func (k *known) touches(from, to uint64) bool {
	if from < k.start {
		return true
	}
	for _, g := range k.lost {
		if from <= g.To && g.From <= to {
			return true
		}
	}
	return false
}

// refold folds a source's log into a store, from its start to where the index
// stands.
func refold(ctx context.Context, log Log, into *index.Store, cfg *fold.Config, k *known, progress func(int)) error {
	src := k.meta.Source
	tp := wire.TopicPartition{Topic: src.Topic, Partition: int32(src.Partition)}
	id, err := log.Identify(ctx, tp)
	switch {
	case source.Gone(err):
		k.seen.Note = "its topic is gone"
		return nil
	case errors.Is(err, source.ErrForeign):
		return fmt.Errorf("verify: %w\n    hint: configure the stream as the worker has it, with --config or --streams", err)
	case err != nil:
		return fmt.Errorf("verify: the log of %s: %w", src, err)
	}
	next := k.meta.Frontier.Next
	switch {
	case id.Source.Generation != src.Generation:
		k.seen.Note = "its topic was deleted or created anew since"
		return nil
	}
	k.compare, k.start, k.seen.LogStart = true, id.LogStart, id.LogStart
	memory := worker.NewMemory(func(*wire.Source) wire.Decoder {
		return wire.NewDecoder(src.Dialect, func() *wire.Keys { return k.keys })
	})
	part := worker.NewPart(worker.PartConfig{Source: src, Fold: cfg, Memory: memory, Load: into.Load, LoadState: into.LoadState}, fold.Frontier{})
	part.Expire(min(id.LogStart, next), fold.GapExpiredBeforeFold)
	if k.start > k.entryAt { // retention went on meanwhile
		k.entry = k.meta.Frontier.Time
	}
	bound, unraised := k.entry, k.start == 0
	take := func(raw []wire.Raw) error {
		raw = k.without(raw)
		if len(raw) == 0 && !part.HasGap() {
			return nil
		}
		for i := 0; i < len(raw) && !unraised; i++ {
			time := uint64(max(raw[i].Timestamp, 0)) * 1000
			if unraised = time >= bound; !unraised {
				k.seen.Untimed = raw[i].Offset + 1
			}
		}
		b, err := part.Fold(raw)
		if err != nil {
			return err
		}
		if err := into.Apply([]index.Applied{{Batch: b}}); err != nil {
			return err
		}
		part.Applied()
		memory.Recycle(b)
		k.seen.Records += uint64(len(raw))
		progress(len(raw))
		return nil
	}
	if err := log.Scan(ctx, tp, k.start, next, batch, take); err != nil {
		return fmt.Errorf("verify: fold %s afresh: %w", src, err)
	}
	return take(nil)
}

// without leaves out the records that the index did not fold: those that stand
// where folded ones were lost, and of a whole log those that had expired.
func (k *known) without(raw []wire.Raw) []wire.Raw {
	if len(k.missing) == 0 {
		return raw
	}
	keep := make([]wire.Raw, 0, len(raw))
	for _, r := range raw {
		in := false
		for _, g := range k.missing {
			in = in || g.From <= r.Offset && r.Offset <= g.To
		}
		if !in {
			keep = append(keep, r)
		}
	}
	return keep
}

// hidden says that the index shows no row of an offset for a reason: the log's
// start, pruning, or a rebuild that goes on.
func (k *known) hidden(offset uint64) (bool, bool) {
	if offset < max(k.start, k.rows, k.meta.Retained) {
		return true, false
	}
	for _, h := range k.meta.Holes {
		if h.From <= offset && offset <= h.To {
			return true, true
		}
	}
	return false, false
}

// entries finds, while a dump is read, the time of each source's first row at or
// above its log start: no record behind it can have been raised above that but
// by records that the log holds.
type entries struct {
	starts map[wire.SourceKey]uint64
	first  map[wire.SourceKey]uint64
	times  map[wire.SourceKey]uint64
}

func (e *entries) look(key, value []byte) error {
	if key[0] != row.TagPack {
		return nil
	}
	k, err := row.ParsePack(key)
	if err != nil {
		return err
	}
	if k.First < e.starts[k.Source] {
		return nil
	}
	if at, ok := e.first[k.Source]; ok && at <= k.First {
		return nil
	}
	time, ok := row.PackTime(value)
	if ok {
		e.first[k.Source], e.times[k.Source] = k.First, time
	}
	return nil
}
